//! A graceful shutdown of a replica that runs tasks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::Client;
use couplet_core::Error;
use couplet_http::server::{HttpTransport, Shutdown};
use couplet_server::{Server, tool};
use couplet_tasks::{CallTask, Called, ClientTasks, Memory, Store, Task, TaskTool, Tasks};
use couplet_types::{ProtocolVersion, TaskStatus};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinHandle};

use crate::until;

/// Far longer than the test takes, unless a lease has to expire.
const LEASE: Duration = Duration::from_secs(600);

/// A server whose tools wait for a permit.
struct Replica {
    client: Client,
    runs: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
    shutdown: Shutdown,
    serving: JoinHandle<Result<(), Error>>,
}

impl Replica {
    async fn new(store: &Arc<Memory>, version: ProtocolVersion) -> Self {
        let (runs, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let (count, room) = (runs.clone(), gate.clone());
        let work = move || {
            let (count, room) = (count.clone(), room.clone());
            async move {
                count.fetch_add(1, Ordering::SeqCst);
                room.acquire().await.unwrap().forget();
                "done"
            }
        };
        let tasks = Tasks::new(store.clone()).lease(LEASE).poll_interval(Duration::from_millis(5));
        let server = Server::new("s", "1")
            .extension(tasks)
            .tool(tool("once", work.clone()).task(Task::optional()))
            .tool(tool("again", work).task(Task::optional().repeatable()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let transport = HttpTransport::from_listener(listener).grace(Duration::from_secs(120));
        let shutdown = transport.shutdown();
        let serving = tokio::spawn(server.serve(transport));
        let client = Client::new("c", "1").versions([version]).extension(ClientTasks::new());
        let client = client.connect(couplet_http::connect(url)).await.unwrap();
        Self { client, runs, gate, shutdown, serving }
    }

    async fn begin(&self, tool: &str) -> String {
        let Called::Task(task) = self.client.call_task(tool, ()).await.unwrap() else { panic!("no task") };
        until("it runs", async || self.runs.load(Ordering::SeqCst) == 1).await;
        task.id().to_owned()
    }
}

async fn handed_over(version: ProtocolVersion) {
    let store = Arc::new(Memory::new().shared());
    let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
    let id = a.begin("again").await;
    a.shutdown.trigger();
    a.serving.await.unwrap().unwrap();
    b.gate.add_permits(1);
    assert_eq!(b.client.task(&id).wait().await.unwrap().text(), "done", "{version}");
}

async fn waited_for(version: ProtocolVersion) {
    let store = Arc::new(Memory::new().shared());
    let a = Replica::new(&store, version).await;
    let id = a.begin("once").await;
    a.shutdown.trigger();
    tokio::time::sleep(Duration::from_millis(500)).await;
    a.gate.add_permits(1);
    a.serving.await.unwrap().unwrap();
    let record = store.get(&id).await.unwrap().unwrap();
    assert_eq!(record.status, TaskStatus::Completed, "{version}");
}

#[tokio::test]
async fn a_shutdown_hands_tasks_over_or_waits_for_them() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let checks = async {
            handed_over(version).await;
            waited_for(version).await;
        };
        tokio::time::timeout(LEASE / 10, checks).await.expect("nothing waits for a lease to expire");
    }
}
