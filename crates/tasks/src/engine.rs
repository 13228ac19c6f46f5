//! Runs tasks, for both roles: a server's tools, and a client's answers to elicitation and sampling requests.

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_core::BoxFuture;
use couplet_types::RpcError;

use crate::{
    bounded::Bounded,
    clock,
    finish::{Running, abandoned, running, runs_here},
    live::{Changed, Live, OnChange},
    record::{Change, Finished, Record},
    store::Store,
};

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
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            running: 256,
            ttl: Duration::from_secs(24 * 3600),
            poll_interval: Duration::from_millis(500),
            store: Duration::from_secs(10),
        }
    }
}

pub(crate) struct Engine {
    store: Bounded,
    pub(crate) limits: Limits,
    live: Mutex<HashMap<String, Arc<Live>>>,
    purged: AtomicU64,
}

/// The minimum interval between purges of expired tasks.
const PURGE_MILLIS: u64 = 10_000;

impl Engine {
    pub(crate) fn new(store: Arc<dyn Store>, limits: Limits) -> Self {
        Self { store: Bounded::new(store, limits.store), limits, live: Mutex::default(), purged: AtomicU64::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a task that is neither stored nor running yet.
    pub(crate) fn prepare(&self, on_change: OnChange) -> Result<Arc<Live>, RpcError> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).map_err(|e| RpcError::internal(e.to_string()))?;
        Ok(Arc::new(Live::new(URL_SAFE_NO_PAD.encode(bytes), on_change)))
    }

    /// Stores a task, then starts it.
    pub(crate) async fn start(
        self: &Arc<Self>,
        live: Arc<Live>,
        owner: Option<Arc<str>>,
        ttl: Option<u64>,
        work: BoxFuture<'static, Finished>,
    ) -> Result<Record, RpcError> {
        self.purge().await;
        let most = clock::millis(self.limits.ttl);
        let record = Record::new(
            live.id.clone(),
            owner,
            ttl.unwrap_or(most).min(most),
            clock::millis(self.limits.poll_interval).max(1),
        );
        {
            let mut running = self.lock();
            if running.len() >= self.limits.running {
                return Err(RpcError::internal(format!("{} tasks are running already; retry later", running.len())));
            }
            live.set_record(record.clone());
            running.insert(live.id.clone(), live.clone());
        }
        if let Err(error) = self.store.insert(record.clone(), Duration::ZERO).await {
            self.lock().remove(&live.id);
            return Err(error.into());
        }
        tracing::info!(task = record.id, owner = record.owner.as_deref(), "task started");
        let ttl = Duration::from_millis(record.ttl);
        let task = Running::new(self, &live, ttl);
        let running = tokio::spawn(async move {
            let finished = tokio::time::timeout(ttl, work).await.unwrap_or_else(|_| {
                Finished::Error(RpcError::internal("the task did not complete within its time to live"))
            });
            task.finish(finished).await;
        });
        live.set_abort(running.abort_handle());
        Ok(record)
    }

    /// Finds a task of this owner. While it runs in this process, it is found even if the store is unavailable.
    pub(crate) async fn get(&self, owner: Option<&str>, id: &str) -> Result<Record, RpcError> {
        let ran = runs_here(id);
        let found = match (self.store.get(id).await, self.live(id)) {
            (Ok(found), live) => found.or_else(|| live?.record()),
            (Err(error), Some(live)) => {
                tracing::warn!(%error, task = id, "the task store failed; the task is read from memory");
                live.record()
            }
            (Err(error), None) => return Err(error.into()),
        };
        let record = found.map(|record| self.seen(record, ran));
        // Whether another owner's task exists is not disclosed.
        let own = record.filter(|r| r.owner.as_deref() == owner && self.is_there(r));
        own.ok_or_else(|| RpcError::invalid_params(format!("there is no task `{id}`")))
    }

    /// Completes a stored record: its outcome may not be stored yet, and a task that no process runs has failed. `ran`
    /// is whether the task ran here before the record was read.
    fn seen(&self, record: Record, ran: bool) -> Record {
        if record.status.is_terminal() {
            return record;
        }
        match self.live(&record.id) {
            Some(live) => with_outcome(record, &live),
            None if self.store.is_exclusive() && !ran && !runs_here(&record.id) => abandoned(record),
            None => record,
        }
    }

    /// Whether the time to live has not passed. A jump of the clock does not end a running task.
    fn is_there(&self, record: &Record) -> bool {
        record.expires() > clock::now() || self.live(&record.id).is_some()
    }

    /// A page of the owner's tasks; `None` if the cursor is unknown.
    pub(crate) async fn list(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        most: usize,
    ) -> Result<Option<Vec<Record>>, RpcError> {
        self.purge().await;
        let ran = running();
        let page = self.store.list(owner, after, most).await?;
        Ok(page
            .map(|page| page.into_iter().map(|r| (ran.contains(&r.id), r)).map(|(ran, r)| self.seen(r, ran)).collect()))
    }

    /// Changes a task and notifies of the change.
    pub(crate) async fn change(&self, id: &str, change: Change) -> Result<Option<Record>, RpcError> {
        let changed = if matches!(change, Change::Message(_)) { Changed::Message } else { Changed::Status };
        let record = self.store.change(id, None, change).await?;
        if let (Some(record), Some(live)) = (&record, self.live(id)) {
            live.set_record(record.clone());
            (live.on_change)(record, changed);
            live.changes.send_modify(|count| *count += 1);
        }
        Ok(record)
    }

    /// Notifies of the end of a task whose outcome is not stored yet.
    pub(crate) fn announce(&self, live: &Live) {
        let Some(record) = live.record().filter(|record| !record.status.is_terminal()) else { return };
        let record = with_outcome(record, live);
        (live.on_change)(&record, Changed::Status);
        live.set_record(record);
        live.changes.send_modify(|count| *count += 1);
    }

    /// Cancels a task, in the store first. `None` if it had ended already.
    pub(crate) async fn cancel(&self, owner: Option<&str>, id: &str) -> Result<Option<Record>, RpcError> {
        if self.get(owner, id).await?.status.is_terminal() {
            return Ok(None);
        }
        let cancelled = self.change(id, Change::Cancelled).await?;
        if let Some(live) = self.live(id).filter(|_| cancelled.is_some()) {
            tracing::info!(task = id, "task cancelled");
            live.abort();
            self.forget(&live);
        }
        Ok(cancelled)
    }

    /// The task, if it runs in this process.
    pub(crate) fn live(&self, id: &str) -> Option<Arc<Live>> {
        self.lock().get(id).cloned()
    }

    /// Waits for the end of a task.
    #[cfg(feature = "client")]
    pub(crate) async fn finished(&self, owner: Option<&str>, id: &str) -> Result<Record, RpcError> {
        loop {
            let change = self.next_change(id);
            let record = self.get(owner, id).await?;
            if record.status.is_terminal() {
                return Ok(record);
            }
            change.await;
        }
    }

    /// Waits for the next change of a task after this call.
    pub(crate) fn next_change(&self, id: &str) -> impl Future<Output = ()> + use<> {
        let (changes, pause) = (self.live(id).map(|live| live.changes.subscribe()), self.limits.poll_interval);
        async move {
            match changes {
                // A dropped sender means that the task has ended.
                Some(mut changes) => drop(changes.changed().await),
                None => tokio::time::sleep(pause).await,
            }
        }
    }

    pub(crate) fn forget(&self, live: &Live) {
        self.lock().remove(&live.id);
    }

    async fn purge(&self) {
        let (now, last) = (clock::now(), self.purged.load(Ordering::Relaxed));
        // A running task ends with its time to live, so it expires early only after a jump of the clock. It stays until
        // it ends.
        let expired = self.lock().values().any(|live| live.expires() <= now);
        if now >= last.saturating_add(PURGE_MILLIS) && !expired {
            self.purged.store(now, Ordering::Relaxed);
            if let Err(error) = self.store.purge(now).await {
                tracing::warn!(%error, "expired tasks cannot be deleted");
            }
        }
    }
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
