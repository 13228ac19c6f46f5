//! Runs tasks, for both roles: a server's tools, and a client's answers to elicitation and sampling requests.

mod access;
mod adopt;
mod counts;
mod drain;
mod finish;
mod follow;
mod lease;
mod live;

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_core::{BoxFuture, sync::lock};
use couplet_types::{RawJson, RpcError};
use tokio::time::Instant;

use crate::{
    bounded::Bounded,
    clock,
    record::{Change, Finished, Record, RequestKey, Runner},
    store::Store,
};

use adopt::Adopting;
use counts::Counts;
use drain::Draining;
use finish::{Running, running, runs_here};

pub(crate) use access::Access;
pub(crate) use live::{Changed, Live, OnChange};

/// Limits of tasks.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// The maximum number of running tasks.
    pub(crate) running: usize,
    /// The maximum time to live of a task.
    pub(crate) ttl: Duration,
    /// The poll interval that clients are asked for.
    pub(crate) poll_interval: Duration,
    /// The timeout of a store operation.
    pub(crate) store: Duration,
    /// The lease of a runner, where replicas share a store.
    pub(crate) lease: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            running: 256,
            ttl: Duration::from_secs(24 * 3600),
            poll_interval: Duration::from_millis(500),
            store: Duration::from_secs(10),
            lease: Duration::from_secs(15),
        }
    }
}

pub(crate) struct Engine {
    store: Bounded,
    pub(crate) limits: Limits,
    /// The id of this replica.
    node: String,
    live: Mutex<HashMap<String, Arc<Live>>>,
    adopting: Adopting,
    /// Whether leases are being renewed in the background.
    renewing: AtomicBool,
    purged: AtomicU64,
    draining: Draining,
    counts: Counts,
    /// The input requests that are being delivered to clients.
    #[cfg(feature = "server")]
    pub(crate) deliveries: crate::inputs::Deliveries,
}

/// The request of a new task.
#[derive(Default)]
pub(crate) struct NewTask {
    pub(crate) owner: Option<Arc<str>>,
    /// The time to live that the client wants, in milliseconds.
    pub(crate) ttl: Option<u64>,
    pub(crate) key: Option<RequestKey>,
    /// The parameters of the request, if it may run again.
    pub(crate) request: Option<RawJson>,
}

/// The minimum interval between purges of expired tasks.
const PURGE_MILLIS: u64 = 10_000;

impl Engine {
    /// Creates an engine.
    ///
    /// # Panics
    /// If the system has no source of randomness.
    pub(crate) fn new(store: Arc<dyn Store>, limits: Limits) -> Self {
        Self {
            store: Bounded::new(store, limits.store),
            limits,
            node: random().expect("the system's random source works"),
            live: Mutex::default(),
            adopting: Adopting::default(),
            renewing: AtomicBool::new(false),
            purged: AtomicU64::new(0),
            draining: Draining::default(),
            counts: Counts::default(),
            #[cfg(feature = "server")]
            deliveries: Default::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Live>>> {
        lock(&self.live)
    }

    /// Creates a task that is neither stored nor running yet.
    pub(crate) fn prepare(&self, repeatable: bool, on_change: OnChange) -> Result<Arc<Live>, RpcError> {
        let id = random().map_err(|e| RpcError::internal(e.to_string()))?;
        Ok(Arc::new(Live::new(id, 1, repeatable.then(Vec::new), on_change)))
    }

    /// Stores a task, then starts it. If there is one with the same idempotency key, that one is returned.
    ///
    /// Dropping the future leaves nothing behind that runs, unless there is a key to find it again.
    pub(crate) async fn start(
        self: &Arc<Self>,
        live: Arc<Live>,
        task: NewTask,
        work: BoxFuture<'static, Finished>,
    ) -> Result<Record, RpcError> {
        if task.key.is_none() {
            return self.store_and_run(live, task, work).await;
        }
        let engine = self.clone();
        let started = tokio::spawn(async move { engine.store_and_run(live, task, work).await });
        started.await.unwrap_or_else(|e| Err(RpcError::internal(e.to_string())))
    }

    async fn store_and_run(
        self: &Arc<Self>,
        live: Arc<Live>,
        task: NewTask,
        work: BoxFuture<'static, Finished>,
    ) -> Result<Record, RpcError> {
        self.purge().await;
        let record = self.first_record(&live, task);
        {
            let mut running = self.lock();
            if running.len() >= self.limits.running {
                return Err(RpcError::internal(format!("{} tasks are running already; retry later", running.len())));
            }
            live.set_record(record.clone());
            running.insert(live.id.clone(), live.clone());
        }
        let starting = Starting { engine: self, live: Some(&live) };
        let lease = self.lease_from_now();
        if let Some(same) = self.store.insert(record.clone(), self.limits.lease).await? {
            let digest = |record: &Record| record.key.as_ref().map(|key| key.digest.clone());
            return match digest(&same) == digest(&record) {
                true => Ok(same),
                false => Err(RpcError::invalid_params("the idempotency key was used for another request before")),
            };
        }
        tracing::info!(task = record.id, owner = record.owner.as_deref(), "task started");
        starting.done();
        self.run(live, &record, lease, work);
        Ok(record)
    }

    fn first_record(&self, live: &Live, task: NewTask) -> Record {
        let most = clock::millis(self.limits.ttl);
        let poll_interval = clock::millis(self.limits.poll_interval).max(1);
        let mut record = Record::new(&*live.id, task.owner, task.ttl.unwrap_or(most).min(most), poll_interval);
        (record.key, record.request) = (task.key, task.request);
        record.runner = Some(Runner::first(&*self.node));
        record
    }

    /// Runs the work of a stored task.
    fn run(
        self: &Arc<Self>,
        live: Arc<Live>,
        record: &Record,
        lease: Option<Instant>,
        work: BoxFuture<'static, Finished>,
    ) {
        let ttl = match record.generation() {
            1 => record.ttl,
            _ => record.expires().saturating_sub(clock::now()),
        };
        let ttl = Duration::from_millis(ttl);
        let task = Running::new(self, &live, ttl);
        let following = lease.map(|_| self.follow(&live));
        live.lease.send_replace(lease);
        if lease.is_some() {
            self.renew_leases();
        }
        let leased = lease::leased(live.clone(), work);
        let running = tokio::spawn(async move {
            let _following = following;
            let finished = tokio::time::timeout(ttl, leased).await.unwrap_or_else(|_| {
                Finished::Error(RpcError::internal("the task did not complete within its time to live"))
            });
            task.finish(finished).await;
        });
        live.set_abort(running.abort_handle());
        self.draining.note();
    }

    /// Finds a task of this owner. While it runs in this process, it is found even if the store is unavailable.
    pub(crate) async fn get(self: &Arc<Self>, by: &dyn Access, id: &str) -> Result<Record, RpcError> {
        let ran = runs_here(id);
        let found = match (self.store.get(id).await, self.live(id)) {
            (Ok(found), live) => found.or_else(|| live?.record()),
            (Err(error), Some(live)) => {
                tracing::debug!(%error, task = id, "the task store failed; the task is read from memory");
                live.record()
            }
            (Err(error), None) => return Err(error.into()),
        };
        // Whether another owner's task exists is not disclosed.
        match found.filter(|r| r.owner.as_deref() == by.owner() && self.is_there(r)) {
            Some(own) => self.seen(by, own, ran).await,
            None => Err(RpcError::invalid_params(format!("there is no task `{id}`"))),
        }
    }

    /// Whether the time to live has not passed. A jump of the clock does not end a running task.
    fn is_there(&self, record: &Record) -> bool {
        record.expires() > clock::now() || self.live(&record.id).is_some()
    }

    /// A page of the owner's tasks; `None` if the cursor is unknown.
    pub(crate) async fn list(
        self: &Arc<Self>,
        by: &dyn Access,
        after: Option<&str>,
        most: usize,
    ) -> Result<Option<Vec<Record>>, RpcError> {
        self.purge().await;
        let ran = running();
        let Some(page) = self.store.list(by.owner(), after, most).await? else { return Ok(None) };
        let mut seen = Vec::with_capacity(page.len());
        for record in page {
            let ran = ran.contains(&record.id);
            seen.push(self.seen(by, record, ran).await?);
        }
        Ok(Some(seen))
    }

    /// Notifies of the end of a task whose outcome is not stored yet.
    fn announce(&self, live: &Live) {
        // Another replica may end the task otherwise.
        let exclusive = self.store.is_exclusive();
        let Some(record) = live.record().filter(|r| exclusive && !r.status.is_terminal()) else { return };
        let record = with_outcome(record, live);
        (live.on_change)(&record, Changed::Status);
        live.set_record(record);
        live.changes.send_modify(|count| *count += 1);
    }

    /// Cancels a task, in the store first: its process finds it there. `None` if it had ended already.
    pub(crate) async fn cancel(self: &Arc<Self>, by: &dyn Access, id: &str) -> Result<Option<Record>, RpcError> {
        if self.get(by, id).await?.status.is_terminal() {
            return Ok(None);
        }
        let runs_here = self.live(id).is_some();
        let cancelled = self.complete(id, Change::Cancelled).await?;
        if let Some(record) = &cancelled {
            tracing::info!(task = id, "task cancelled");
            if !runs_here {
                by.notify(record);
            }
        }
        Ok(cancelled)
    }

    /// Makes a change that completes even if the request for it is dropped: a running task must not miss it.
    pub(crate) async fn complete(self: &Arc<Self>, id: &str, change: Change) -> Result<Option<Record>, RpcError> {
        let (engine, id) = (self.clone(), id.to_owned());
        let changed = tokio::spawn(async move { engine.change(&id, change).await }).await;
        changed.unwrap_or_else(|e| Err(RpcError::internal(e.to_string())))
    }

    /// The task, if it runs in this process.
    pub(crate) fn live(&self, id: &str) -> Option<Arc<Live>> {
        self.lock().get(id).cloned()
    }

    fn has_room(&self) -> bool {
        self.lock().len() < self.limits.running
    }

    /// Waits for the end of a task.
    #[cfg(feature = "client")]
    pub(crate) async fn finished(self: &Arc<Self>, by: &dyn Access, id: &str) -> Result<Record, RpcError> {
        loop {
            let changes = self.subscribe(id);
            let record = self.get(by, id).await?;
            if record.status.is_terminal() {
                return Ok(record);
            }
            self.changed(changes, &record).await;
        }
    }

    fn forget(&self, live: &Live) {
        let mut running = self.lock();
        // A later run of the same task stays.
        if running.get(&live.id).is_some_and(|known| known.generation == live.generation) {
            running.remove(&live.id);
        }
        drop(running);
        self.draining.note();
    }

    async fn purge(&self) {
        let (now, last) = (clock::now(), self.purged.load(Ordering::Relaxed));
        // A running task ends with its time to live, so it expires early only after a jump of the clock. It stays until
        // it ends.
        let expired = self.lock().values().any(|live| live.expires() <= now);
        if now >= last.saturating_add(PURGE_MILLIS) && !expired {
            self.purged.store(now, Ordering::Relaxed);
            if let Err(error) = self.store.purge(now).await {
                error.log("expired tasks cannot be deleted");
            }
        }
    }
}

/// A task that is being stored. Dropped before it is, it does not run.
struct Starting<'a> {
    engine: &'a Engine,
    live: Option<&'a Live>,
}

impl Starting<'_> {
    fn done(mut self) {
        self.live = None;
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        if let Some(live) = self.live {
            self.engine.forget(live);
        }
    }
}

/// A random id.
fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The record with an outcome that is not stored yet.
fn with_outcome(mut record: Record, live: &Live) -> Record {
    if let Some(outcome) = live.outcome() {
        record.apply(None, Change::Finished(outcome), clock::now());
    }
    record
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("limits", &self.limits).field("running", &self.lock().len()).finish()
    }
}
