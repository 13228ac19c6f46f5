//! The state of a connection: its requests, and the work for its driver.

use std::{
    collections::VecDeque,
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Poll, Waker},
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error, ErrorKind, Inbound, JsonText, Limits, Outgoing, Router, sync::lock};
use couplet_types::{Cancelled, CancelledParams, Notification, RpcError};
use tokio::sync::{Notify, watch};

use super::{address::Address, session::Session, tools::Tools};

/// The answer of a server.
pub(crate) type Answer = Result<JsonText, RpcError>;

pub(crate) struct Shared {
    pub(crate) address: Address,
    pub(crate) router: Router,
    pub(crate) tools: Tools,
    pub(crate) session: Mutex<Session>,
    /// Held while a lost session is replaced.
    pub(crate) renewal: tokio::sync::Mutex<()>,
    /// Whether the server was notified that the session is open. Until then no request is sent.
    pub(crate) ready: watch::Sender<bool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Work for the driver to start.
    work: Vec<Work>,
    /// Notifications, in their order, and whether a job is sending them.
    notes: VecDeque<Bytes>,
    sending: bool,
    end: Option<Result<(), Error>>,
    driver: Option<Waker>,
}

pub(crate) enum Work {
    /// A job that is dropped when the connection is closed.
    Job(BoxFuture<'static, ()>),
    /// A job that is finished first.
    Mail(BoxFuture<'static, ()>),
}

impl Shared {
    pub(crate) fn new(address: Address, inbound: Arc<dyn Inbound>, limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            address,
            router: Router::new(inbound, limits),
            tools: Tools::default(),
            session: Mutex::default(),
            renewal: tokio::sync::Mutex::new(()),
            ready: watch::Sender::new(true),
            state: Mutex::default(),
        })
    }

    /// Returns the same request under an id that was not used yet.
    pub(crate) fn again(&self, request: &Outgoing, key: i64) -> Outgoing {
        let mut again = request.clone();
        again.id = self.router.resend(key);
        again
    }

    /// Cancels a request of the client, and notifies the server where it has to know.
    pub(crate) fn cancel(self: &Arc<Self>, key: i64) {
        if let Some(id) = self.router.cancel(key)
            && let Some(dialect) = self.router.dialect()
        {
            self.notify(dialect.notification(Cancelled::METHOD, &CancelledParams::new(id)));
        }
    }

    /// Sends a notification, after the ones before it.
    pub(crate) fn notify(self: &Arc<Self>, text: Bytes) {
        let mut state = lock(&self.state);
        if state.end.is_some() {
            return;
        }
        if state.notes.len() >= self.router.limits().queue {
            drop(state);
            return tracing::warn!("too many notifications wait to be sent; one is left out");
        }
        state.notes.push_back(text);
        let idle = !std::mem::replace(&mut state.sending, true);
        drop(state);
        if idle {
            self.start(Work::Mail(Box::pin(self.clone().send_notes())));
        }
    }

    /// Returns the next notification to send; after `None` another job is started for the next ones.
    pub(crate) fn next_note(&self) -> Option<Bytes> {
        let mut state = lock(&self.state);
        let note = state.notes.pop_front();
        state.sending = note.is_some();
        note
    }

    /// Starts a job, unless the connection has ended.
    pub(crate) fn spawn(&self, job: impl Future<Output = ()> + Send + 'static) {
        self.start(Work::Job(Box::pin(job)));
    }

    fn start(&self, work: Work) {
        let mut state = lock(&self.state);
        if state.end.is_some() {
            drop(state);
            return drop(work);
        }
        state.work.push(work);
        let driver = state.driver.take();
        drop(state);
        wake(driver);
    }

    /// Takes the work for the driver to start, and the end of the connection if it has come.
    pub(crate) fn work(&self, driver: &Waker) -> (Vec<Work>, Option<Result<(), Error>>) {
        let mut state = lock(&self.state);
        state.driver = Some(driver.clone());
        (std::mem::take(&mut state.work), state.end.clone())
    }

    /// Ends the connection, and fails the requests that wait for an answer. Only the first reason counts.
    pub(crate) fn end(&self, end: Result<(), Error>) {
        let mut state = lock(&self.state);
        if state.end.is_some() {
            return;
        }
        state.end = Some(end.clone());
        let driver = state.driver.take();
        drop(state);
        wake(driver);
        let why = end.err().unwrap_or_else(|| Error::new(ErrorKind::Closed, "the connection is closed"));
        self.router.fail_all(|_| why.clone());
    }

    /// Drops the work that was not started.
    pub(crate) fn forget_work(&self) {
        let (work, notes) = {
            let mut state = lock(&self.state);
            (std::mem::take(&mut state.work), std::mem::take(&mut state.notes))
        };
        drop((work, notes));
    }

    pub(crate) fn session(&self) -> MutexGuard<'_, Session> {
        lock(&self.session)
    }
}

fn wake(driver: Option<Waker>) {
    if let Some(driver) = driver {
        driver.wake();
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("router", &self.router).finish_non_exhaustive()
    }
}

/// Runs `work` until `stop` is notified; `None` if that came first.
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
