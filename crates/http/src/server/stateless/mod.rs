//! Stateless requests: each has a connection of its own, owned by the response.

pub(crate) mod pool;

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use couplet_core::{
    Caller, Outbound, RequestContext, Route, ServerConnection,
    http::{
        Checked,
        sse::{Event, KEEP_ALIVE},
        status,
    },
    message::{Body, Frame, Message},
};
use couplet_types::{Listen, Request};
use http::StatusCode;

use crate::server::{
    endpoint::Endpoint,
    lock,
    request::{admit::Admitted, deadline::within, quota::Share},
    response::{self, Reply},
    stream::{
        body::{Events, Source},
        open_streams::Held,
    },
};

impl Endpoint {
    /// Answers a message that needs no session: with a message, or with a stream once something comes before the
    /// answer. `checked` proves that the headers of a request match it.
    pub(crate) async fn stateless(&self, frame: Frame, checked: Option<Checked>, mut admitted: Admitted) -> Reply {
        let (is_request, listens) = match &frame {
            Frame::Single(Message { body: Body::Request { method, .. }, .. }) => (true, method == Listen::METHOD),
            _ => (false, false),
        };
        let caller = admitted.caller.clone();
        let spare = self.config.pool.take(caller.clone());
        let mut connection = spare.unwrap_or_else(|| self.connection(caller.clone()));
        connection.set_context(admitted.take_context());
        if !is_request {
            connection.receive_frame(frame);
            return response::empty(StatusCode::ACCEPTED);
        }
        let counted = if listens {
            match self.share_of_listens(&admitted) {
                Some(share) => Counted::Share(share),
                None => return response::busy(StatusCode::TOO_MANY_REQUESTS, "you have too many subscriptions"),
            }
        } else {
            Counted::Request(admitted)
        };
        match checked {
            Some(checked) => connection.receive_checked(frame, checked),
            None => connection.receive_frame(frame),
        }
        self.drive_alone(connection, counted, caller.as_ref(), status).await
    }

    /// Answers what a connection was given; the status depends on the code of an error.
    ///
    /// After the keep-alive time without an answer the stream begins: load balancers cut connections on which nothing
    /// is sent.
    pub(crate) async fn drive_alone(
        &self,
        mut connection: ServerConnection,
        mut counted: Counted,
        caller: Option<&Arc<Caller>>,
        status: fn(Option<i32>) -> u16,
    ) -> Reply {
        loop {
            let next = within(self.config.limits.keep_alive, pin!(poll_fn(|cx| connection.poll_next(cx)))).await;
            let is_quiet = next.is_none();
            let first = match next.flatten() {
                Some(Outbound { text, route: Route::Answer(_, code) }) => {
                    self.config.pool.give(connection);
                    return response::json(StatusCode::from_u16(status(code)).unwrap_or_default(), text);
                }
                Some(Outbound { text, route: Route::Batch(_) }) => return response::json(StatusCode::OK, text),
                // Stateless streams cannot be resumed.
                Some(Outbound { route: Route::Release(..), .. }) => continue,
                Some(first) => Event::message(first.text.into_bytes()).encode(),
                None if is_quiet => KEEP_ALIVE,
                None => return response::error(StatusCode::INTERNAL_SERVER_ERROR, "the request has no answer"),
            };
            match self.try_stream(Driven::new(connection, first, None, counted), caller) {
                Ok(stream) => return stream,
                // Without room for a stream the answer comes alone.
                Err((_, Some(state))) if is_quiet => State { connection, counted, .. } = *state,
                Err((refused, _)) => return *refused,
            }
        }
    }

    /// A response that drives its connection itself.
    pub(crate) fn stream(&self, driven: Driven, caller: Option<&Arc<Caller>>) -> Reply {
        self.try_stream(driven, caller).unwrap_or_else(|(refused, _)| *refused)
    }

    /// The same.
    ///
    /// # Errors
    /// What to answer if there is no room, and what would have been driven.
    fn try_stream(&self, driven: Driven, caller: Option<&Arc<Caller>>) -> Result<Reply, Undriven> {
        let driven = Arc::new(driven);
        let held: Arc<dyn Held> = driven.clone();
        match self.ticket(&held, caller) {
            Ok(ticket) => {
                Ok(response::events(Events::new(Source::Driven(driven), ticket, self.config.limits.keep_alive)))
            }
            Err(refused) => Err((refused, lock(&driven.0).take().map(Box::new))),
        }
    }
}

/// What to answer instead of a stream, and what it would have driven.
type Undriven = (Box<Reply>, Option<Box<State>>);

/// What a stream counts as for as long as it goes on.
#[derive(Debug)]
#[expect(dead_code, reason = "it is only held")]
pub(crate) enum Counted {
    /// A request.
    Request(Admitted),
    /// One of something else that its principal has.
    Share(Share),
}

/// A connection whose messages all go to one stream.
pub(crate) struct Driven(Mutex<Option<State>>);

struct State {
    connection: ServerConnection,
    first: Option<Bytes>,
    /// Where more messages come from. Without it, the stream ends with the first answer.
    inbox: Option<Arc<Inbox>>,
    ending: bool,
    over: bool,
    counted: Counted,
}

impl Driven {
    pub(crate) fn new(connection: ServerConnection, first: Bytes, inbox: Option<Arc<Inbox>>, counted: Counted) -> Self {
        let state = State { connection, first: Some(first), inbox, ending: false, over: false, counted };
        Self(Mutex::new(Some(state)))
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
        // If it is locked, it is being read right now.
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
                && let Some((frame, caller, context)) = inbox.take(cx.waker())
            {
                self.connection.set_caller(caller);
                self.connection.set_context(context);
                self.connection.receive(frame);
            }
        }
        loop {
            let Poll::Ready(next) = self.connection.poll_next(cx) else { return Poll::Pending };
            let Some(Outbound { text, route }) = next else { return Poll::Ready(None) };
            match route {
                Route::Release(..) => continue,
                Route::Answer(..) | Route::Batch(_) if self.inbox.is_none() => self.over = true,
                _ => {}
            }
            return Poll::Ready(Some(Event::message(text.into_bytes()).encode()));
        }
    }
}

/// A message, who sent it, and with what request.
type Asked = (Bytes, Option<Arc<Caller>>, Option<Arc<dyn RequestContext>>);

/// Messages on their way to a connection that a response drives.
#[derive(Debug)]
pub(crate) struct Inbox {
    frames: Mutex<Waiting>,
    pub(crate) principal: Option<Arc<str>>,
}

#[derive(Debug, Default)]
struct Waiting {
    frames: VecDeque<Asked>,
    bytes: usize,
    waker: Option<Waker>,
}

impl Inbox {
    /// How many messages may wait.
    const ROOM: usize = 256;
    /// How many bytes they may have. One message may be larger if it is alone.
    const ROOM_BYTES: usize = 4 << 20;

    pub(crate) fn new(principal: Option<Arc<str>>) -> Self {
        Self { frames: Mutex::default(), principal }
    }

    /// Adds a message; false if there is no room.
    pub(crate) fn put(&self, frame: Bytes, mut admitted: Admitted) -> bool {
        let mut waiting = lock(&self.frames);
        if waiting.frames.len() >= Self::ROOM || waiting.bytes >= Self::ROOM_BYTES {
            return false;
        }
        waiting.bytes += frame.len();
        waiting.frames.push_back((frame, admitted.caller.clone(), admitted.take_context()));
        let waker = waiting.waker.take();
        drop(waiting);
        waker.into_iter().for_each(Waker::wake);
        true
    }

    fn take(&self, waker: &Waker) -> Option<Asked> {
        let mut waiting = lock(&self.frames);
        let next = waiting.frames.pop_front();
        match &next {
            Some((frame, ..)) => waiting.bytes -= frame.len(),
            None => waiting.waker = Some(waker.clone()),
        }
        next
    }
}
