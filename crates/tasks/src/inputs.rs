//! The input requests of a running task: elicitation and sampling requests of its handler.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard},
};

use couplet_core::{Backchannel, BoxFuture, Journal, JsonText, sync::lock};
use couplet_types::{InputRequest, RpcError};
use tokio::sync::oneshot;

use crate::{
    engine::{Access, Engine, Live},
    record::{self, Change, Response},
};

type Answer = Result<JsonText, RpcError>;

impl From<&Response> for Answer {
    fn from(response: &Response) -> Self {
        match response {
            Response::Result(result) => Ok(JsonText::from(result)),
            Response::Error(error) => Err(error.clone()),
        }
    }
}

impl From<Answer> for Response {
    fn from(answer: Answer) -> Self {
        answer.map_or_else(Self::Error, |result| Self::Result(result.to_raw()))
    }
}

/// The input requests that the handler of one task waits for.
#[derive(Default)]
pub(crate) struct OpenInputs(Mutex<State>);

#[derive(Default)]
struct State {
    /// The number of requests so far.
    opened: u64,
    waiting: HashMap<String, oneshot::Sender<Response>>,
}

impl OpenInputs {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    /// The key of the next input request: unique within the task, and the same in a later run.
    fn next_key(&self) -> String {
        let mut state = self.lock();
        state.opened += 1;
        format!("input-{}", state.opened)
    }

    /// Waits for the answer to an input request.
    fn open(&self, key: &str) -> oneshot::Receiver<Response> {
        let (sender, receiver) = oneshot::channel();
        self.lock().waiting.insert(key.to_owned(), sender);
        receiver
    }

    fn close(&self, key: &str) {
        self.lock().waiting.remove(key);
    }

    /// Hands answers to the handler.
    pub(crate) fn deliver(&self, answers: &[record::Answer]) {
        for answer in answers {
            let waiting = self.lock().waiting.remove(&answer.key);
            if let Some(waiting) = waiting {
                // The handler may have been dropped meanwhile.
                let _ = waiting.send(answer.response.clone());
            }
        }
    }
}

impl Engine {
    /// Answers an input request of a task, wherever the task runs. A key that is not open is ignored.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        by: &dyn Access,
        id: &str,
        key: String,
        answer: Answer,
    ) -> Result<(), RpcError> {
        let runs_here = self.live(id).is_some();
        if let Some(record) = self.complete(id, Change::Answered(key, answer.into())).await?
            && !runs_here
        {
            by.notify(&record);
        }
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
            let key = live.inputs.next_key();
            if let Some(known) = live.replayed(&key, &ask)? {
                return known.into();
            }
            let answer = live.inputs.open(&key);
            let mut asked = AskedGuard { engine: engine.clone(), live: live.clone(), key: Some(key.clone()) };
            match live.record().filter(|record| record.input(&key).is_some()) {
                // An earlier run opened it.
                Some(record) => live.inputs.deliver(&record.answers),
                None => drop(engine.change_by(&live, Change::Asked(key.clone(), ask)).await?),
            }
            let answer = answer.await;
            asked.key = None;
            let closed = |_| RpcError::internal("the input request of the task will not be answered");
            let answer = answer.map_err(closed)?;
            engine.persist(&live, Change::Settled(key)).await;
            (&answer).into()
        })
    }

    fn journal(&self) -> Option<&dyn Journal> {
        self.live.journal.is_some().then_some(self)
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
        self.live.inputs.close(&key);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (engine, live) = (self.engine.clone(), self.live.clone());
            runtime.spawn(async move { drop(engine.change_by(&live, Change::Settled(key)).await) });
        }
    }
}

/// The input requests that are being delivered as requests to a client: each to one client of this process at a time.
#[derive(Debug, Default)]
pub(crate) struct Deliveries(Mutex<BTreeSet<(String, String)>>);

impl Deliveries {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<(String, String)>> {
        lock(&self.0)
    }

    /// Begins a delivery by task and key; `false` if there is one.
    pub(crate) fn begin(&self, id: &str, key: &str) -> bool {
        self.lock().insert((id.to_owned(), key.to_owned()))
    }

    pub(crate) fn end(&self, id: &str, key: &str) {
        self.lock().remove(&(id.to_owned(), key.to_owned()));
    }
}
