//! The scenario of `everything` again and again, while replicas of `couplet-everything` are rolled or killed.
//!
//! No step fails while they are rolled: the client retries what was not carried out. While they are killed, a step may end with
//! a definite error; the same client goes on then, since its session does. A wrong value is a failure at any time, and so is a
//! step without an end.

use std::time::Duration;

use couplet::{client::Filter, core::Change, prelude::*};
use couplet_interop::expect;
use serde_json::json;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout},
};

use crate::{
    Cluster, Outcome,
    everything::{self, RESOURCE},
};

/// How long clients go on at least.
const TIME: Duration = Duration::from_secs(10);
/// How long a step may take: longer than the leases of a task whose replica was killed, and of the one that was killed next.
const LIMIT: Duration = Duration::from_secs(45);
/// How long a change may take after its cause.
const CHANGE: Duration = Duration::from_millis(300);
/// How often changes are caused until one must have been notified.
const CAUSES: usize = 60;
const PAUSE: Duration = Duration::from_millis(300);
/// How often a step may fail in a row: less often than a client fails that is of no use any more.
const ATTEMPTS: usize = 8;

const STEPS: [&str; 8] = ["call", "form", "sampling", "resource", "progress", "cancellation", "task", "change"];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errors {
    Failures,
    /// An error that the client reports is expected.
    Expected,
}

impl Cluster {
    pub(crate) async fn everything_disturbed(&self, errors: Errors) -> Outcome<String> {
        let until = Instant::now() + TIME;
        let client = timeout(LIMIT, self.everything_at(&self.url)).await.map_err(|_| "no client was connected")??;
        let (mut done, mut attempts, mut definite) = (0, 0, 0);
        while done < STEPS.len() || Instant::now() < until {
            let step = STEPS[done % STEPS.len()];
            let work = one(&client, step, done);
            match timeout(LIMIT, work).await.map_err(|_| format!("`{step}` took more than {LIMIT:?}"))? {
                Ok(()) => (done, attempts) = (done + 1, 0),
                Err(error) if errors == Errors::Expected && attempts < ATTEMPTS && error.is::<couplet::Error>() => {
                    println!("failed {step} {error}");
                    (attempts, definite) = (attempts + 1, definite + 1);
                    sleep(PAUSE).await;
                }
                Err(error) => return Err(format!("`{step}`: {error}").into()),
            }
        }
        timeout(LIMIT, client.close()).await.map_err(|_| "the client was not closed")??;
        Ok(format!("{} rounds, one client, {definite} definite errors", done / STEPS.len()))
    }
}

async fn one(client: &Client, step: &str, n: usize) -> Outcome {
    match step {
        "call" => everything::sum(client, n).await,
        "form" => everything::trip(client).await,
        "sampling" => everything::sampling(client).await,
        "resource" => everything::guarded(client).await,
        "progress" => everything::long_operation(client).await,
        "cancellation" => cancellation(client).await,
        "task" => everything::research(client).await,
        "change" => change(client).await,
        other => Err(format!("there is no step `{other}`").into()),
    }
}

/// Cancels a call when its first progress is heard.
async fn cancellation(client: &Client) -> Outcome {
    let (heard, hears) = oneshot::channel();
    let mut heard = Some(heard);
    let arguments = json!({ "duration": 6, "steps": 60 });
    let call = client.call("trigger-long-running-operation", arguments).on_progress(move |_| {
        if let Some(heard) = heard.take() {
            let _ = heard.send(());
        }
    });
    // A call that is dropped is cancelled.
    tokio::select! {
        ended = call => {
            ended?.into_result()?;
            Err("the call ended before it was cancelled".into())
        }
        Ok(()) = hears => Ok(()),
    }
}

/// Causes changes until one is heard: the load balancer chooses the replica that is asked for them, and a replica changes what
/// its own clients have subscribed to.
async fn change(client: &Client) -> Outcome {
    let listen = || client.listen(Filter::new().resource(RESOURCE));
    let mut changes = listen().await?;
    for _ in 0..CAUSES {
        let said = client.call("toggle-subscriber-updates", ()).await?.into_result()?.text();
        if !said.starts_with("Started") {
            continue;
        }
        match timeout(CHANGE, changes.next()).await {
            Ok(Some(Change::Updated(uri))) => return Ok(expect("the resource", uri.as_str(), RESOURCE)?),
            // A stream that was opened anew says that anything may have changed.
            Ok(Some(_)) | Err(_) => {}
            // It ends with its replica.
            Ok(None) => changes = listen().await?,
        }
    }
    Err(format!("no change was notified after {CAUSES} causes").into())
}
