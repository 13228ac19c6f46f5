//! The input requests of a running task: elicitation and sampling requests of its handler.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use couplet_core::{Backchannel, BoxFuture, JsonText};
use couplet_types::{InputRequest, RpcError};
use tokio::sync::oneshot;

use crate::{engine::Engine, live::Live, record::Change};

type Answer = Result<JsonText, RpcError>;

/// The open input requests of one task.
#[derive(Default)]
pub(crate) struct OpenInputs(Mutex<State>);

#[derive(Default)]
struct State {
    /// The number of requests so far.
    opened: u64,
    waiting: HashMap<String, oneshot::Sender<Answer>>,
    /// Input requests that were not delivered to a client yet, where they are delivered as requests.
    undelivered: VecDeque<(String, InputRequest)>,
}

impl OpenInputs {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens an input request under a key that is unique within the task.
    fn open(&self, ask: &InputRequest) -> (String, oneshot::Receiver<Answer>) {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        state.opened += 1;
        let key = format!("input-{}", state.opened);
        state.waiting.insert(key.clone(), sender);
        state.undelivered.push_back((key.clone(), ask.clone()));
        (key, receiver)
    }

    /// Removes the sender for the answer to an input request.
    pub(crate) fn take(&self, key: &str) -> Option<oneshot::Sender<Answer>> {
        let mut state = self.lock();
        state.undelivered.retain(|(k, _)| k != key);
        state.waiting.remove(key)
    }

    /// The next undelivered input request.
    pub(crate) fn undelivered(&self) -> Option<(String, InputRequest)> {
        self.lock().undelivered.pop_front()
    }

    /// Puts an input request back whose client disconnected before it answered, for the next client.
    pub(crate) fn redeliver(&self, key: String, ask: InputRequest) {
        let mut state = self.lock();
        if state.waiting.contains_key(&key) {
            state.undelivered.push_front((key, ask));
        }
    }
}

impl Engine {
    /// Answers an input request of a task. A key that is not open is ignored.
    pub(crate) async fn answer(
        &self,
        id: &str,
        key: String,
        answer: Result<JsonText, RpcError>,
    ) -> Result<(), RpcError> {
        let Some(waiting) = self.live(id).and_then(|live| live.inputs.take(&key)) else { return Ok(()) };
        self.change(id, Change::Settled(key)).await?;
        // The handler may have been dropped meanwhile.
        let _ = waiting.send(answer);
        Ok(())
    }
}

/// The backchannel of a task: an input request becomes part of the task until a client answers it.
pub(crate) struct Back {
    pub(crate) engine: Arc<Engine>,
    pub(crate) live: Arc<Live>,
}

impl Backchannel for Back {
    fn request(&self, ask: InputRequest) -> BoxFuture<'static, Answer> {
        let (engine, live) = (self.engine.clone(), self.live.clone());
        Box::pin(async move {
            let (key, answer) = live.inputs.open(&ask);
            let mut asked = AskedGuard { engine: engine.clone(), live: live.clone(), key: Some(key.clone()) };
            engine.change(&live.id, Change::Asked(key, ask)).await?;
            let answer = answer.await;
            asked.key = None;
            answer.unwrap_or_else(|_| Err(RpcError::internal("the input request of the task will not be answered")))
        })
    }
}

/// Closes an input request when the handler no longer waits for it.
struct AskedGuard {
    engine: Arc<Engine>,
    live: Arc<Live>,
    key: Option<String>,
}

impl Drop for AskedGuard {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else { return };
        self.live.inputs.take(&key);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (engine, live) = (self.engine.clone(), self.live.clone());
            runtime.spawn(async move { drop(engine.change(&live.id, Change::Settled(key)).await) });
        }
    }
}
