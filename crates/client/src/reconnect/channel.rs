//! The channel of a client that reconnects.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    task::{Context, Waker},
};

use bytes::Bytes;
use couplet_core::{Channel, Dialect, Error, ErrorKind, Event, Exchange, Inbound, Mailbox, Outgoing};
use couplet_types::{Listen, Request, RequestId};
use tokio::sync::watch;

use super::restore::{Session, Subscription};
use crate::sync::lock;

/// The client's handle: dropping it closes the connection.
pub(super) struct ReconnectingChannel(pub(super) Arc<Slot>);

impl Drop for ReconnectingChannel {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The slot for the current connection, and the requests that wait for the next one.
pub(super) struct Slot {
    last: AtomicI64,
    fail_fast: bool,
    closing: watch::Sender<bool>,
    state: Mutex<State>,
}

struct State {
    status: Status,
    /// The number of connections so far, so that a request knows which one it was sent on.
    generation: u64,
    dialect: Option<Dialect>,
    session: Session,
    subscriptions: Vec<(i64, Subscription)>,
    /// Requests that wait for the next connection.
    waiting: Vec<(i64, Mailbox)>,
    driver: Option<Waker>,
}

enum Status {
    Up(Arc<dyn Channel>),
    Down(Error),
    Over(Error),
}

impl Slot {
    /// The maximum number of requests that wait for a connection.
    const WAITING: usize = 1024;

    pub(super) fn new(channel: Arc<dyn Channel>, fail_fast: bool) -> Self {
        let state = State {
            status: Status::Up(channel),
            generation: 0,
            dialect: None,
            session: Session::default(),
            subscriptions: Vec::new(),
            waiting: Vec::new(),
            driver: None,
        };
        Self { last: AtomicI64::new(0), fail_fast, closing: watch::Sender::new(false), state: Mutex::new(state) }
    }

    pub(super) fn next_id(&self) -> RequestId {
        RequestId::Number(self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn open(self: &Arc<Self>, request: Outgoing) -> Exchange {
        let mut state = lock(&self.state);
        state.session.record(&request);
        let generation = state.generation;
        match &state.status {
            Status::Over(error) => Exchange::failed(error.clone()),
            Status::Up(channel) if request.method == Listen::METHOD => {
                let subscription = Subscription::new(channel.open(request.clone()), request);
                self.listen(&mut state, subscription)
            }
            Status::Up(channel) => {
                let channel = channel.clone();
                drop(state);
                let (slot, again) = (Arc::downgrade(self), request.clone());
                channel.open(request).rescued(move |error| match slot.upgrade() {
                    Some(slot) if error.is_closed() => slot.rescue(again, generation, error),
                    _ => Err(error),
                })
            }
            Status::Down(error) => {
                let error = error.clone();
                self.wait(&mut state, request, error).unwrap_or_else(Exchange::failed)
            }
        }
    }

    /// Handles a request whose connection was lost. One that was not sent waits for the next connection.
    fn rescue(self: &Arc<Self>, request: Outgoing, generation: u64, error: Error) -> Result<Exchange, Error> {
        let mut state = lock(&self.state);
        if *self.closing.borrow() || matches!(state.status, Status::Over(_)) {
            return Err(error);
        }
        if !error.is_unsent() {
            let what = format!("`{}` may have been executed: {error}", request.method);
            return Err(Error::new(error.kind(), what).with_source(error));
        }
        if generation == state.generation {
            // The driver has not noticed the lost connection yet.
            return self.wait(&mut state, request, error);
        }
        drop(state);
        Ok(self.open(request))
    }

    fn wait(self: &Arc<Self>, state: &mut State, request: Outgoing, why: Error) -> Result<Exchange, Error> {
        if self.fail_fast || state.waiting.len() >= Self::WAITING {
            let what = format!("there is no connection while reconnecting: {why}");
            return Err(Error::unsent(ErrorKind::Closed, what).with_source(why));
        }
        let RequestId::Number(id) = request.id else { return Err(why) };
        let mailbox = Mailbox::new();
        state.waiting.push((id, mailbox.clone()));
        let slot = Arc::downgrade(self);
        let cancel = {
            let slot = slot.clone();
            move || slot.upgrade().map_or((), |slot| slot.cancel(id))
        };
        let again = move |error: Error| match slot.upgrade() {
            Some(slot) if error.is_unsent() => Ok(slot.open(request)),
            _ => Err(error),
        };
        Ok(Exchange::new(mailbox, cancel).rescued(again))
    }

    fn listen(self: &Arc<Self>, state: &mut State, subscription: Subscription) -> Exchange {
        let RequestId::Number(id) = subscription.request.id else { return subscription.exchange.unwrap_or_else(no_id) };
        let mailbox = subscription.mailbox.clone();
        state.subscriptions.push((id, subscription));
        state.wake();
        let slot = Arc::downgrade(self);
        Exchange::new(mailbox, move || slot.upgrade().map_or((), |slot| slot.cancel(id)))
    }

    /// Removes a request that was cancelled. A subscription is dropped, which cancels it.
    fn cancel(&self, id: i64) {
        let mut state = lock(&self.state);
        state.waiting.retain(|(other, _)| *other != id);
        let at = state.subscriptions.iter().position(|(other, _)| *other == id);
        let gone = at.map(|at| state.subscriptions.swap_remove(at));
        drop(state);
        drop(gone);
    }

    fn close(&self) {
        self.closing.send_replace(true);
        let state = lock(&self.state);
        if let Status::Up(channel) = &state.status {
            let channel = channel.clone();
            drop(state);
            channel.close();
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Waits until the client closes the connection.
    pub(super) async fn closing(&self) {
        // The sender is here.
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }

    /// Returns the dialect and the session to restore; `None` before negotiation.
    pub(super) fn negotiated(&self) -> Option<(Dialect, Session)> {
        let state = lock(&self.state);
        state.dialect.clone().map(|dialect| (dialect, state.session.clone()))
    }

    /// Marks the connection as lost.
    pub(super) fn down(&self, why: Error) {
        let mut state = lock(&self.state);
        state.status = Status::Down(why);
        state.subscriptions.iter_mut().for_each(|(_, subscription)| subscription.lost());
    }

    /// Sets a new connection: subscriptions continue, and waiting requests are sent.
    pub(super) fn up(&self, channel: &Arc<dyn Channel>) {
        let mut state = lock(&self.state);
        state.status = Status::Up(channel.clone());
        state.generation += 1;
        for (_, subscription) in &mut state.subscriptions {
            subscription.restore(&**channel);
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        let back = Error::unsent(ErrorKind::Closed, "the connection was restored");
        waiting.into_iter().for_each(|(_, mailbox)| mailbox.put(Event::Failed(back.clone())));
    }

    /// Fails everything that waits: there are no more attempts.
    pub(super) fn over(&self, why: &Error) {
        let mut state = lock(&self.state);
        if matches!(state.status, Status::Over(_)) {
            return;
        }
        state.status = Status::Over(why.clone());
        let subscriptions = std::mem::take(&mut state.subscriptions).into_iter().map(|(_, s)| s.mailbox);
        let waiting = std::mem::take(&mut state.waiting).into_iter().map(|(_, mailbox)| mailbox);
        let all: Vec<_> = subscriptions.chain(waiting).collect();
        drop(state);
        all.into_iter().for_each(|mailbox| mailbox.put(Event::Failed(why.clone())));
    }

    /// Delivers the events of subscriptions.
    pub(super) fn poll_subscriptions(&self, cx: &mut Context<'_>, inbound: &dyn Inbound) {
        let mut events = Vec::new();
        {
            let mut state = lock(&self.state);
            if !state.driver.as_ref().is_some_and(|driver| driver.will_wake(cx.waker())) {
                state.driver = Some(cx.waker().clone());
            }
            state.subscriptions.retain_mut(|(_, subscription)| subscription.poll(cx, &mut events));
        }
        for (mailbox, event, is_synthetic) in events {
            if let (Event::Notification { method, params }, true) = (&event, is_synthetic) {
                inbound.overhear(method, params);
            }
            mailbox.put(event);
        }
    }
}

impl State {
    fn wake(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }
}

fn no_id() -> Exchange {
    Exchange::failed(Error::new(ErrorKind::Config, "the id is not from this channel"))
}

impl Channel for ReconnectingChannel {
    fn next_id(&self) -> RequestId {
        self.0.next_id()
    }

    fn open(&self, request: Outgoing) -> Exchange {
        self.0.open(request)
    }

    /// Dropped without a connection: a new server does not need it.
    fn notify(&self, text: Bytes) {
        if let Some(channel) = self.0.channel() {
            channel.notify(text);
        }
    }

    fn agree(&self, dialect: &Dialect) {
        lock(&self.0.state).dialect = Some(dialect.clone());
        if let Some(channel) = self.0.channel() {
            channel.agree(dialect);
        }
    }

    fn close(&self) {
        self.0.close();
    }

    fn is_held_up(&self) -> bool {
        self.0.channel().is_some_and(|channel| channel.is_held_up())
    }

    fn note(&self) -> Option<String> {
        self.0.channel().and_then(|channel| channel.note())
    }

    fn transport(&self) -> Option<&'static str> {
        self.0.channel().and_then(|channel| channel.transport())
    }
}

impl Slot {
    fn channel(&self) -> Option<Arc<dyn Channel>> {
        match &lock(&self.state).status {
            Status::Up(channel) => Some(channel.clone()),
            Status::Down(_) | Status::Over(_) => None,
        }
    }
}
