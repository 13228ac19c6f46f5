//! Calls that become tasks.

use couplet_client::Client;
use couplet_core::{IntoService, Revision};
use couplet_server::{Server, tool};
use couplet_tasks::{CallTask, Called, ClientTasks, Task, TaskTool, Tasks};
use couplet_transform::{ToolSearch, ToolTransform, Transform};
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

use crate::kit::in_each_revision;

fn server() -> Server {
    let tasks = Tasks::in_memory().poll_interval(std::time::Duration::from_millis(5));
    Server::new("s", "1").extension(tasks).tool(tool("build", || "built").task(Task::optional()))
}

async fn connect(service: impl IntoService, version: ProtocolVersion) -> Client {
    let client = Client::new("test", "1.0.0").versions([version]).extension(ClientTasks::new());
    client.connect(service.into_service()).await.unwrap()
}

/// Whether a call becomes a task. Its result is the same either way.
async fn is_task(client: &Client, tool: &str, arguments: Value) -> bool {
    let called = client.call_task(tool, arguments).await.unwrap();
    let is_task = matches!(called, Called::Task(_));
    assert_eq!(called.wait().await.unwrap().text(), "built");
    is_task
}

#[test]
fn renamed_tools_run_as_tasks() {
    in_each_revision(async |version| {
        let direct = is_task(&connect(server(), version).await, "build", json!({})).await;
        let renamed = Transform::new(server()).tool("build", ToolTransform::new().name("make"));
        assert_eq!(is_task(&connect(renamed, version).await, "make", json!({})).await, direct, "{version}");
        let searched = connect(ToolSearch::new(server()), version).await;
        let by_search = is_task(&searched, "call_tool", json!({ "name": "build" })).await;
        assert_eq!(by_search, direct && !Revision::of(version).has_core_tasks(), "{version}");
    });
}
