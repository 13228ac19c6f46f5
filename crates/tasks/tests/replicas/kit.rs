//! Replicas in one process, each with its own connection to the store.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::{Client, Elicitation};
use couplet_core::BoxFuture;
use couplet_server::{Ctx, Server, ServerHandle, ToolError, extract::Args, schemars::JsonSchema, tool};
use couplet_tasks::{
    CallTask, Called, Change, ClientTasks, Memory, Record, Store, StoreError, Task, TaskHandle, TaskTool, Tasks,
};
use couplet_types::ProtocolVersion;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Notify;

pub(crate) const REVISIONS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// The connection of one replica to the store. While it is cut, operations fail.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) store: Arc<dyn Store>,
    is_cut: Arc<AtomicBool>,
    is_slow: Arc<AtomicBool>,
}

impl Link {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, is_cut: Arc::default(), is_slow: Arc::default() }
    }

    pub(crate) fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::SeqCst);
    }

    /// While it is slow, each operation takes a second.
    pub(crate) fn slow(&self, is_slow: bool) {
        self.is_slow.store(is_slow, Ordering::SeqCst);
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.is_cut.load(Ordering::SeqCst) { Err(StoreError::new("the connection is cut")) } else { Ok(()) }
    }

    fn work<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce(&'a dyn Store) -> BoxFuture<'a, Result<T, StoreError>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(async move {
            self.check()?;
            if self.is_slow.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            work(&*self.store).await
        })
    }
}

impl Store for Link {
    fn insert(&self, record: Record, lease: Duration) -> BoxFuture<'_, Result<Option<Record>, StoreError>> {
        self.work(move |store| store.insert(record, lease))
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.work(move |store| store.get(id))
    }

    fn change<'a>(
        &'a self,
        id: &'a str,
        fence: Option<u64>,
        change: Change,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.work(move |store| store.change(id, fence, change))
    }

    fn claim<'a>(
        &'a self,
        id: &'a str,
        node: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.work(move |store| store.claim(id, node, lease))
    }

    fn renew<'a>(
        &'a self,
        tasks: &'a [(String, u64)],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        self.work(move |store| store.renew(tasks, lease))
    }

    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.work(move |store| store.release(id, generation))
    }

    fn list<'a>(
        &'a self,
        owner: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<Record>>, StoreError>> {
        self.work(move |store| store.list(owner, after, most))
    }

    fn purge(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.work(move |store| store.purge(now))
    }

    fn watch<'a>(&'a self, id: &'a str, revision: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        self.work(move |store| store.watch(id, revision))
    }

    fn now(&self) -> u64 {
        self.store.now()
    }

    fn is_exclusive(&self) -> bool {
        self.store.is_exclusive()
    }
}

pub(crate) fn shared() -> Arc<dyn Store> {
    Arc::new(Memory::new().shared())
}

#[derive(Deserialize, JsonSchema)]
struct Yes {
    yes: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Which {
    #[serde(default)]
    number: usize,
}

/// What the tools of one replica did.
#[derive(Clone, Default)]
pub(crate) struct Log {
    pub(crate) runs: Arc<AtomicUsize>,
    pub(crate) dropped: Arc<AtomicUsize>,
    /// Lets `hold`, and the second half of `steps`, go on.
    pub(crate) go: Arc<Notify>,
    pub(crate) first: Arc<AtomicUsize>,
    pub(crate) second: Arc<AtomicUsize>,
}

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

async fn hold(log: Log, number: usize, ctx: Ctx) -> Result<String, ToolError> {
    log.runs.fetch_add(1, Ordering::SeqCst);
    let _dropped = Dropped(log.dropped.clone());
    ctx.progress(0.5, "half of it").await;
    log.go.notified().await;
    Ok(format!("number {number}"))
}

async fn ask(log: Log, ctx: Ctx) -> Result<String, ToolError> {
    log.runs.fetch_add(1, Ordering::SeqCst);
    Ok(ctx.elicit::<Yes>("sure", "Sure?").await?.accepted()?.yes.to_string())
}

/// A step, a question, a place to wait, and a step.
async fn steps(log: Log, ctx: Ctx) -> Result<String, ToolError> {
    log.runs.fetch_add(1, Ordering::SeqCst);
    let _dropped = Dropped(log.dropped.clone());
    let first = ctx.step("n", async || log.first.fetch_add(1, Ordering::SeqCst)).await?;
    let yes = ctx.elicit::<Yes>("sure", "Sure?").await?.accepted()?.yes;
    log.go.notified().await;
    let second = ctx.step("n", async || log.second.fetch_add(1, Ordering::SeqCst)).await?;
    Ok(format!("{first} {yes} {second}"))
}

/// A replica: a server, and a client that is connected to it.
pub(crate) struct Replica {
    pub(crate) server: ServerHandle,
    pub(crate) link: Link,
    pub(crate) client: Client,
    pub(crate) log: Log,
    /// How often the client's user was asked.
    pub(crate) asked: Arc<AtomicUsize>,
}

impl Replica {
    pub(crate) async fn new(store: &Arc<dyn Store>, version: ProtocolVersion) -> Self {
        Self::with(store, version, Task::optional().repeatable(), true).await
    }

    /// A replica with a declaration of the tool `steps`, and a user that answers or does not.
    pub(crate) async fn with(store: &Arc<dyn Store>, version: ProtocolVersion, steps: Task, answers: bool) -> Self {
        let (link, log, asked) = (Link::new(store.clone()), Log::default(), Arc::new(AtomicUsize::new(0)));
        let [l1, l2, l3] = [log.clone(), log.clone(), log.clone()];
        let tasks = Tasks::new(link.clone()).lease(LEASE).poll_interval(Duration::from_millis(100));
        let server = Server::new("s", "1")
            .extension(tasks)
            .tool(tool("hold", move |Args(Which { number }), ctx| hold(l1.clone(), number, ctx)).task(Task::optional()))
            .tool(tool("ask", move |ctx| ask(l2.clone(), ctx)).task(Task::optional()))
            .tool(tool("steps", move |ctx| crate::kit::steps(l3.clone(), ctx)).task(steps))
            .build();
        let count = asked.clone();
        let answer = move |ask: Elicitation| {
            count.fetch_add(1, Ordering::SeqCst);
            async move {
                if !answers {
                    std::future::pending::<()>().await;
                }
                ask.accept(json!({ "yes": true }))
            }
        };
        let client = Client::new("c", "1").versions([version]).extension(ClientTasks::new()).on_elicit(answer);
        let client = client.timeout(Duration::from_secs(3600)).connect(server.clone()).await.unwrap();
        Self { server, link, client, log, asked }
    }

    pub(crate) async fn begin(&self, tool: &str) -> TaskHandle {
        task(self.client.call_task(tool, ()).await.unwrap())
    }

    /// The task as this replica sees it.
    pub(crate) fn see(&self, task: &TaskHandle) -> TaskHandle {
        self.client.task(task.id())
    }
}

pub(crate) fn task(called: Called) -> TaskHandle {
    match called {
        Called::Task(task) => task,
        other => panic!("no task: {other:?}"),
    }
}

pub(crate) fn count(count: &AtomicUsize) -> usize {
    count.load(Ordering::SeqCst)
}

/// Waits until something holds; the clock of the runtime advances meanwhile.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..10_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never holds that {what}");
}
