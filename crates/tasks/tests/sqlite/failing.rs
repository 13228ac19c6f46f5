//! A store that fails, hangs and recovers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::Client;
use couplet_core::{BoxFuture, Service};
use couplet_server::{Server, ServerHandle, tool};
use couplet_tasks::{
    CallTask, Called, Change, ClientTasks, Memory, Record, Store, StoreError, Task, TaskHandle, TaskTool, Tasks,
};
use couplet_types::{ProtocolVersion, TaskStatus};
use tokio::sync::Notify;

use crate::log::Log;

const WORKS: u8 = 0;
const FAILS: u8 = 1;
const HANGS: u8 = 2;

/// A disk that can be full, or gone.
#[derive(Clone, Default)]
struct Disk {
    memory: Arc<Memory>,
    mode: Arc<AtomicU8>,
    purged: Arc<AtomicUsize>,
}

impl Disk {
    fn set(&self, mode: u8) {
        self.mode.store(mode, Ordering::SeqCst);
    }

    fn work<'a, T: Send + 'a>(
        &'a self,
        work: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(async move {
            match self.mode.load(Ordering::SeqCst) {
                WORKS => work.await,
                FAILS => Err(StoreError::new("no space left on device")),
                _ => std::future::pending().await,
            }
        })
    }
}

impl Store for Disk {
    fn insert(&self, record: Record, lease: Duration) -> BoxFuture<'_, Result<Option<Record>, StoreError>> {
        self.work(Box::pin(async move { self.memory.insert(record, lease).await }))
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.work(Box::pin(async { self.memory.get(id).await }))
    }

    fn change<'a>(
        &'a self,
        id: &'a str,
        fence: Option<u64>,
        change: Change,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.work(Box::pin(async move { self.memory.change(id, fence, change).await }))
    }

    fn claim<'a>(
        &'a self,
        id: &'a str,
        node: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.work(Box::pin(async move { self.memory.claim(id, node, lease).await }))
    }

    fn renew<'a>(
        &'a self,
        tasks: &'a [(String, u64)],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        self.work(Box::pin(async move { self.memory.renew(tasks, lease).await }))
    }

    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.work(Box::pin(async move { self.memory.release(id, generation).await }))
    }

    fn list<'a>(
        &'a self,
        owner: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<Record>>, StoreError>> {
        self.work(Box::pin(async move { self.memory.list(owner, after, most).await }))
    }

    fn purge(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.purged.fetch_add(1, Ordering::SeqCst);
        self.work(Box::pin(async move { self.memory.purge(now).await }))
    }

    fn is_exclusive(&self) -> bool {
        true
    }
}

struct Kit {
    disk: Disk,
    client: Client,
    go: Arc<Notify>,
    server: ServerHandle,
}

const REVISIONS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

impl Kit {
    /// A server with a task that ends on demand, and one that ends at once.
    async fn new(version: ProtocolVersion, ttl: Duration) -> Self {
        let (disk, go) = (Disk::default(), Arc::new(Notify::new()));
        let waiting = go.clone();
        let job = move || {
            let go = waiting.clone();
            async move {
                go.notified().await;
                "done"
            }
        };
        let tasks = Tasks::new(disk.clone()).max_ttl(ttl).store_timeout(Duration::from_secs(5));
        let server = Server::new("s", "1")
            .extension(tasks)
            .tool(tool("job", job).task(Task::optional()))
            .tool(tool("quick", || "quick").task(Task::optional()))
            .build();
        let client = Client::new("c", "1").versions([version]).extension(ClientTasks::new());
        let client = client.timeout(Duration::from_secs(3600)).connect(server.clone()).await.unwrap();
        Self { disk, client, go, server }
    }

    /// A number that the server reports.
    fn number(&self, name: &str) -> u64 {
        let metrics = self.server.metrics();
        metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no `{name}` in {metrics:?}")).value
    }

    async fn begin(&self) -> TaskHandle {
        match self.client.call_task("job", ()).await.unwrap() {
            Called::Task(task) => task,
            _ => panic!("no task"),
        }
    }
}

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A disk that was full when the task ended does not cost the result: it is there at once, and stored when there is room.
#[tokio::test(start_paused = true)]
async fn attack_11_a_full_disk_costs_no_result() {
    for version in REVISIONS {
        for broken in [FAILS, HANGS] {
            let kit = Kit::new(version, DAY).await;
            let task = kit.begin().await;
            kit.disk.set(broken);
            kit.go.notify_one();
            let result = tokio::time::timeout(Duration::from_secs(600), task.wait()).await.expect("an end").unwrap();
            assert_eq!(result.text(), "done", "{version} {broken}");
            let refused = kit.client.call_task("job", ()).await.unwrap_err();
            assert!(refused.to_string().contains("task store is unavailable"), "{version} {broken}: {refused}");
            let failed = kit.number("couplet_store_errors_total");
            assert!(failed >= 2, "{version} {broken}: {failed}");
            assert_eq!(kit.number("couplet_unstored_task_results"), 1, "{version} {broken}");
            kit.disk.set(WORKS);
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(kit.number("couplet_unstored_task_results"), 0, "{version} {broken}");
            let stored = kit.disk.memory.get(task.id()).await.unwrap().unwrap();
            assert_eq!(stored.status, TaskStatus::Completed, "{version} {broken}");
            assert_eq!(task.wait().await.unwrap().text(), "done", "{version} {broken}");
        }
    }
}

/// One line says that the store is away and one that it is back, however many requests there are, and attempts to store a
/// result.
#[tokio::test(start_paused = true)]
async fn an_outage_is_logged_once() {
    for version in REVISIONS {
        for broken in [FAILS, HANGS] {
            let kit = Kit::new(version, DAY).await;
            let task = kit.begin().await;
            let (log, _guard) = Log::start();
            kit.disk.set(broken);
            kit.go.notify_one();
            for _ in 0..20 {
                let refused = kit.client.call_task("job", ()).await.unwrap_err();
                assert!(refused.to_string().contains("task store is unavailable"), "{refused}");
            }
            tokio::time::sleep(Duration::from_secs(600)).await;
            kit.disk.set(WORKS);
            tokio::time::sleep(Duration::from_secs(60)).await;
            let stored = kit.disk.memory.get(task.id()).await.unwrap().unwrap();
            assert_eq!(stored.status, TaskStatus::Completed, "{version} {broken}");
            let (warnings, text) = (log.warnings(), log.text());
            assert_eq!(warnings.len(), 1, "{version} {broken}: {warnings:?}");
            assert!(warnings[0].contains("the store of tasks is away"), "{warnings:?}");
            assert_eq!(text.matches("the store of tasks is back").count(), 1, "{version} {broken}: {text}");
        }
    }
}

/// A task that says that it runs, and does not run anywhere, has failed.
#[tokio::test(start_paused = true)]
async fn attack_11_a_task_that_does_not_run_has_failed() {
    for version in REVISIONS {
        let kit = Kit::new(version, DAY).await;
        let task = kit.begin().await;
        let mut left = kit.disk.memory.get(task.id()).await.unwrap().unwrap();
        left.id = "left-by-another-process".to_owned();
        kit.disk.memory.insert(left, Duration::ZERO).await.unwrap();
        let state = kit.client.task("left-by-another-process").state().await.unwrap();
        assert_eq!(state.status, TaskStatus::Failed, "{version}");
        assert_eq!(task.state().await.unwrap().status, TaskStatus::Working, "{version}");
    }
}

/// The clock is put forward by more than the time to live: here, real time passes and the runtime's does not.
#[tokio::test(start_paused = true)]
async fn attack_11_a_clock_that_is_put_forward_ends_no_task() {
    for version in REVISIONS {
        let kit = Kit::new(version, Duration::from_millis(40)).await;
        let task = kit.begin().await;
        let purged = kit.disk.purged.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(task.state().await.unwrap().status, TaskStatus::Working, "{version}");
        // Something else begins, at which expired tasks are looked for.
        kit.client.call_task("quick", ()).await.unwrap();
        assert_eq!(kit.disk.purged.load(Ordering::SeqCst), purged, "{version}");
        kit.go.notify_one();
        assert_eq!(task.wait().await.unwrap().text(), "done", "{version}");
    }
}
