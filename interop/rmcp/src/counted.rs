//! The steps whose calls have ids.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use rmcp::model::*;
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::{Client, Handler, Outcome, expect, handler::Heard, text, tool};

/// How long a change, or the note of a cancelled call, may take.
const LIMIT: Duration = Duration::from_secs(5);
/// How long a server may take to begin a call: it may have to start.
const START: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);
const GREETING: &str = "interop://greeting";

/// The text of a call with an id.
async fn called(client: &Client, name: &'static str, id: &str) -> Outcome<String> {
    text(&client.call_tool(tool(name, json!({ "id": id }))).await?)
}

/// Notes that a call has its answer.
fn answered(found: String, done: &str, id: &str) -> Outcome {
    expect("the text", found, format!("{done} {id}"))?;
    println!("answered {id}");
    Ok(())
}

pub(crate) async fn sample(client: &Client, handler: &Handler) -> Outcome {
    let id = handler.calls.new_id();
    answered(called(client, "ask", &id).await?, "said", &id)
}

pub(crate) async fn confirm(client: &Client, handler: &Handler) -> Outcome {
    let id = handler.calls.new_id();
    answered(called(client, "confirm", &id).await?, "confirmed", &id)
}

pub(crate) async fn mark(client: &Client, handler: &Handler) -> Outcome {
    let id = handler.calls.new_id();
    reported(client, handler, "mark", &id, format!("{id} 1"), "marked").await
}

pub(crate) async fn resume(client: &Client, handler: &Handler) -> Outcome {
    let id = handler.calls.new_id();
    reported(client, handler, "stall", &id, format!("cut {id} here"), "stalled").await
}

/// A call with three reports of progress.
async fn reported(
    client: &Client,
    handler: &Handler,
    name: &'static str,
    id: &str,
    first: String,
    done: &str,
) -> Outcome {
    handler.forget_progress();
    let found = called(client, name, id).await?;
    let all = [first, format!("{id} 2"), format!("{id} 3")];
    let all: Vec<Heard> = (1..).map(f64::from).zip(all).map(|(n, message)| (n, Some(3.0), Some(message))).collect();
    expect("the progress", handler.heard().await, all)?;
    answered(found, done, id)
}

pub(crate) async fn cancel(client: &Client, handler: &Handler) -> Outcome {
    let id = handler.calls.new_id();
    // A call that is dropped is cancelled.
    tokio::select! {
        ended = called(client, "wait", &id) => return Err(format!("the call ended: {ended:?}").into()),
        running = until(client, &id, "running", START) => running?,
    }
    until(client, &id, "cancelled", LIMIT).await
}

/// Waits until the server says this of a call.
async fn until(client: &Client, id: &str, state: &str, limit: Duration) -> Outcome {
    let started = Instant::now();
    while called(client, "waited", id).await? != state {
        if started.elapsed() > limit {
            return Err(format!("{id} is not {state} within {limit:?}").into());
        }
        sleep(PAUSE).await;
    }
    Ok(())
}

pub(crate) async fn subscribe(client: &Client, handler: &Handler, repeated: bool) -> Outcome {
    // A stream that is opened anew at this moment may miss a change.
    let times = if repeated { 5 } else { 1 };
    let touched = AtomicU32::new(0);
    let uri = changed(client, handler, GREETING, || async {
        if touched.fetch_add(1, Ordering::SeqCst) == times {
            return Ok(None);
        }
        client.call_tool(tool("touch", json!({}))).await?;
        Ok(Some(LIMIT / times))
    })
    .await?;
    expect("the change", uri.ok_or("the change was not notified")?.as_str(), GREETING)
}

/// Subscribes to a resource, and causes changes until one is heard. `cause` returns how long the change may take; if it returns
/// nothing, or the subscription ends, there is no change.
pub(crate) async fn changed<F: Future<Output = Outcome<Option<Duration>>>>(
    client: &Client,
    handler: &Handler,
    uri: &str,
    cause: impl Fn() -> F,
) -> Outcome<Option<String>> {
    if client.peer_info().is_some_and(|server| server.protocol_version == ProtocolVersion::V_2026_07_28) {
        return listen(client, uri, cause).await;
    }
    while handler.updated().is_some() {}
    #[expect(deprecated, reason = "this is how sessions subscribe")]
    client.subscribe(SubscribeRequestParams::new(uri)).await?;
    let mut changed = None;
    while changed.is_none() {
        let Some(limit) = cause().await? else { break };
        let heard = async {
            loop {
                if let Some(uri) = handler.updated() {
                    return uri;
                }
                sleep(PAUSE).await;
            }
        };
        changed = timeout(limit, heard).await.ok();
    }
    #[expect(deprecated, reason = "this is how sessions subscribe")]
    client.unsubscribe(UnsubscribeRequestParams::new(uri)).await?;
    Ok(changed)
}

/// The same without a session.
async fn listen<F: Future<Output = Outcome<Option<Duration>>>>(
    client: &Client,
    uri: &str,
    cause: impl Fn() -> F,
) -> Outcome<Option<String>> {
    let filter = SubscriptionFilter::builder().resource_subscriptions([uri.to_owned()]).build();
    let mut changes = client.listen(filter).await?;
    while let Some(limit) = cause().await? {
        if let Ok(change) = timeout(limit, changes.next()).await {
            let Some(ServerNotification::ResourceUpdatedNotification(change)) = change? else { return Ok(None) };
            changes.cancel().await?;
            return Ok(Some(change.params.uri));
        }
    }
    changes.cancel().await?;
    Ok(None)
}

pub(crate) async fn task(client: &Client, handler: &Handler) -> Outcome {
    let id = handler.calls.new_id();
    answered(task_text(client, handler, tool("job", json!({ "id": id }))).await?, "done", &id)
}

/// The text of a tool's result that runs as a task, with input.
pub(crate) async fn task_text(client: &Client, handler: &Handler, call: CallToolRequestParams) -> Outcome<String> {
    let CallToolResponse::Task(created) = client.call_tool_once(call).await? else {
        return Err("the tool does not run as a task".into());
    };
    let task = created.task.task_id;
    let mut input = false;
    loop {
        match client.get_task(GetTaskParams::new(&task)).await?.task.payload {
            TaskPayload::Completed { result } => {
                expect("whether the task needed input", input, true)?;
                return text(&serde_json::from_value(result.into())?);
            }
            TaskPayload::InputRequired { input_requests } => {
                input = true;
                let mut responses = InputResponses::new();
                for (key, request) in input_requests {
                    let InputRequest::Elicitation(ask) = request else { return Err("not a form".into()) };
                    responses.insert(key, serde_json::to_value(handler.answer(&ask.params)?)?);
                }
                let update = UpdateTaskRequest::new(UpdateTaskParams::new(&task, responses));
                // Any result is an acknowledgement.
                client.send_request(ClientRequest::UpdateTaskRequest(update)).await?;
            }
            TaskPayload::Working => {}
            other => return Err(format!("the task has ended: {other:?}").into()),
        }
        sleep(PAUSE).await;
    }
}
