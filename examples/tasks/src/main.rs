//! A tool that runs as a task, with progress and elicitation. The handler is an ordinary function.

use std::time::Duration;

use couplet::{
    ProtocolVersion,
    prelude::*,
    tasks::{CallTask, Called, ClientTasks, Tasks},
};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Release {
    /// Release it?
    yes: bool,
}

/// Builds a branch, and releases it if the user agrees.
#[tool(task)]
async fn build(branch: String, ctx: Ctx) -> Result<String, ToolError> {
    ctx.progress(0.5, "half of the tests have passed").await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let answer = ctx.elicit::<Release>("release", format!("Release {branch}?")).await?.accepted()?;
    Ok(format!("{branch} is built and {}", if answer.yes { "released" } else { "kept back" }))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let tasks = Tasks::in_memory().poll_interval(Duration::from_millis(5));
    let server = Server::new("ci", "1.0.0").extension(tasks).tool(build).build();
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let connect = || {
            let client = Client::new("developer", "1.0.0").versions([version]).extension(ClientTasks::new());
            client.on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) }).connect(server.clone())
        };
        let client = connect().await?;
        let Called::Task(task) = client.call_task("build", json!({ "branch": "main" })).await? else {
            panic!("{version}: the tool is a task")
        };
        let id = task.id().to_owned();
        client.close().await?;

        // Later, perhaps in another process, with the id alone.
        let client = connect().await?;
        let result = client.task(id).wait().await?.into_result()?;
        println!("{version}: {}", result.text());
        assert_eq!(result.text(), "main is built and released");

        // An ordinary call waits for the result of the task.
        if version == ProtocolVersion::V2026_07_28 {
            assert_eq!(
                client.call("build", json!({ "branch": "fix" })).await?.into_result()?.text(),
                "fix is built and released"
            );
        }
        client.close().await?;
    }
    Ok(())
}
