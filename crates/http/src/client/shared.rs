//! What a connection knows: who waits for what, and what there is to do.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Dialect, Error, ErrorKind, Event, Inbound, JsonText, Limits, Mailbox, Outgoing};
use couplet_types::{Cancelled, CancelledParams, Notification, RequestId, RpcError};
use tokio::sync::{Notify, watch};

use super::{address::Address, session::Session, tools::Tools};

/// What a server answers.
pub(crate) type Answer = Result<JsonText, RpcError>;

pub(crate) struct Shared {
    pub(crate) address: Address,
    pub(crate) inbound: Arc<dyn Inbound>,
    pub(crate) limits: Limits,
    pub(crate) tools: Tools,
    pub(crate) session: Mutex<Session>,
    /// Held while a lost session is replaced.
    pub(crate) renewal: tokio::sync::Mutex<()>,
    /// Whether the server knows that the session is open. Until then no request follows.
    pub(crate) ready: watch::Sender<bool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: i64,
    exchanges: HashMap<i64, Entry>,
    /// The server's requests that are being answered.
    questions: HashMap<RequestId, Arc<Notify>>,
    dialect: Option<Arc<Dialect>>,
    /// What the driver has to start.
    work: Vec<Work>,
    /// Notifications, in their order, and whether somebody is sending them.
    notes: VecDeque<Bytes>,
    sending: bool,
    end: Option<Result<(), Error>>,
    driver: Option<Waker>,
}

/// A request that waits for its answer.
struct Entry {
    mailbox: Mailbox,
    /// Ends the work on it.
    stop: Arc<Notify>,
    /// The id under which it was sent last.
    sent: RequestId,
    /// Whether the server is told that the answer is not wanted any more.
    told: bool,
}

/// What to do about a request of the server.
pub(crate) enum Turn {
    Answer(Arc<Notify>),
    /// There are too many.
    Refuse,
    /// It is being answered already, or there are too many even to say so.
    Ignore,
}

pub(crate) enum Work {
    /// It may be dropped when the connection is closed.
    Job(BoxFuture<'static, ()>),
    /// It is finished first.
    Mail(BoxFuture<'static, ()>),
}

impl Shared {
    pub(crate) fn new(address: Address, inbound: Arc<dyn Inbound>, limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            address,
            inbound,
            limits,
            tools: Tools::default(),
            session: Mutex::default(),
            renewal: tokio::sync::Mutex::new(()),
            ready: watch::Sender::new(true),
            state: Mutex::default(),
        })
    }

    pub(crate) fn next_id(&self) -> RequestId {
        let mut state = self.state();
        state.last += 1;
        RequestId::Number(state.last)
    }

    pub(crate) fn dialect(&self) -> Option<Arc<Dialect>> {
        self.state().dialect.clone()
    }

    pub(crate) fn agree(&self, dialect: &Dialect) {
        self.state().dialect = Some(Arc::new(dialect.clone()));
    }

    /// Begins to wait for an answer. The error is why none will come.
    pub(crate) fn expect(&self, key: i64, told: bool) -> Result<(Mailbox, Arc<Notify>), Error> {
        let mut state = self.state();
        if state.end.is_some() {
            return Err(Error::new(ErrorKind::Closed, "the connection is closed"));
        }
        let (mailbox, stop) = (Mailbox::new(), Arc::new(Notify::new()));
        let entry = Entry { mailbox: mailbox.clone(), stop: stop.clone(), sent: RequestId::Number(key), told };
        state.exchanges.insert(key, entry);
        Ok((mailbox, stop))
    }

    /// A request is sent again, under another id.
    fn sent_as(&self, key: i64, id: &RequestId) {
        if let Some(entry) = self.state().exchanges.get_mut(&key) {
            entry.sent = id.clone();
        }
    }

    /// The same request, under an id that was not used yet.
    pub(crate) fn again(&self, request: &Outgoing, key: i64) -> Outgoing {
        let mut again = request.clone();
        again.id = self.next_id();
        self.sent_as(key, &again.id);
        again
    }

    /// Where the events of a request go.
    pub(crate) fn mailbox(&self, key: &RequestId) -> Option<Mailbox> {
        let RequestId::Number(key) = key else { return None };
        self.state().exchanges.get(key).map(|e| e.mailbox.clone())
    }

    /// The end of a request.
    pub(crate) fn settle(&self, key: i64, event: Event) {
        let entry = self.state().exchanges.remove(&key);
        if let Some(entry) = entry {
            entry.mailbox.put(event);
        }
    }

    /// The end of the request that was sent under an id; false if there is none.
    pub(crate) fn settle_sent(&self, id: &RequestId, event: Event) -> bool {
        let key = self.state().exchanges.iter().find(|(_, e)| e.sent == *id).map(|(key, _)| *key);
        key.inspect(|key| self.settle(*key, event)).is_some()
    }

    /// The client does not want the answer any more.
    pub(crate) fn cancel(self: &Arc<Self>, key: i64) {
        let (entry, dialect) = {
            let mut state = self.state();
            (state.exchanges.remove(&key), state.dialect.clone())
        };
        let Some(entry) = entry else { return };
        entry.stop.notify_one();
        if let Some(dialect) = dialect.filter(|_| entry.told) {
            self.notify(dialect.notification(Cancelled::METHOD, &CancelledParams::new(entry.sent)));
        }
    }

    /// Begins to answer a request of the server, if there is room for one more.
    pub(crate) fn ask(&self, id: &RequestId) -> Turn {
        let mut state = self.state();
        let open = state.questions.len();
        if state.questions.contains_key(id) || open >= self.limits.running + self.limits.queue {
            return Turn::Ignore;
        }
        let stop = Arc::new(Notify::new());
        state.questions.insert(id.clone(), stop.clone());
        if open < self.limits.running { Turn::Answer(stop) } else { Turn::Refuse }
    }

    /// A request of the server was answered, or taken back.
    pub(crate) fn asked(&self, id: &RequestId) -> Option<Arc<Notify>> {
        self.state().questions.remove(id)
    }

    /// Sends a notification, after those before it.
    pub(crate) fn notify(self: &Arc<Self>, text: Bytes) {
        let mut state = self.state();
        if state.end.is_some() {
            return;
        }
        if state.notes.len() >= self.limits.queue {
            return tracing::warn!("too many notifications wait to be sent; one is left out");
        }
        state.notes.push_back(text);
        if !std::mem::replace(&mut state.sending, true) {
            state.start(Work::Mail(Box::pin(self.clone().send_notes())));
        }
    }

    /// The next notification to send; after a `None` somebody else will be asked to send them.
    pub(crate) fn next_note(&self) -> Option<Bytes> {
        let mut state = self.state();
        let note = state.notes.pop_front();
        state.sending = note.is_some();
        note
    }

    /// Lets the driver do something.
    pub(crate) fn spawn(&self, job: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.state();
        if state.end.is_none() {
            state.start(Work::Job(Box::pin(job)));
        }
    }

    /// What the driver has to start, and whether it is the last of it.
    pub(crate) fn work(&self, driver: &Waker) -> (Vec<Work>, Option<Result<(), Error>>) {
        let mut state = self.state();
        state.driver = Some(driver.clone());
        (std::mem::take(&mut state.work), state.end.clone())
    }

    /// Ends the connection: whoever waits is told. Only the first reason counts.
    pub(crate) fn end(&self, end: Result<(), Error>) {
        let waiting = {
            let mut state = self.state();
            if state.end.is_some() {
                return;
            }
            state.end = Some(end.clone());
            state.wake();
            std::mem::take(&mut state.exchanges)
        };
        let why = end.err().unwrap_or_else(|| Error::new(ErrorKind::Closed, "the connection is closed"));
        for entry in waiting.into_values() {
            entry.mailbox.put(Event::Failed(why.clone()));
        }
    }

    /// Nobody will do anything any more.
    pub(crate) fn forget_work(&self) {
        let (work, notes) = {
            let mut state = self.state();
            (std::mem::take(&mut state.work), std::mem::take(&mut state.notes))
        };
        drop((work, notes));
    }

    pub(crate) fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn start(&mut self, work: Work) {
        self.work.push(work);
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("waiting", &self.state().exchanges.len()).finish_non_exhaustive()
    }
}

/// Works until it is told to stop; `None` if that came first.
pub(crate) async fn unless<T>(stop: &Notify, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut stopped) = (pin!(work), pin!(stop.notified()));
    poll_fn(|cx| {
        if stopped.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        work.as_mut().poll(cx).map(Some)
    })
    .await
}
