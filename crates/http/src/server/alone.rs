//! Messages that stand alone: each has a connection of its own, which lives in the response.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use couplet_core::{
    Connection, Outbound, Route,
    http::{sse::Event, status},
    message::{Body, Frame, Message},
};
use http::StatusCode;

use super::{
    body::{Events, Source},
    endpoint::Endpoint,
    lock,
    reply::{self, Reply},
    watch::Held,
};

impl Endpoint {
    /// Answers a message that says everything itself: with a message, or with a stream once something comes before the
    /// answer.
    pub(crate) async fn alone(&self, frame: Frame, principal: Option<Arc<str>>) -> Reply {
        let is_request = matches!(&frame, Frame::Single(Message { body: Body::Request { .. }, .. }));
        let mut connection = self.connection(principal);
        connection.take(frame);
        if !is_request {
            return reply::empty(StatusCode::ACCEPTED);
        }
        let first = match poll_fn(|cx| connection.poll_next(cx)).await {
            Some(Outbound { text, route: Route::Answer(_, code) }) => {
                return reply::json(StatusCode::from_u16(status(code)).unwrap_or_default(), text);
            }
            Some(first) => Event::message(first.text).encode(),
            None => return reply::error(StatusCode::INTERNAL_SERVER_ERROR, "the request has no answer"),
        };
        self.stream(Driven::new(connection, first, None))
    }

    /// A response that drives its connection itself.
    pub(crate) fn stream(&self, driven: Driven) -> Reply {
        let driven = Arc::new(driven);
        let held: Arc<dyn Held> = driven.clone();
        match self.ticket(&held) {
            Some(ticket) => reply::events(Events::new(Source::Driven(driven), ticket, self.config.limits.keep_alive)),
            None => reply::busy(StatusCode::SERVICE_UNAVAILABLE, "too many streams are open"),
        }
    }
}

/// A connection whose messages all go to one stream.
pub(crate) struct Driven(Mutex<Option<State>>);

struct State {
    connection: Connection,
    first: Option<Bytes>,
    /// Where more messages come from. Without it, the stream ends with the first answer.
    inbox: Option<Arc<Inbox>>,
    ending: bool,
    over: bool,
}

impl Driven {
    pub(crate) fn new(connection: Connection, first: Bytes, inbox: Option<Arc<Inbox>>) -> Self {
        Self(Mutex::new(Some(State { connection, first: Some(first), inbox, ending: false, over: false })))
    }

    pub(crate) fn poll(&self, cx: &mut Context<'_>, ending: bool) -> Poll<Option<Bytes>> {
        let mut slot = lock(&self.0);
        let Some(state) = slot.as_mut() else { return Poll::Ready(None) };
        let next = state.poll(cx, ending);
        if matches!(next, Poll::Ready(None)) {
            *slot = None;
        }
        next
    }
}

impl Held for Driven {
    fn let_go(&self) {
        // If it is locked, somebody reads it right now.
        if let Ok(mut slot) = self.0.try_lock() {
            *slot = None;
        }
    }
}

impl State {
    fn poll(&mut self, cx: &mut Context<'_>, ending: bool) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        if self.over {
            return Poll::Ready(None);
        }
        if ending && !self.ending {
            self.ending = true;
            self.connection.end_input();
        }
        if let Some(inbox) = &self.inbox {
            while self.connection.wants_input()
                && let Some(frame) = inbox.take(cx.waker())
            {
                self.connection.receive(frame);
            }
        }
        loop {
            let Poll::Ready(next) = self.connection.poll_next(cx) else { return Poll::Pending };
            let Some(Outbound { text, route }) = next else { return Poll::Ready(None) };
            match route {
                Route::Release(..) => continue,
                Route::Answer(..) if self.inbox.is_none() => self.over = true,
                _ => {}
            }
            return Poll::Ready(Some(Event::message(text).encode()));
        }
    }
}

/// Messages on their way to a connection that a response drives.
#[derive(Debug)]
pub(crate) struct Inbox {
    frames: Mutex<(VecDeque<Bytes>, Option<Waker>)>,
    pub(crate) principal: Option<Arc<str>>,
}

impl Inbox {
    /// How many messages may wait.
    const ROOM: usize = 256;

    pub(crate) fn new(principal: Option<Arc<str>>) -> Self {
        Self { frames: Mutex::default(), principal }
    }

    /// Adds a message; false if there is no room.
    pub(crate) fn put(&self, frame: Bytes) -> bool {
        let mut frames = lock(&self.frames);
        if frames.0.len() >= Self::ROOM {
            return false;
        }
        frames.0.push_back(frame);
        if let Some(waker) = frames.1.take() {
            waker.wake();
        }
        true
    }

    fn take(&self, waker: &Waker) -> Option<Bytes> {
        let mut frames = lock(&self.frames);
        let next = frames.0.pop_front();
        if next.is_none() {
            frames.1 = Some(waker.clone());
        }
        next
    }
}
