//! What runs tasks, whoever asked for them: a server for its tools, a client for what servers ask it.

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
use couplet_core::{BoxFuture, JsonText};
use couplet_types::RpcError;

use crate::{
    bounded::Bounded,
    clock,
    finish::{Running, abandoned, running, runs_here},
    live::{Live, Tell},
    record::{Change, Finished, Record},
    store::Store,
};

/// How far tasks may go.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// How many run at the same time.
    pub(crate) running: usize,
    /// For how long one is kept at most.
    pub(crate) ttl: Duration,
    /// How long to wait between two looks.
    pub(crate) poll_interval: Duration,
    /// How long one call of the store may take.
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

/// How often expired tasks are looked for.
const PURGE_MILLIS: u64 = 10_000;

impl Engine {
    pub(crate) fn new(store: Arc<dyn Store>, limits: Limits) -> Self {
        Self { store: Bounded::new(store, limits.store), limits, live: Mutex::default(), purged: AtomicU64::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A task that does not run yet, and that nobody can find.
    pub(crate) fn prepare(&self, tell: Tell) -> Result<Arc<Live>, RpcError> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).map_err(|e| RpcError::internal(e.to_string()))?;
        Ok(Arc::new(Live::new(URL_SAFE_NO_PAD.encode(bytes), tell)))
    }

    /// Keeps a task, and then runs it.
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
                return Err(RpcError::internal(format!("{} tasks are running; try again later", running.len())));
            }
            live.set_record(record.clone());
            running.insert(live.id.clone(), live.clone());
        }
        if let Err(error) = self.store.insert(record.clone()).await {
            self.lock().remove(&live.id);
            return Err(error.into());
        }
        tracing::info!(task = record.id, owner = record.owner.as_deref(), "a task begins");
        let ttl = Duration::from_millis(record.ttl);
        let task = Running::new(self, &live, ttl);
        let running = tokio::spawn(async move {
            let finished = tokio::time::timeout(ttl, work).await.unwrap_or_else(|_| {
                Finished::Error(RpcError::internal("the task was not done when its time to live was over"))
            });
            task.finish(finished).await;
        });
        live.set_abort(running.abort_handle());
        Ok(record)
    }

    /// The task, if it is this owner's. While it runs here, it is found even if the store does not answer.
    pub(crate) async fn get(&self, owner: Option<&str>, id: &str) -> Result<Record, RpcError> {
        let ran = runs_here(id);
        let found = match (self.store.get(id).await, self.live(id)) {
            (Ok(found), live) => found.or_else(|| live?.record()),
            (Err(error), Some(live)) => {
                tracing::warn!(%error, task = id, "the store cannot be reached; the task is known from memory");
                live.record()
            }
            (Err(error), None) => return Err(error.into()),
        };
        let record = found.map(|record| self.seen(record, ran));
        // Whether another owner's task exists is not disclosed.
        let own = record.filter(|r| r.owner.as_deref() == owner && self.is_there(r));
        own.ok_or_else(|| RpcError::invalid_params(format!("there is no task `{id}`")))
    }

    /// The task as it is: a result may not be stored yet, and what does not run any more has failed. `ran` if the task
    /// ran here before the record was read.
    fn seen(&self, mut record: Record, ran: bool) -> Record {
        if record.status.is_terminal() {
            return record;
        }
        match self.live(&record.id) {
            Some(live) => {
                if let Some(outcome) = live.outcome() {
                    record.apply(Change::Finished(outcome), clock::now());
                }
                record
            }
            None if self.store.is_exclusive() && !ran && !runs_here(&record.id) => abandoned(record),
            None => record,
        }
    }

    /// Whether its time to live is not over. A clock that is put forward does not end what runs.
    fn is_there(&self, record: &Record) -> bool {
        record.expires() > clock::now() || self.live(&record.id).is_some()
    }

    /// A page of the owner's tasks; `None` if the cursor is not one.
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

    /// Changes a task, and tells of it.
    pub(crate) async fn change(&self, id: &str, change: Change) -> Result<Option<Record>, RpcError> {
        let new_status = !matches!(change, Change::Message(_));
        let record = self.store.change(id, change).await?;
        if let (Some(record), Some(live)) = (&record, self.live(id)) {
            live.set_record(record.clone());
            (live.tell)(record, new_status);
            live.changes.send_modify(|count| *count += 1);
        }
        Ok(record)
    }

    /// Notifies of the end of a task whose result is not stored yet.
    pub(crate) fn announce(&self, live: &Live) {
        let Some(record) = live.record().filter(|record| !record.status.is_terminal()) else { return };
        let record = self.seen(record, true);
        (live.tell)(&record, true);
        live.set_record(record);
        live.changes.send_modify(|count| *count += 1);
    }

    /// Cancels a task: first for those who look, then in fact. `None` if it was over already.
    pub(crate) async fn cancel(&self, owner: Option<&str>, id: &str) -> Result<Option<Record>, RpcError> {
        if self.get(owner, id).await?.status.is_terminal() {
            return Ok(None);
        }
        let cancelled = self.change(id, Change::Cancelled).await?;
        if let Some(live) = self.live(id).filter(|_| cancelled.is_some()) {
            tracing::info!(task = id, "a task is cancelled");
            live.abort();
            self.forget(&live);
        }
        Ok(cancelled)
    }

    /// Answers a question of a task. One that is not open is ignored.
    pub(crate) async fn answer(
        &self,
        id: &str,
        key: String,
        answer: Result<JsonText, RpcError>,
    ) -> Result<(), RpcError> {
        let Some(waiting) = self.live(id).and_then(|live| live.take(&key)) else { return Ok(()) };
        self.change(id, Change::Settled(key)).await?;
        // A task that does not wait any more needs no answer.
        let _ = waiting.send(answer);
        Ok(())
    }

    /// The task while it runs in this process.
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

    /// Waits for the next change of a task, from the moment of this call on.
    pub(crate) fn next_change(&self, id: &str) -> impl Future<Output = ()> + use<> {
        let (changes, pause) = (self.live(id).map(|live| live.changes.subscribe()), self.limits.poll_interval);
        async move {
            match changes {
                // A sender that is gone is a task that is over.
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
        // What runs ends with its time to live, so it expires only when the clock is put forward. It stays until then.
        let expired = self.lock().values().any(|live| live.expires() <= now);
        if now >= last.saturating_add(PURGE_MILLIS) && !expired {
            self.purged.store(now, Ordering::Relaxed);
            if let Err(error) = self.store.purge(now).await {
                tracing::warn!(%error, "expired tasks cannot be forgotten");
            }
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("limits", &self.limits).field("running", &self.lock().len()).finish()
    }
}
