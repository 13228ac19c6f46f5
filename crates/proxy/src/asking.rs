//! What a server with a session says on its own, and the call that it is taken to be about.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use couplet_core::JsonText;
use couplet_types::{
    ClientCapabilities, ElicitationCapability, InputRequest, LogParams, RawJson, RootsCapability, RpcError,
    SamplingCapability,
};
use tokio::sync::{Mutex as Turns, MutexGuard, mpsc, oneshot};

/// Something that a call hears of beside its own events.
pub(crate) enum Aside {
    Question(InputRequest, oneshot::Sender<Result<JsonText, RpcError>>),
    Log(LogParams),
}

/// Which call the server speaks about. It does not say, so it is told only while there is just one.
#[derive(Default)]
pub(crate) struct Asking {
    turns: Turns<()>,
    running: Mutex<Vec<(u64, mpsc::Sender<Aside>)>>,
    last: AtomicU64,
}

impl Asking {
    /// How many log messages may wait for a call to pass them on.
    const ROOM: usize = 256;

    /// Everything that can be asked. Whether whoever calls can answer is seen when it is.
    pub(crate) fn capabilities() -> ClientCapabilities {
        let mut elicitation = ElicitationCapability::new();
        elicitation.form = Some(RawJson::empty_object());
        elicitation.url = Some(RawJson::empty_object());
        let mut sampling = SamplingCapability::new();
        sampling.tools = Some(RawJson::empty_object());
        let roots = RootsCapability::new().list_changed(true);
        ClientCapabilities::new().elicitation(elicitation).sampling(sampling).roots(roots)
    }

    /// A call that hears what the server says on its own. Where it asks on its own, one call runs at a time.
    pub(crate) async fn listen(&self, alone: bool) -> Listening<'_> {
        let turn = if alone { Some(self.turns.lock().await) } else { None };
        let (sender, asides) = mpsc::channel(Self::ROOM);
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        self.running().push((id, sender));
        Listening { asides, asking: self, id, _turn: turn }
    }

    /// Lets the call that the server speaks about answer.
    pub(crate) async fn pass_on(&self, question: InputRequest) -> Result<JsonText, RpcError> {
        let nobody = || RpcError::internal("nobody is there to answer");
        let (answer, answered) = oneshot::channel();
        let only = self.only().ok_or_else(nobody)?;
        only.send(Aside::Question(question, answer)).await.map_err(|_| nobody())?;
        answered.await.unwrap_or_else(|_| Err(nobody()))
    }

    /// Tells the call that the server speaks about of a log message.
    pub(crate) fn tell(&self, line: LogParams) {
        match self.only() {
            // Of too many, the last ones are lost.
            Some(only) => drop(only.try_send(Aside::Log(line))),
            None => tracing::debug!("a log message belongs to no call, or to one of several, and is not passed on"),
        }
    }

    fn only(&self) -> Option<mpsc::Sender<Aside>> {
        match &**self.running() {
            [(_, only)] => Some(only.clone()),
            _ => None,
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Vec<(u64, mpsc::Sender<Aside>)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that listens, until it is dropped.
pub(crate) struct Listening<'a> {
    pub(crate) asides: mpsc::Receiver<Aside>,
    asking: &'a Asking,
    id: u64,
    _turn: Option<MutexGuard<'a, ()>>,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.asking.running().retain(|(id, _)| *id != self.id);
    }
}
