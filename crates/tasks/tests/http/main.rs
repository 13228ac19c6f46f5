//! Tasks over HTTP, on both wires: where questions and news need a stream, there is one.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

use std::time::Duration;

use couplet_client::{Client, Elicitation};
use couplet_http::{client::http, server::HttpTransport};
use couplet_server::{Ctx, Server, ToolError, schemars::JsonSchema, tool};
use couplet_tasks::{CallTask, Called, ClientTasks, Task, TaskTool, Tasks};
use couplet_types::{ProtocolVersion, TaskStatus};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Yes {
    yes: bool,
}

async fn ask(ctx: Ctx) -> Result<String, ToolError> {
    for step in 1..=5000 {
        ctx.progress_of(f64::from(step), None, (step == 5000).then(|| "nearly done".to_owned())).await;
    }
    let answers = tokio::join!(ctx.elicit::<Yes>("a", "A?"), ctx.elicit::<Yes>("b", "B?"));
    Ok(format!("{} {}", answers.0?.accepted()?.yes, answers.1?.accepted()?.yes))
}

async fn serve() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let tasks = Tasks::in_memory().poll_interval(Duration::from_millis(5));
    let server = Server::new("s", "1")
        .extension(tasks)
        .tool(tool("ask", ask).task(Task::optional()))
        .tool(tool("hold", std::future::pending::<String>).task(Task::optional()));
    tokio::spawn(server.serve(HttpTransport::on(listener)));
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
            .connect(http(url.clone()))
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
