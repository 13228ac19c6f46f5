//! What the tests of both kinds of tasks share.

use std::time::Duration;

use couplet_core::{Caller, Limits, ServerConnection};
use couplet_server::{Ctx, Server, ServerHandle, ToolError, tool};
use couplet_tasks::{Task, TaskTool, Tasks};
use couplet_testing::{
    Wire,
    types::{ProtocolVersion, RpcError},
};
use serde_json::{Value, json};

use crate::kit::{Yes, open};

/// Where tasks are a part of the protocol.
pub(crate) const CORE: ProtocolVersion = ProtocolVersion::V2025_11_25;

pub(crate) const ID: &str = "io.modelcontextprotocol/tasks";
pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Tools that are tasks, one for each way in which a task can go.
pub(crate) fn tools() -> Server {
    Server::new("tasks", "1.0.0")
        .tool(tool("plain", || "done"))
        .tool(tool("quick", || "done").task(Task::optional()))
        .tool(tool("long", || "long ".repeat(100_000)).task(Task::optional()))
        .tool(tool("must", || "done").task(Task::required()))
        .tool(tool("hold", || async { std::future::pending::<String>().await }).task(Task::optional()))
        .tool(tool("fail", || Err::<String, _>(ToolError::new("it failed"))).task(Task::optional()))
        .tool(tool("broken", || Err::<String, _>(RpcError::new(-32050, "it broke"))).task(Task::optional()))
        .tool(tool("ask", |ctx: Ctx| async move { sure(&ctx, "sure").await }).task(Task::optional()))
        .tool(tool("two", two).task(Task::optional()))
        .tool(tool("twice", twice).task(Task::optional()))
        .tool(tool("report", report).task(Task::optional()))
        .tool(tool("first", first).task(Task::required().input_first()))
}

pub(crate) fn server() -> ServerHandle {
    tools().extension(Tasks::in_memory().list().poll_interval(Duration::from_millis(1))).build()
}

async fn sure(ctx: &Ctx, key: &str) -> Result<String, ToolError> {
    Ok(format!("{key}: {}", ctx.elicit::<Yes>(key, key).await?.accepted()?.yes))
}

async fn two(ctx: Ctx) -> Result<String, ToolError> {
    let (a, b) = tokio::join!(sure(&ctx, "a"), sure(&ctx, "b"));
    Ok(format!("{} {}", a?, b?))
}

async fn twice(ctx: Ctx) -> Result<String, ToolError> {
    Ok(format!("{} {}", sure(&ctx, "a").await?, sure(&ctx, "b").await?))
}

async fn report(ctx: Ctx) -> Result<String, ToolError> {
    ctx.progress(0.5, "half of it").await;
    ctx.info("a line").await;
    std::future::pending().await
}

/// Asks, and is a task only then.
async fn first(ctx: Ctx) -> Result<String, ToolError> {
    let sure = sure(&ctx, "sure").await?;
    tokio::task::yield_now().await;
    Ok(sure)
}

/// What a client says that can be asked, and knows tasks.
pub(crate) fn knowing() -> Value {
    json!({ "elicitation": { "form": {} }, "extensions": { ID: {} } })
}

/// A connection where tasks are a part of the protocol.
pub(crate) async fn core() -> Wire {
    open(server(), CORE, json!({ "elicitation": { "form": {} } })).await
}

/// A connection where tasks are an extension.
pub(crate) async fn extension() -> Wire {
    open(server(), ProtocolVersion::V2026_07_28, knowing()).await
}

/// A connection of somebody who was authenticated.
pub(crate) async fn open_as(server: &ServerHandle, version: ProtocolVersion, name: &str) -> Wire {
    let capabilities = serde_json::from_value(knowing()).unwrap();
    let mut wire = Wire::with(server.clone(), version, capabilities, Limits::default());
    let service = std::sync::Arc::new(server.clone());
    let mut connection = ServerConnection::new(service, Limits::default());
    connection.set_caller(Some(std::sync::Arc::new(Caller::new(name))));
    *wire.connection() = connection;
    wire.open().await;
    wire
}

/// Calls a tool as a task, in the way of the revision, and returns the task.
pub(crate) async fn begin(wire: &mut Wire, version: ProtocolVersion, tool: &str) -> Value {
    let mut answer = if version == CORE {
        wire.request("tools/call", json!({ "name": tool, "task": {} })).await["result"]["task"].take()
    } else {
        wire.request("tools/call", json!({ "name": tool })).await["result"].take()
    };
    assert!(answer["taskId"].is_string(), "{version}: {tool} did not become a task: {answer}");
    answer.take()
}

/// The id of a new task.
pub(crate) async fn begin_id(wire: &mut Wire, version: ProtocolVersion, tool: &str) -> String {
    begin(wire, version, tool).await["taskId"].as_str().unwrap().to_owned()
}

/// Sends a request about a task.
pub(crate) async fn about(wire: &mut Wire, method: &str, id: &str) -> Value {
    wire.request(method, json!({ "taskId": id })).await
}

/// Looks at a task until it has a status.
pub(crate) async fn until(wire: &mut Wire, id: &str, status: &str) -> Value {
    for _ in 0..60_000 {
        let task = about(wire, "tasks/get", id).await["result"].take();
        if task["status"] == status {
            return task;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("task `{id}` does not become {status}");
}
