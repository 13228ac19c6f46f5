//! The scenarios for replicas of `couplet-everything`, with the tools that it has.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet::{
    client::{ClientBuilder, Elicitation, Filter},
    core::Change,
    prelude::*,
    tasks::{CallTask, Called, ClientTasks},
    types::{CreateMessageResult, ElicitResult, RpcError},
};
use couplet_interop::expect;
use serde_json::json;

use crate::{Cluster, Outcome};

/// How often each is done: every replica has its turn.
const TIMES: usize = 6;
pub(crate) const RESOURCE: &str = "demo://resource/dynamic/text/1";

impl Cluster {
    /// Everything that clients do, once for each replica at least.
    pub(crate) async fn everything(&self) -> Outcome<String> {
        let client = self.everything_at(&self.url).await?;
        for n in 0..TIMES {
            sum(&client, n).await?;
            trip(&client).await?;
            sampling(&client).await?;
            guarded(&client).await?;
            long_operation(&client).await?;
        }
        research(&client).await?;
        self.updates(&client).await?;
        client.close().await?;
        Ok(format!("{TIMES} times calls, forms, sampling, resources and progress; a task, and changes"))
    }

    /// Changes at any replica are heard by a listener at one of them.
    async fn updates(&self, listener: &Client) -> Outcome {
        let mut changes = listener.listen(Filter::new().resource(RESOURCE)).await?;
        // A replica updates the resources that its own clients have subscribed to, so all begin with it.
        let mut replicas = Vec::new();
        for replica in &self.replicas {
            let replica = self.everything_at(replica).await?;
            replica.call("toggle-subscriber-updates", ()).await?.into_result()?;
            replicas.push(replica);
        }
        let change = tokio::time::timeout(Duration::from_secs(20), changes.next()).await;
        let change = change.map_err(|_| "no change was notified within 20 s")?;
        expect("the change", change, Some(Change::Updated(RESOURCE.to_owned())))?;
        for replica in replicas {
            replica.call("toggle-subscriber-updates", ()).await?.into_result()?;
            replica.close().await?;
        }
        Ok(())
    }

    pub(crate) async fn everything_at(&self, url: &str) -> Outcome<Client> {
        let client: ClientBuilder = Client::new("cluster", "1.0.0")
            .versions([self.version])
            .extension(ClientTasks::new())
            .on_elicit(|ask| async move { answer(ask) })
            .on_sample(|_| async { Ok(CreateMessageResult::new("a-model", "42")) });
        Ok(client.connect(couplet::http::connect(url)).await?)
    }
}

pub(crate) async fn sum(client: &Client, n: usize) -> Outcome {
    let sum = client.call("get-sum", json!({ "a": n, "b": 3 })).await?.into_result()?.text();
    Ok(expect("the sum", sum, format!("The sum of {n} and 3 is {}.", n + 3))?)
}

/// Several forms.
pub(crate) async fn trip(client: &Client) -> Outcome {
    let trip = client.call("book-trip", ()).await?.into_result()?.text();
    Ok(expect("whether the trip is booked", trip.ends_with(": 3 days in Oslo for 2."), true)?)
}

pub(crate) async fn sampling(client: &Client) -> Outcome {
    let said = client.call("trigger-sampling-request", json!({ "prompt": "why?" })).await?;
    Ok(expect("whether the model was asked", said.into_result()?.text().contains("42"), true)?)
}

/// A resource that asks.
pub(crate) async fn guarded(client: &Client) -> Outcome {
    let read = client.read("demo://resource/guarded/it").await?;
    Ok(expect("the guarded text", read.all_text().as_str(), "The secret of it.")?)
}

pub(crate) async fn long_operation(client: &Client) -> Outcome {
    let heard = Arc::new(AtomicUsize::new(0));
    let hear = heard.clone();
    let arguments = json!({ "duration": 0.05, "steps": 5 });
    let call = client.call("trigger-long-running-operation", arguments).on_progress(move |_| {
        hear.fetch_add(1, Ordering::SeqCst);
    });
    call.await?.into_result()?;
    Ok(expect("the notifications", heard.load(Ordering::SeqCst), 5)?)
}

/// A task that asks.
pub(crate) async fn research(client: &Client) -> Outcome {
    let arguments = json!({ "topic": "python", "ambiguous": true });
    let Called::Task(task) = client.call_task("simulate-research-query", arguments).await? else {
        return Err("the research is not a task".into());
    };
    let report = task.wait().await?.into_result()?.text();
    Ok(expect("whether the report is about it", report.starts_with("# Research Report: python (snake)"), true)?)
}

/// Answers the forms of the tools.
fn answer(ask: Elicitation) -> Result<ElicitResult, RpcError> {
    let about = |part: &str| ask.message().contains(part);
    if about("book a trip") {
        ask.accept(json!({ "city": "Oslo" }))
    } else if about("How long do you stay in Oslo") {
        ask.accept(json!({ "days": 3 }))
    } else if about("Who goes to Oslo") {
        ask.accept(json!({ "travellers": 2 }))
    } else if about("Booking ") || about("be read?") {
        ask.accept(json!({ "yes": true }))
    } else if about("multiple interpretations") {
        ask.accept(json!({ "interpretation": "snake" }))
    } else {
        ask.decline()
    }
}
