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
    clock,
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
}

impl Default for Limits {
    fn default() -> Self {
        Self { running: 256, ttl: Duration::from_secs(24 * 3600), poll_interval: Duration::from_millis(500) }
    }
}

pub(crate) struct Engine {
    store: Arc<dyn Store>,
    pub(crate) limits: Limits,
    live: Mutex<HashMap<String, Arc<Live>>>,
    purged: AtomicU64,
}

/// How often expired tasks are looked for.
const PURGE_MILLIS: u64 = 10_000;

impl Engine {
    pub(crate) fn new(store: Arc<dyn Store>, limits: Limits) -> Self {
        Self { store, limits, live: Mutex::default(), purged: AtomicU64::new(0) }
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
            running.insert(live.id.clone(), live.clone());
        }
        if let Err(error) = self.store.insert(record.clone()).await {
            self.lock().remove(&live.id);
            return Err(error.into());
        }
        tracing::info!(task = record.id, owner = record.owner.as_deref(), "a task begins");
        let (engine, task, ttl) = (self.clone(), live.clone(), Duration::from_millis(record.ttl));
        let running = tokio::spawn(async move {
            let finished = tokio::time::timeout(ttl, work).await.unwrap_or_else(|_| {
                Finished::Error(RpcError::internal("the task was not done when its time to live was over"))
            });
            if engine.change(&task.id, Change::Finished(finished)).await.is_err() {
                tracing::error!(task = task.id, "a task is over, and its result cannot be kept");
            }
            engine.forget(&task);
        });
        live.set_abort(running.abort_handle());
        Ok(record)
    }

    /// The task, if it is this owner's.
    pub(crate) async fn get(&self, owner: Option<&str>, id: &str) -> Result<Record, RpcError> {
        let record = self.store.get(id).await?;
        // Whether another's task exists is nobody's business.
        let own = record.filter(|r| r.owner.as_deref() == owner && r.expires() > clock::now());
        own.ok_or_else(|| RpcError::invalid_params(format!("there is no task `{id}`")))
    }

    /// A page of the owner's tasks; `None` if the cursor is not one.
    pub(crate) async fn list(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        most: usize,
    ) -> Result<Option<Vec<Record>>, RpcError> {
        self.purge().await;
        Ok(self.store.list(owner, after, most).await?)
    }

    /// Changes a task, and tells of it.
    pub(crate) async fn change(&self, id: &str, change: Change) -> Result<Option<Record>, RpcError> {
        let new_status = !matches!(change, Change::Message(_));
        let record = self.store.change(id, change).await?;
        if let (Some(record), Some(live)) = (&record, self.live(id)) {
            (live.tell)(record, new_status);
            live.changes.send_modify(|count| *count += 1);
        }
        Ok(record)
    }

    /// Cancels a task: first for those who look, then in fact. `None` if it was over already.
    pub(crate) async fn cancel(&self, owner: Option<&str>, id: &str) -> Result<Option<Record>, RpcError> {
        self.get(owner, id).await?;
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

    fn forget(&self, live: &Live) {
        self.lock().remove(&live.id);
    }

    async fn purge(&self) {
        let (now, last) = (clock::now(), self.purged.load(Ordering::Relaxed));
        if now >= last + PURGE_MILLIS {
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
