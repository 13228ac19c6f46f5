//! `interop-cluster <revision> <url> <scenario> [replica URL..]`: a client of a cluster of `interop-replica`s, or of
//! `couplet-everything`, behind a load balancer.
//!
//! Each scenario prints what it has seen and fails with a reason. The executions of tools are counted in the ledger.

mod disturbed;
mod everything;
mod kept;
mod outage;
mod paused;
mod pay;
mod raw;
mod resume;
mod scenarios;
mod shortage;
mod started;
mod stream;
mod takeover;

use std::{env, process::ExitCode, time::Duration};

use couplet::{ProtocolVersion, client::ClientBuilder, prelude::*, tasks::ClientTasks, types::CreateMessageResult};
use disturbed::Errors;
use serde_json::json;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What every scenario knows.
struct Cluster {
    version: ProtocolVersion,
    /// The load balancer.
    url: String,
    /// The replicas themselves.
    replicas: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments).await {
        Ok(said) => {
            println!("ok {said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("FAILED {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &[String]) -> Outcome<String> {
    let [revision, url, scenario, replicas @ ..] = arguments else {
        return Err("usage: interop-cluster <revision> <url> <scenario> [replica URL..]".into());
    };
    let version = revision.parse().map_err(|_| format!("there is no revision `{revision}`"))?;
    let cluster = Cluster { version, url: url.clone(), replicas: replicas.to_vec() };
    // None may hang.
    let limit = Duration::from_secs(140);
    let work = cluster.run(scenario);
    tokio::time::timeout(limit, work).await.map_err(|_| format!("`{scenario}` took more than {limit:?}"))?
}

impl Cluster {
    async fn run(&self, scenario: &str) -> Outcome<String> {
        match scenario {
            "calls" => self.calls().await,
            "elicitation" => self.elicitation().await,
            "sampling" => self.sampling().await,
            "progress" => self.progress().await,
            "cancellation" => self.cancellation().await,
            "changes" => self.changes().await,
            "task" => self.task().await,
            "task-cancel" => self.task_cancel().await,
            "delete" => self.delete().await,
            "refused" => self.refused().await,
            "refused-stateless" => self.refused_stateless().await,
            "events" => self.events().await,
            "sessions" => self.sessions().await,
            "paused" => self.paused().await,
            "task-killed" => self.task_killed().await,
            "task-paused" => self.task_paused().await,
            "everything" => self.everything().await,
            "everything-rolled" => self.everything_disturbed(Errors::Failures).await,
            "everything-killed" => self.everything_disturbed(Errors::Expected).await,
            "outage-sessions" => self.outage_sessions().await,
            "outage-stateless" => self.outage_stateless().await,
            "kept-sessions" => self.kept_sessions().await,
            "kept-stateless" => self.kept_stateless().await,
            "full-sessions" => self.full_sessions().await,
            "full-stateless" => self.full_stateless().await,
            "slow-sessions" => self.slow_sessions().await,
            "slow-stateless" => self.slow_stateless().await,
            "resume" => self.resume().await,
            "resume-forwarded" => self.resume_forwarded().await,
            "pay" => self.pay(false).await,
            "pay-once" => self.pay(true).await,
            other => Err(format!("there is no scenario `{other}`").into()),
        }
    }

    /// A client that answers forms and sampling requests.
    fn builder(&self) -> ClientBuilder {
        Client::new("cluster", "1.0.0")
            .versions([self.version])
            .extension(ClientTasks::new())
            .on_elicit(|ask| async move {
                let name = if ask.message().contains("second") { "Grace" } else { "Ada" };
                ask.accept(json!({ "name": name }))
            })
            .on_sample(|_| async { Ok(CreateMessageResult::new("a-model", "42")) })
    }

    async fn connect(&self) -> Outcome<Client> {
        Ok(self.builder().connect(couplet::http::connect(self.url.clone())).await?)
    }
}
