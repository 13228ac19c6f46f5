//! Extensions of a server behind a proxy that is mounted in another server.

use couplet_client::Client;
use couplet_proxy::Proxy;
use couplet_server::{Ctx, Server, ToolError, tool};
use couplet_tasks::{CallTask, Called, ClientTasks, Task, TaskTool, Tasks};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::{SESSIONS, STATELESS};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn job(ctx: Ctx) -> Result<String, ToolError> {
    Ok(ctx.elicit::<Name>("name", "who are you?").await?.accepted()?.name)
}

#[tokio::test]
async fn tasks_of_a_mounted_proxy_are_declared_and_go_through() {
    for version in [SESSIONS, STATELESS] {
        let far = Server::new("far", "1")
            .versions([version])
            .extension(Tasks::in_memory())
            .tool(tool("job", job).task(Task::optional()))
            .build();
        let proxy = Proxy::connect(Client::new("proxy", "1"), far).await.unwrap();
        let outer = Server::new("outer", "1").tool(tool("own", || "own")).mount("far", proxy.service()).build();
        let client = Client::new("near", "1")
            .versions([version])
            .extension(ClientTasks::new())
            .on_elicit(|ask| async move { ask.accept(json!({ "name": "Ada" })) })
            .connect(outer)
            .await
            .unwrap();
        let Called::Task(task) = client.call_task("far_job", ()).await.unwrap() else { panic!("{version}: no task") };
        assert!(task.id().starts_with("far:"), "{version}: {}", task.id());
        assert_eq!(task.wait().await.unwrap().text(), "Ada", "{version}");
    }
}
