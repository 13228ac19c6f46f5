//! The channel of a client whose connection comes and goes.

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

use super::restore::{Listening, Session};
use crate::sync::lock;

/// The client's end: dropping it closes the connection.
pub(super) struct Outer(pub(super) Arc<Line>);

impl Drop for Outer {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// One connection after the other.
pub(super) struct Line {
    last: AtomicI64,
    fail_fast: bool,
    closing: watch::Sender<bool>,
    state: Mutex<State>,
}

struct State {
    now: Now,
    /// How many connections there were: a request knows which one it was sent on.
    generation: u64,
    dialect: Option<Dialect>,
    session: Session,
    listening: Vec<(i64, Listening)>,
    /// Requests that wait for the next connection.
    waiting: Vec<(i64, Mailbox)>,
    driver: Option<Waker>,
}

enum Now {
    Up(Arc<dyn Channel>),
    Down(Error),
    Over(Error),
}

impl Line {
    /// How many requests may wait for a connection.
    const WAITING: usize = 1024;

    pub(super) fn new(channel: Arc<dyn Channel>, fail_fast: bool) -> Self {
        let state = State {
            now: Now::Up(channel),
            generation: 0,
            dialect: None,
            session: Session::default(),
            listening: Vec::new(),
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
        state.session.remember(&request);
        let generation = state.generation;
        match &state.now {
            Now::Over(error) => Exchange::failed(error.clone()),
            Now::Up(channel) if request.method == Listen::METHOD => {
                let listening = Listening::new(channel.open(request.clone()), request);
                self.listen(&mut state, listening)
            }
            Now::Up(channel) => {
                let channel = channel.clone();
                drop(state);
                let (line, again) = (Arc::downgrade(self), request.clone());
                channel.open(request).rescued(move |error| match line.upgrade() {
                    Some(line) if error.is_closed() => line.rescue(again, generation, error),
                    _ => Err(error),
                })
            }
            Now::Down(error) => {
                let error = error.clone();
                self.wait(&mut state, request, error).unwrap_or_else(Exchange::failed)
            }
        }
    }

    /// What becomes of a request whose connection was lost: one that was not sent waits for the next connection.
    fn rescue(self: &Arc<Self>, request: Outgoing, generation: u64, error: Error) -> Result<Exchange, Error> {
        let mut state = lock(&self.state);
        if *self.closing.borrow() || matches!(state.now, Now::Over(_)) {
            return Err(error);
        }
        if !error.is_unsent() {
            let what = format!("whether `{}` was carried out is not known: {error}", request.method);
            return Err(Error::new(error.kind(), what).with_source(error));
        }
        if generation == state.generation {
            // The driver has not seen yet that this connection is over.
            return self.wait(&mut state, request, error);
        }
        drop(state);
        Ok(self.open(request))
    }

    fn wait(self: &Arc<Self>, state: &mut State, request: Outgoing, why: Error) -> Result<Exchange, Error> {
        if self.fail_fast || state.waiting.len() >= Self::WAITING {
            let what = format!("there is no connection until it is restored: {why}");
            return Err(Error::unsent(ErrorKind::Closed, what).with_source(why));
        }
        let RequestId::Number(id) = request.id else { return Err(why) };
        let mailbox = Mailbox::new();
        state.waiting.push((id, mailbox.clone()));
        let line = Arc::downgrade(self);
        let cancel = {
            let line = line.clone();
            move || line.upgrade().map_or((), |line| line.forget(id))
        };
        let again = move |error: Error| match line.upgrade() {
            Some(line) if error.is_unsent() => Ok(line.open(request)),
            _ => Err(error),
        };
        Ok(Exchange::new(mailbox, cancel).rescued(again))
    }

    fn listen(self: &Arc<Self>, state: &mut State, listening: Listening) -> Exchange {
        let RequestId::Number(id) = listening.request.id else { return listening.exchange.unwrap_or_else(no_id) };
        let mailbox = listening.mailbox.clone();
        state.listening.push((id, listening));
        state.wake();
        let line = Arc::downgrade(self);
        Exchange::new(mailbox, move || line.upgrade().map_or((), |line| line.forget(id)))
    }

    /// A request is not wanted any more. A subscription is dropped, which cancels it.
    fn forget(&self, id: i64) {
        let mut state = lock(&self.state);
        state.waiting.retain(|(other, _)| *other != id);
        let at = state.listening.iter().position(|(other, _)| *other == id);
        let gone = at.map(|at| state.listening.swap_remove(at));
        drop(state);
        drop(gone);
    }

    fn close(&self) {
        self.closing.send_replace(true);
        let state = lock(&self.state);
        if let Now::Up(channel) = &state.now {
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

    /// How both sides speak, and what a new session has to be told; `None` before they have agreed.
    pub(super) fn agreed(&self) -> Option<(Dialect, Session)> {
        let state = lock(&self.state);
        state.dialect.clone().map(|dialect| (dialect, state.session.clone()))
    }

    pub(super) fn down(&self, why: Error) {
        let mut state = lock(&self.state);
        state.now = Now::Down(why);
        state.listening.iter_mut().for_each(|(_, listening)| listening.lost());
    }

    /// There is a connection again: subscriptions go on, and what waited is sent.
    pub(super) fn up(&self, channel: &Arc<dyn Channel>) {
        let mut state = lock(&self.state);
        state.now = Now::Up(channel.clone());
        state.generation += 1;
        for (_, listening) in &mut state.listening {
            listening.restore(&**channel);
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        let back = Error::unsent(ErrorKind::Closed, "the connection is back");
        waiting.into_iter().for_each(|(_, mailbox)| mailbox.put(Event::Failed(back.clone())));
    }

    /// There will be no connection any more.
    pub(super) fn over(&self, why: &Error) {
        let mut state = lock(&self.state);
        if matches!(state.now, Now::Over(_)) {
            return;
        }
        state.now = Now::Over(why.clone());
        let listening = std::mem::take(&mut state.listening).into_iter().map(|(_, listening)| listening.mailbox);
        let waiting = std::mem::take(&mut state.waiting).into_iter().map(|(_, mailbox)| mailbox);
        let all: Vec<_> = listening.chain(waiting).collect();
        drop(state);
        all.into_iter().for_each(|mailbox| mailbox.put(Event::Failed(why.clone())));
    }

    /// Passes on what subscriptions were told.
    pub(super) fn poll_listening(&self, cx: &mut Context<'_>, inbound: &dyn Inbound) {
        let mut told = Vec::new();
        {
            let mut state = lock(&self.state);
            if !state.driver.as_ref().is_some_and(|driver| driver.will_wake(cx.waker())) {
                state.driver = Some(cx.waker().clone());
            }
            state.listening.retain_mut(|(_, listening)| listening.poll(cx, &mut told));
        }
        for (mailbox, event, is_synthetic) in told {
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

impl Channel for Outer {
    fn next_id(&self) -> RequestId {
        self.0.next_id()
    }

    fn open(&self, request: Outgoing) -> Exchange {
        self.0.open(request)
    }

    /// Without a connection it is dropped: a server that comes back asks anew.
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

impl Line {
    fn channel(&self) -> Option<Arc<dyn Channel>> {
        match &lock(&self.state).now {
            Now::Up(channel) => Some(channel.clone()),
            Now::Down(_) | Now::Over(_) => None,
        }
    }
}
