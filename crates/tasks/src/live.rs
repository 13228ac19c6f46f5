//! A task while it runs: what it asks, and how it is stopped.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use couplet_core::{Backchannel, BoxFuture, JsonText};
use couplet_types::{InputRequest, RpcError};
use tokio::{
    sync::{oneshot, watch},
    task::AbortHandle,
};

use crate::{
    engine::Engine,
    record::{Change, Finished, Record},
};

/// Hears of every change of one task.
pub(crate) type Tell = Box<dyn Fn(&Record, bool) + Send + Sync>;

type Answer = Result<JsonText, RpcError>;

/// A task that runs in this process.
pub(crate) struct Live {
    pub(crate) id: String,
    pub(crate) tell: Tell,
    /// Counts changes, for those who wait for one.
    pub(crate) changes: watch::Sender<u64>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    asked: u64,
    waiting: HashMap<String, oneshot::Sender<Answer>>,
    /// What no client was asked yet, where a request asks and not a result.
    undelivered: VecDeque<(String, InputRequest)>,
    abort: Option<AbortHandle>,
    /// The task as it was last stored.
    record: Option<Record>,
    /// How it ended, before that is stored.
    outcome: Option<Finished>,
}

impl Live {
    pub(crate) fn new(id: String, tell: Tell) -> Self {
        Self { id, tell, changes: watch::Sender::new(0), state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_abort(&self, abort: AbortHandle) {
        self.lock().abort = Some(abort);
    }

    pub(crate) fn set_record(&self, record: Record) {
        self.lock().record = Some(record);
    }

    /// The task as it was last known.
    pub(crate) fn record(&self) -> Option<Record> {
        self.lock().record.clone()
    }

    /// When it expires, in milliseconds since 1970.
    pub(crate) fn expires(&self) -> u64 {
        self.lock().record.as_ref().map_or(u64::MAX, Record::expires)
    }

    pub(crate) fn set_outcome(&self, outcome: Finished) {
        self.lock().outcome = Some(outcome);
    }

    /// How it ended, if it did.
    pub(crate) fn outcome(&self) -> Option<Finished> {
        self.lock().outcome.clone()
    }

    /// Drops what runs.
    pub(crate) fn abort(&self) {
        if let Some(abort) = self.lock().abort.take() {
            abort.abort();
        }
    }

    /// A new question, under a key that no other one of the task has or will have.
    fn open(&self, ask: &InputRequest) -> (String, oneshot::Receiver<Answer>) {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        state.asked += 1;
        let key = format!("input-{}", state.asked);
        state.waiting.insert(key.clone(), sender);
        state.undelivered.push_back((key.clone(), ask.clone()));
        (key, receiver)
    }

    /// Whoever waits for an answer under a key.
    pub(crate) fn take(&self, key: &str) -> Option<oneshot::Sender<Answer>> {
        let mut state = self.lock();
        state.undelivered.retain(|(k, _)| k != key);
        state.waiting.remove(key)
    }

    /// The next question that no client was asked.
    pub(crate) fn undelivered(&self) -> Option<(String, InputRequest)> {
        self.lock().undelivered.pop_front()
    }

    /// A client went away before it answered: the next one is asked.
    pub(crate) fn redeliver(&self, key: String, ask: InputRequest) {
        let mut state = self.lock();
        if state.waiting.contains_key(&key) {
            state.undelivered.push_front((key, ask));
        }
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("id", &self.id).finish_non_exhaustive()
    }
}

/// How a task asks: the question becomes a part of the task, until somebody answers it.
pub(crate) struct Back {
    pub(crate) engine: Arc<Engine>,
    pub(crate) live: Arc<Live>,
}

impl Backchannel for Back {
    fn request(&self, ask: InputRequest) -> BoxFuture<'static, Answer> {
        let (engine, live) = (self.engine.clone(), self.live.clone());
        Box::pin(async move {
            let (key, answer) = live.open(&ask);
            let mut asked = AskedGuard { engine: engine.clone(), live: live.clone(), key: Some(key.clone()) };
            engine.change(&live.id, Change::Asked(key, ask)).await?;
            let answer = answer.await;
            asked.key = None;
            answer.unwrap_or_else(|_| Err(RpcError::internal("nobody will answer the task any more")))
        })
    }
}

/// Takes a question back that its asker does not wait for any more.
struct AskedGuard {
    engine: Arc<Engine>,
    live: Arc<Live>,
    key: Option<String>,
}

impl Drop for AskedGuard {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else { return };
        self.live.take(&key);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (engine, live) = (self.engine.clone(), self.live.clone());
            runtime.spawn(async move { drop(engine.change(&live.id, Change::Settled(key)).await) });
        }
    }
}
