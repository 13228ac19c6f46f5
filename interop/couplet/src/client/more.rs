//! The steps whose calls have ids.

use std::{
    process,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use couplet::{
    client::Filter,
    core::Change,
    prelude::*,
    tasks::{CallTask, Called},
    types::CompletionReference,
};
use couplet_interop::expect;
use serde_json::json;

use crate::Outcome;

/// How long a change, or the note of a cancelled call, may take.
const LIMIT: Duration = Duration::from_secs(20);

static CALLS: AtomicU64 = AtomicU64::new(0);

/// An id that no other client has.
fn new_id() -> String {
    format!("couplet{}-{}", process::id(), CALLS.fetch_add(1, Ordering::SeqCst) + 1)
}

/// Whether a call of this client has the id.
pub(crate) fn is_own(id: &str) -> bool {
    let number = id.strip_prefix(&format!("couplet{}-", process::id())).and_then(|number| number.parse().ok());
    number.is_some_and(|number: u64| number <= CALLS.load(Ordering::SeqCst))
}

/// The text of a call with an id.
async fn text(client: &Client, tool: &str, id: &str) -> Outcome<String> {
    Ok(client.call(tool, json!({ "id": id })).await?.into_result()?.text())
}

pub(crate) async fn complete(client: &Client) -> Outcome {
    let topics = client.complete(CompletionReference::prompt("explain"), "topic", "M").await?;
    Ok(expect("the topics", topics.values, vec!["MCP".to_owned()])?)
}

pub(crate) async fn sample(client: &Client) -> Outcome {
    let id = new_id();
    Ok(expect("the text", text(client, "ask", &id).await?, format!("said {id}"))?)
}

pub(crate) async fn confirm(client: &Client) -> Outcome {
    let id = new_id();
    Ok(expect("the text", text(client, "confirm", &id).await?, format!("confirmed {id}"))?)
}

pub(crate) async fn cancel(client: &Client) -> Outcome {
    let id = new_id();
    let call = tokio::spawn({
        let (client, id) = (client.clone(), id.clone());
        async move { client.call("wait", json!({ "id": id })).await }
    });
    let running = until(client, &id, "running").await;
    call.abort();
    running?;
    until(client, &id, "cancelled").await
}

/// Waits until the server says this of a call.
async fn until(client: &Client, id: &str, state: &str) -> Outcome {
    let work = async {
        while text(client, "waited", id).await? != state {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    };
    tokio::time::timeout(LIMIT, work).await.map_err(|_| format!("`{id}` is not {state} within {LIMIT:?}"))?
}

pub(crate) async fn subscribe(client: &Client) -> Outcome {
    let greeting = "interop://greeting";
    let mut changes = client.listen(Filter::new().resource(greeting)).await?;
    client.call("touch", ()).await?.into_result()?;
    let change = tokio::time::timeout(LIMIT, changes.next()).await;
    let change = change.map_err(|_| format!("no change within {LIMIT:?}"))?;
    Ok(expect("the change", change, Some(Change::Updated(greeting.to_owned())))?)
}

pub(crate) async fn task(client: &Client) -> Outcome {
    let id = new_id();
    let Called::Task(task) = client.call_task("job", json!({ "id": id })).await? else {
        return Err("`job` is not a task".into());
    };
    Ok(expect("the text", task.wait().await?.into_result()?.text(), format!("done {id}"))?)
}

pub(crate) async fn mark(client: &Client) -> Outcome {
    let id = new_id();
    let first = format!("{id} 1");
    reported(client, "mark", &id, first, format!("marked {id}")).await
}

pub(crate) async fn resume(client: &Client) -> Outcome {
    let id = new_id();
    let first = format!("cut {id} here");
    reported(client, "stall", &id, first, format!("stalled {id}")).await
}

/// A call with three reports of progress.
async fn reported(client: &Client, tool: &str, id: &str, first: String, result: String) -> Outcome {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = heard.clone();
    let call = client.call(tool, json!({ "id": id })).on_progress(move |progress| {
        hear.lock().expect("no other thread panics").push(progress.message.unwrap_or_default());
    });
    expect("the text", call.await?.into_result()?.text(), result)?;
    let heard = heard.lock().map_err(|e| e.to_string())?.clone();
    Ok(expect("the progress", heard, vec![first, format!("{id} 2"), format!("{id} 3")])?)
}
