//! A repeatable task runs again when its process was restarted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::Client;
use couplet_server::{Ctx, Server, ToolError, extract::Args, schemars::JsonSchema, tool};
use couplet_tasks::{CallTask, Called, ClientTasks, Sqlite, Store, Task, TaskTool, Tasks};
use couplet_types::{ProtocolVersion, TaskStatus};
use serde::Deserialize;
use serde_json::json;

use crate::store::TempFile;

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Clone, Default)]
struct Counts {
    first: Arc<AtomicUsize>,
    second: Arc<AtomicUsize>,
}

/// A process of the server: the first one never ends.
async fn connect(store: Sqlite, version: ProtocolVersion, counts: &Counts, ends: bool) -> Client {
    let counts = counts.clone();
    let work = move |Args(Name { name }), ctx: Ctx| {
        let counts = counts.clone();
        async move {
            let first = ctx.step("first", async || counts.first.fetch_add(1, Ordering::SeqCst)).await?;
            if !ends {
                std::future::pending::<()>().await;
            }
            ctx.step("second", async || counts.second.fetch_add(1, Ordering::SeqCst)).await?;
            Ok::<_, ToolError>(format!("{name} {first}"))
        }
    };
    let tasks = Tasks::new(store).poll_interval(Duration::from_millis(1));
    let server = Server::new("s", "1").extension(tasks).tool(tool("work", work).task(Task::required().repeatable()));
    let client = Client::new("c", "1").versions([version]).extension(ClientTasks::new());
    client.connect(server.build()).await.unwrap()
}

/// Starts a task in a process that ends without a word when the first step is done.
fn begin(file: &TempFile, version: ProtocolVersion, counts: &Counts) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Sqlite::open(&file.0).unwrap();
        let client = connect(store.clone(), version, counts, false).await;
        let called = client.call_task("work", json!({ "name": "again" })).await.unwrap();
        let Called::Task(task) = called else { panic!("no task") };
        while store.get(task.id()).await.unwrap().unwrap().journal.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        task.id().to_owned()
    })
}

#[test]
fn a_repeatable_task_survives_a_restart() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let (file, counts) = (TempFile::new("restarted"), Counts::default());
        let id = begin(&file, version, &counts);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Sqlite::open(&file.0).unwrap();
            assert_eq!(store.get(&id).await.unwrap().unwrap().status, TaskStatus::Working, "{version}");
            let client = connect(store, version, &counts, true).await;
            assert_eq!(client.task(&*id).wait().await.unwrap().text(), "again 0", "{version}");
        });
        let counts = [&counts.first, &counts.second].map(|count| count.load(Ordering::SeqCst));
        assert_eq!(counts, [1, 1], "{version}");
    }
}
