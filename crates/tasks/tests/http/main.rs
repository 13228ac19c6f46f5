//! Tasks over HTTP, on both wires: where questions and news need a stream, there is one.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod drain;
mod metrics;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::{Client, Elicitation};
use couplet_http::server::HttpTransport;
use couplet_server::{Ctx, Server, ToolError, schemars::JsonSchema, tool};
use couplet_tasks::{CallTask, Called, ClientTasks, Memory, Store, Task, TaskTool, Tasks};
use couplet_types::{ProtocolVersion, TaskStatus};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Yes {
    yes: bool,
}

async fn ask(ctx: Ctx) -> Result<String, ToolError> {
    for step in 1..=5000 {
        ctx.progress_with(f64::from(step), None, (step == 5000).then(|| "nearly done".to_owned())).await;
    }
    let answers = tokio::join!(ctx.elicit::<Yes>("a", "A?"), ctx.elicit::<Yes>("b", "B?"));
    Ok(format!("{} {}", answers.0?.accepted()?.yes, answers.1?.accepted()?.yes))
}

async fn steps(ctx: Ctx) -> String {
    for step in 1..=3 {
        ctx.progress_with(f64::from(step), None, None).await;
    }
    "done".to_owned()
}

async fn serve() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let tasks = Tasks::in_memory().poll_interval(Duration::from_millis(5)).use_client_tasks();
    let server = Server::new("s", "1")
        .extension(tasks)
        .tool(tool("ask", ask).task(Task::optional()))
        .tool(tool("steps", steps).task(Task::optional()))
        .tool(tool("hold", std::future::pending::<String>).task(Task::optional()));
    tokio::spawn(server.serve(HttpTransport::from_listener(listener)));
    url
}

async fn check(version: ProtocolVersion) {
    let url = serve().await;
    let connect = || {
        let yes = |ask: Elicitation| async move { ask.accept(json!({ "yes": true })) };
        Client::new("c", "1")
            .versions([version])
            .extension(ClientTasks::new())
            .on_elicit(yes)
            .connect(couplet_http::connect(url.clone()))
    };
    let client = connect().await.unwrap();
    let Called::Task(task) = client.call_task("ask", ()).await.unwrap() else { panic!("{version}: no task") };
    // More progress than any queue has room for does not hold up the task.
    assert_eq!(task.wait().await.unwrap().text(), "true true", "{version}");

    let Called::Task(task) = client.call_task("hold", ()).await.unwrap() else { panic!("{version}: no task") };
    let mut updates = task.updates().await;
    assert_eq!(updates.next().await.unwrap().unwrap().status, TaskStatus::Working, "{version}");
    let other = connect().await.unwrap();
    other.task(task.id()).cancel().await.unwrap();
    assert_eq!(updates.next().await.unwrap().unwrap().status, TaskStatus::Cancelled, "{version}");
    assert!(updates.next().await.unwrap().is_none(), "{version}");
}

#[tokio::test]
async fn tasks_work_over_http() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        tokio::time::timeout(Duration::from_secs(60), check(version)).await.expect("it ends");
    }
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..60_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("it never holds that {what}");
}

#[tokio::test]
async fn progress_of_a_task_reaches_who_called() {
    let client = Client::new("c", "1").versions([ProtocolVersion::V2025_11_25]).extension(ClientTasks::new());
    let client = client.connect(couplet_http::connect(serve().await)).await.unwrap();
    let heard = Arc::new(AtomicUsize::new(0));
    let count = heard.clone();
    let call = client.call_task("steps", ()).on_progress(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let Called::Task(task) = call.await.unwrap() else { panic!("no task") };
    assert_eq!(task.wait().await.unwrap().text(), "done");
    // It comes on another stream than the result, and may be behind it.
    until("all progress was heard", async || heard.load(Ordering::SeqCst) == 3).await;
}

#[tokio::test]
async fn a_server_asks_with_tasks_and_takes_them_back() {
    let (kept, url) = (Arc::new(Memory::new()), serve().await);
    let connect = |answers: bool| {
        let answer = move |ask: Elicitation| async move {
            if !answers {
                std::future::pending::<()>().await;
            }
            ask.accept(json!({ "yes": true }))
        };
        let tasks = ClientTasks::new().accept_tasks(kept.clone());
        let client = Client::new("c", "1").versions([ProtocolVersion::V2025_11_25]).extension(tasks);
        client.on_elicit(answer).connect(couplet_http::connect(url.clone()))
    };
    let status = async |at: usize| {
        let kept = kept.list(None, None, 10).await.unwrap().unwrap();
        kept.get(at).map(|task| task.status)
    };
    let client = connect(true).await.unwrap();
    assert_eq!(client.call("ask", ()).await.unwrap().text(), "true true");
    assert_eq!(
        [status(0).await, status(1).await, status(2).await],
        [Some(TaskStatus::Completed), Some(TaskStatus::Completed), None]
    );

    let client = connect(false).await.unwrap();
    let call = tokio::spawn(client.call("ask", ()).into_future());
    until("both questions run", async || status(3).await == Some(TaskStatus::Working)).await;
    call.abort();
    // The call's own stream is gone: what is said about its questions comes on another one.
    until("they are cancelled", async || {
        [status(2).await, status(3).await] == [Some(TaskStatus::Cancelled), Some(TaskStatus::Cancelled)]
    })
    .await;
}
