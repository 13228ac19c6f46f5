//! The queue from the driver of a session to one open stream.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use couplet_core::EncodedMessage;

use crate::server::{
    endpoint::Config,
    lock,
    stream::{event_store::StoredEvent, open_streams::Held, unsent::InFlight},
};

/// What waits for one reader. It is bounded by asking [`EventQueue::is_full`] before anything is made for it.
#[derive(Debug)]
pub(crate) struct EventQueue {
    state: Mutex<State>,
    room: usize,
    room_bytes: usize,
    in_flight: Arc<InFlight>,
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<Item>,
    bytes: usize,
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// Nothing more will be written.
    over: bool,
    /// The reader is gone.
    gone: bool,
}

/// One thing to send.
#[derive(Debug)]
pub(crate) enum Item {
    /// An answer before which nothing was sent: it needs no stream.
    Alone(EncodedMessage),
    /// There is no answer, because the store failed.
    Refused,
    /// A message in a stream, ready to be sent.
    Event { seq: u64, bytes: Bytes },
    /// An event without a message, ready to be sent.
    Mark(Bytes),
}

impl Item {
    fn len(&self) -> usize {
        match self {
            Self::Alone(text) => text.len(),
            Self::Refused => 0,
            Self::Event { bytes, .. } | Self::Mark(bytes) => bytes.len(),
        }
    }
}

impl EventQueue {
    pub(crate) fn new(config: &Config) -> Arc<Self> {
        let Config { limits, in_flight, .. } = config;
        Arc::new(Self {
            state: Mutex::default(),
            room: limits.queue,
            room_bytes: limits.queue_bytes,
            in_flight: in_flight.clone(),
        })
    }

    /// Adds an event, unless the reader is gone.
    pub(crate) fn push(&self, item: Item) {
        let mut state = lock(&self.state);
        if !state.gone && !state.over {
            state.bytes += item.len();
            self.in_flight.add(item.len());
            state.items.push_back(item);
            state.wake_reader();
        }
    }

    /// Nothing more will be written.
    pub(crate) fn finish(&self) {
        let mut state = lock(&self.state);
        state.over = true;
        state.wake_reader();
    }

    /// Whether the writer has to wait. It is woken when it need not any longer, and when the reader goes.
    pub(crate) fn is_full(&self, cx: &mut Context<'_>) -> bool {
        let mut state = lock(&self.state);
        if !state.gone && !state.writer.as_ref().is_some_and(|w| w.will_wake(cx.waker())) {
            state.writer = Some(cx.waker().clone());
        }
        state.items.len() >= self.room || state.bytes >= self.room_bytes
    }

    pub(crate) fn is_gone(&self) -> bool {
        lock(&self.state).gone
    }

    /// Takes what comes next.
    fn pop(&self, state: &mut State) -> Option<Item> {
        let item = state.items.pop_front()?;
        state.bytes -= item.len();
        self.in_flight.remove(item.len());
        state.wake_writer();
        Some(item)
    }

    fn leave(&self) {
        let mut state = lock(&self.state);
        state.gone = true;
        state.items = VecDeque::new();
        self.in_flight.remove(std::mem::take(&mut state.bytes));
        state.wake_writer();
        state.wake_reader();
    }
}

impl State {
    fn wake_reader(&mut self) {
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    fn wake_writer(&mut self) {
        if let Some(waker) = self.writer.take() {
            waker.wake();
        }
    }
}

impl Drop for EventQueue {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Held for EventQueue {
    fn let_go(&self) {
        self.leave();
    }
}

/// The reading end. Dropping it tells the writer.
#[derive(Debug)]
pub(crate) struct Reader {
    pipe: Arc<EventQueue>,
    /// What the client missed, ready to be sent.
    missed: VecDeque<(u64, Bytes)>,
    /// The last message that was sent.
    last: u64,
    /// It ends only when it is closed.
    endless: bool,
}

/// What comes first for a request.
#[derive(Debug)]
pub(crate) enum First {
    /// The answer.
    Answer(EncodedMessage),
    /// The store failed.
    Refused,
    /// Something else: the answer will be in a stream.
    Stream,
    /// Nothing: the request was cancelled, or the session is over.
    Nothing,
}

impl Reader {
    pub(crate) fn new(pipe: Arc<EventQueue>) -> Self {
        Self { pipe, missed: VecDeque::new(), last: 0, endless: false }
    }

    /// It belongs to no request and is not waited for at the end.
    pub(crate) fn endless(mut self) -> Self {
        self.endless = true;
        self
    }

    /// What the client missed in this stream, and what may come once more.
    pub(crate) fn after(mut self, missed: &[StoredEvent], print: impl Fn(&StoredEvent) -> Bytes) -> Self {
        missed.iter().for_each(|event| self.miss(event.seq, print(event)));
        self
    }

    /// What has to be sent before anything else and has no number in this stream.
    pub(crate) fn begins_with(mut self, bytes: Bytes) -> Self {
        self.miss(0, bytes);
        self
    }

    fn miss(&mut self, seq: u64, bytes: Bytes) {
        self.pipe.in_flight.add(bytes.len());
        self.missed.push_back((seq, bytes));
    }

    pub(crate) fn pipe(&self) -> &Arc<EventQueue> {
        &self.pipe
    }

    /// Waits for what comes first.
    pub(crate) async fn first(&mut self) -> First {
        poll_fn(|cx| {
            let mut state = lock(&self.pipe.state);
            match state.items.front() {
                Some(Item::Alone(text)) => {
                    let answer = First::Answer(text.clone());
                    self.pipe.pop(&mut state);
                    Poll::Ready(answer)
                }
                Some(Item::Refused) => Poll::Ready(First::Refused),
                Some(_) => Poll::Ready(First::Stream),
                None if state.over || state.gone => Poll::Ready(First::Nothing),
                None => {
                    state.reader = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// The next event, ready to be sent.
    pub(crate) fn poll_event(&mut self, cx: &mut Context<'_>, ending: bool) -> Poll<Option<Bytes>> {
        if let Some((seq, bytes)) = self.missed.pop_front() {
            self.pipe.in_flight.remove(bytes.len());
            self.last = self.last.max(seq);
            return Poll::Ready(Some(bytes));
        }
        let mut state = lock(&self.pipe.state);
        loop {
            match self.pipe.pop(&mut state) {
                // It was among what the client missed.
                Some(Item::Event { seq, .. }) if seq <= self.last => {}
                Some(Item::Event { seq, bytes }) => {
                    self.last = seq;
                    return Poll::Ready(Some(bytes));
                }
                Some(Item::Alone(text)) => return Poll::Ready(Some(text.into_bytes())),
                Some(Item::Refused) => {}
                Some(Item::Mark(bytes)) => return Poll::Ready(Some(bytes)),
                None if state.over || state.gone || (ending && self.endless) => return Poll::Ready(None),
                None => {
                    state.reader = Some(cx.waker().clone());
                    return Poll::Pending;
                }
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.pipe.in_flight.remove(self.missed.iter().map(|(_, bytes)| bytes.len()).sum());
        self.pipe.leave();
    }
}
