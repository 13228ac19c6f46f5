//! One stream of a session.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use couplet_core::{
    EncodedMessage, Revision,
    http::sse::{Event, KEEP_ALIVE},
};
use couplet_types::RequestId;

use crate::server::{
    lock,
    request::admit::Admitted,
    stream::event_queue::{EventQueue, Item},
};

/// One stream of a session. Its reader may be lost and replaced.
#[derive(Debug)]
pub(crate) struct SessionStream {
    pub(crate) number: u64,
    tag: char,
    pub(crate) ids: Vec<RequestId>,
    state: Mutex<StreamState>,
    /// Whether an event of it could not be stored.
    lost: AtomicBool,
    /// The request, which is under way for as long as this is here.
    _admitted: Option<Admitted>,
}

#[derive(Debug)]
struct StreamState {
    /// The number of the last message.
    sent: u64,
    /// Whether the response has begun as a stream; a stream that belongs to no request begins when it is opened.
    started: bool,
    finished: bool,
    pipe: Arc<EventQueue>,
}

impl SessionStream {
    /// A stream; `tag` says whether it belongs to a request.
    pub(crate) fn new(
        number: u64,
        tag: char,
        ids: Vec<RequestId>,
        pipe: Arc<EventQueue>,
        admitted: Option<Admitted>,
    ) -> Self {
        let state = Mutex::new(StreamState { sent: 0, started: tag == 'g', finished: false, pipe });
        Self { number, tag, ids, state, lost: AtomicBool::new(false), _admitted: admitted }
    }

    /// Whether the stream cannot be taken up again, because an event of it could not be stored.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// An event could not be stored.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// The reader at the moment.
    pub(crate) fn pipe(&self) -> Arc<EventQueue> {
        lock(&self.state).pipe.clone()
    }

    /// Begins the stream before there is anything to send; false if it is over already.
    pub(crate) fn begin(&self, revision: Revision, retry: u64) -> bool {
        let mut state = lock(&self.state);
        if !state.finished && self.start(&mut state, revision, retry) && !revision.primes_streams() {
            state.pipe.push(Item::Mark(KEEP_ALIVE));
        }
        !state.finished
    }

    /// The next message and its number; nothing if it is an answer that needs no stream and was sent.
    pub(crate) fn next(
        &self,
        text: EncodedMessage,
        last: bool,
        revision: Revision,
        retry: u64,
    ) -> Option<(u64, Bytes)> {
        let mut state = lock(&self.state);
        if last && !state.started {
            state.pipe.push(Item::Alone(text));
            state.finished = true;
            state.pipe.finish();
            return None;
        }
        self.start(&mut state, revision, retry);
        state.sent += 1;
        Some((state.sent, text.into_bytes()))
    }

    /// Ends the stream without an answer, if it has not begun: the answer is that the store failed.
    pub(crate) fn refuse(&self) -> bool {
        let mut state = lock(&self.state);
        if state.started {
            return false;
        }
        state.pipe.push(Item::Refused);
        state.finished = true;
        state.pipe.finish();
        true
    }

    /// Sends a message that was kept.
    pub(crate) fn send(&self, seq: u64, text: Bytes, last: bool) {
        let bytes = self.encode(seq, text);
        let mut state = lock(&self.state);
        state.pipe.push(Item::Event { seq, bytes });
        if last {
            state.finished = true;
            state.pipe.finish();
        }
    }

    /// Lets the client hang up and come back later.
    pub(crate) fn release(&self, revision: Revision, after: u64) {
        let mut state = lock(&self.state);
        if !self.start(&mut state, revision, after) {
            state.pipe.push(Item::Mark(Event { retry: Some(after), ..Event::default() }.encode()));
        }
        state.pipe.finish();
    }

    /// Gives the stream to another reader.
    pub(crate) fn attach(&self, pipe: Arc<EventQueue>) {
        let mut state = lock(&self.state);
        state.pipe.finish();
        if state.finished {
            pipe.finish();
        }
        state.pipe = pipe;
    }

    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.finished = true;
        state.pipe.finish();
    }

    /// An event of the stream as it is sent.
    pub(crate) fn encode(&self, seq: u64, text: Bytes) -> Bytes {
        encode(self.tag, self.number, seq, text)
    }

    /// Opens the stream with an event that has only an id, where that is done; false if it was open already.
    fn start(&self, state: &mut StreamState, revision: Revision, retry: u64) -> bool {
        if state.started {
            return false;
        }
        state.started = true;
        if revision.primes_streams() {
            state.pipe.push(Item::Mark(self.mark(retry)));
        }
        true
    }

    /// An event that has only an id.
    pub(crate) fn mark(&self, retry: u64) -> Bytes {
        let id = Some(format!("{}{}-0", self.tag, self.number));
        Event { id, retry: Some(retry), ..Event::default() }.encode()
    }
}

/// An event as it is sent.
pub(crate) fn encode(tag: char, number: u64, seq: u64, text: Bytes) -> Bytes {
    let id = Some(format!("{tag}{number}-{seq}"));
    Event { id, ..Event::message(text) }.encode()
}

/// The stream and the number that an event's id names.
pub(crate) fn parse(id: &str) -> Option<(char, u64, u64)> {
    let tag = id.chars().next().filter(|t| matches!(t, 'r' | 'g'))?;
    let (number, seq) = id.get(1..)?.split_once('-')?;
    Some((tag, number.parse().ok()?, seq.parse().ok()?))
}
