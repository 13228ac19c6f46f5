//! Tools that run as tasks.

use std::time::Duration;

use couplet::{
    prelude::*,
    tasks::{Task, Tasks},
    types::RpcError,
};
use serde::Deserialize;
use tokio::time::sleep;

pub(crate) fn register(server: Server) -> Server {
    server
        .extension(Tasks::in_memory().poll_interval(Duration::from_millis(100)))
        .tool(greet)
        .tool(slow_compute)
        .tool(failing_job)
        .tool(protocol_error_job)
        .tool(confirm_delete)
        .tool(multi_input)
        .tool(test_tool_with_task)
}

#[derive(Deserialize, JsonSchema)]
struct Confirmed {
    confirm: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Greets at once.
#[tool]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

/// Takes a while.
#[tool(task)]
async fn slow_compute(seconds: f64, label: Option<String>) -> String {
    sleep(Duration::from_secs_f64(seconds.clamp(0.0, 60.0))).await;
    format!("{} took {seconds} s", label.as_deref().unwrap_or("it"))
}

/// Fails with a tool error.
#[tool(task = required)]
async fn failing_job() -> Result<String, ToolError> {
    sleep(Duration::from_secs(1)).await;
    Err(ToolError::new("the job failed"))
}

/// Fails with a protocol error.
#[tool(task)]
async fn protocol_error_job() -> Result<String, RpcError> {
    sleep(Duration::from_millis(100)).await;
    Err(RpcError::internal("the job broke"))
}

/// Elicits consent before deleting.
#[tool(task)]
async fn confirm_delete(filename: String, ctx: Ctx) -> Result<String, ToolError> {
    let answer = ctx.elicit::<Confirmed>("confirm", format!("Delete {filename}?")).await?.accepted()?;
    Ok(format!("{filename} is {}", if answer.confirm { "deleted" } else { "kept" }))
}

/// Sends two elicitations at once.
#[tool(task)]
async fn multi_input(ctx: Ctx) -> Result<String, ToolError> {
    let name = ctx.elicit::<Name>("name", "Who are you?");
    let sure = ctx.elicit::<Confirmed>("sure", "Are you sure?");
    let (name, sure) = tokio::join!(name, sure);
    Ok(format!("{} is sure: {}", name?.accepted()?.name, sure?.accepted()?.confirm))
}

/// Elicits before it becomes a task.
#[tool(task = Task::required().input_first())]
async fn test_tool_with_task(ctx: Ctx) -> Result<String, ToolError> {
    let name = ctx.elicit::<Name>("user_name", "What is your name?").await?.accepted()?.name;
    sleep(Duration::from_millis(100)).await;
    Ok(format!("Hello, {name}!"))
}
