//! Tasks on the page of metrics.

use std::sync::Arc;

use couplet_client::{Client, Elicitation};
use couplet_http::server::Endpoint;
use couplet_server::{Ctx, Server, ToolError, tool};
use couplet_tasks::{CallTask, Called, ClientTasks, Memory, Store, Task, TaskHandle, TaskTool, Tasks};
use couplet_types::{ProtocolVersion, TaskStatus};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::{Yes, until};

async fn elicit(ctx: Ctx) -> Result<String, ToolError> {
    Ok(ctx.elicit::<Yes>("sure", "Sure?").await?.accepted()?.yes.to_string())
}

/// Panics unless the page has these lines.
#[track_caller]
fn has(endpoint: &Endpoint, lines: &[&str]) {
    let page = endpoint.metrics();
    for line in lines {
        assert!(page.lines().any(|written| written == *line), "no `{line}` in {page}");
    }
}

fn task(called: Called) -> TaskHandle {
    match called {
        Called::Task(task) => task,
        other => panic!("no task: {other:?}"),
    }
}

async fn check(version: ProtocolVersion) {
    let gate = Arc::new(Semaphore::new(0));
    let room = gate.clone();
    let hold = move || {
        let room = room.clone();
        async move {
            room.acquire().await.unwrap().forget();
            "done"
        }
    };
    let fail = || async { Err::<String, _>(couplet_types::RpcError::internal("it is broken")) };
    let store = Arc::new(Memory::new().shared());
    let inner = Server::new("s", "1")
        .extension(Tasks::new(store.clone()))
        .tool(tool("hold", hold).task(Task::optional()))
        .tool(tool("fail", fail).task(Task::optional()))
        .tool(tool("ask", elicit).task(Task::optional()))
        .build();
    let endpoint = Endpoint::new(inner.clone());
    let answer = |ask: Elicitation| async move { ask.accept(json!({ "yes": true })) };
    let client = Client::new("c", "1").versions([version]).extension(ClientTasks::new()).on_elicit(answer);
    let client = client.connect(inner.clone()).await.unwrap();
    has(
        &endpoint,
        &[
            "# TYPE couplet_tasks gauge",
            r#"couplet_tasks{status="working"} 0"#,
            r#"couplet_tasks{status="input_required"} 0"#,
            "# TYPE couplet_tasks_finished_total counter",
            r#"couplet_tasks_finished_total{status="completed"} 0"#,
            r#"couplet_tasks_finished_total{status="failed"} 0"#,
            r#"couplet_tasks_finished_total{status="cancelled"} 0"#,
            "# TYPE couplet_tasks_taken_over_total counter",
            "couplet_tasks_taken_over_total 0",
        ],
    );
    let [one, other] =
        [task(client.call_task("hold", ()).await.unwrap()), task(client.call_task("hold", ()).await.unwrap())];
    let asking = task(client.call_task("ask", ()).await.unwrap());
    until("it asks", async || asking.state().await.unwrap().status == TaskStatus::InputRequired).await;
    has(&endpoint, &[r#"couplet_tasks{status="working"} 2"#, r#"couplet_tasks{status="input_required"} 1"#]);
    assert_eq!(asking.wait().await.unwrap().text(), "true");
    other.cancel().await.unwrap();
    gate.add_permits(1);
    assert_eq!(one.wait().await.unwrap().text(), "done");
    task(client.call_task("fail", ()).await.unwrap()).wait().await.unwrap_err();
    let page = || endpoint.metrics();
    until("all have ended", async || page().contains("couplet_tasks{status=\"working\"} 0")).await;
    has(
        &endpoint,
        &[
            r#"couplet_tasks{status="input_required"} 0"#,
            r#"couplet_tasks_finished_total{status="completed"} 2"#,
            r#"couplet_tasks_finished_total{status="failed"} 1"#,
            r#"couplet_tasks_finished_total{status="cancelled"} 1"#,
        ],
    );
    // A task of a replica that has shut down.
    let lost = task(client.call_task("hold", ()).await.unwrap());
    let generation = store.get(lost.id()).await.unwrap().unwrap().generation();
    assert!(store.release(lost.id(), generation).await.unwrap());
    let there = Server::<()>::new("s", "1").extension(Tasks::new(store)).build();
    let page = Endpoint::new(there.clone());
    let client = Client::new("c", "1").versions([version]).extension(ClientTasks::new()).connect(there).await.unwrap();
    assert_eq!(client.task(lost.id()).state().await.unwrap().status, TaskStatus::Failed);
    has(&page, &["couplet_tasks_taken_over_total 1", r#"couplet_tasks_finished_total{status="failed"} 1"#]);
    // Those of a mounted server and of the server itself are one.
    let outer = Server::<()>::new("o", "1").extension(Tasks::in_memory()).mount("m", inner).build();
    has(&Endpoint::new(outer), &[r#"couplet_tasks_finished_total{status="completed"} 2"#]);
}

#[tokio::test]
async fn tasks_are_counted_in_both_formats() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        check(version).await;
    }
    let without = Endpoint::new(Server::<()>::new("s", "1").build());
    assert!(!without.metrics().contains("couplet_tasks"));
}
