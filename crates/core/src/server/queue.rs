//! The send queue of one connection or stream.
//!
//! Responses always find room, because the number of running calls is bounded. Notifications wait for room: a slow reader
//! applies backpressure to the handler that sends too many, and memory stays bounded.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use couplet_types::RequestId;

use crate::{message::text::EncodedMessage, sync::lock};

/// What a queued message belongs to. A call is identified by its request id, which is unique until it is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A message that belongs to no call.
    Free,
    /// A notification of a running call.
    Notification(RequestId),
    /// A request of a running call to the client, with its own id.
    Question(RequestId, i64),
    /// Not a message: the call does not need its stream for that many milliseconds.
    Release(RequestId, u64),
    /// The response of a call; with the code if it is an error.
    Answer(RequestId, Option<i32>),
    /// The responses of a batch, identified by its first request id.
    Batch(RequestId),
}

impl EntryKind {
    /// The call that the message belongs to.
    pub(crate) fn call(&self) -> Option<&RequestId> {
        match self {
            Self::Free | Self::Batch(_) => None,
            Self::Notification(id) | Self::Question(id, _) | Self::Release(id, _) | Self::Answer(id, _) => Some(id),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Queue(Arc<Mutex<QueueState>>);

#[derive(Debug)]
struct QueueState {
    items: VecDeque<(EntryKind, EncodedMessage)>,
    /// Their size in bytes.
    bytes: usize,
    /// The number of messages that belong to no call.
    unowned: usize,
    room: usize,
    driver: Option<Waker>,
    blocked: Vec<Waker>,
    closed: bool,
}

impl Queue {
    /// Creates a queue whose notifications wait once it holds `room` messages.
    pub(crate) fn new(room: usize) -> Self {
        let (items, blocked) = (VecDeque::new(), Vec::new());
        Self(Arc::new(Mutex::new(QueueState {
            items,
            bytes: 0,
            unowned: 0,
            room,
            driver: None,
            blocked,
            closed: false,
        })))
    }

    /// Adds a response, or anything else that must not wait.
    pub(crate) fn push(&self, kind: EntryKind, text: impl Into<EncodedMessage>) {
        let mut state = lock(&self.0);
        if state.closed {
            return;
        }
        let driver = state.add(kind, text.into());
        drop(state);
        wake(driver);
    }

    /// Adds a notification as soon as there is room; false if the queue is closed.
    pub(crate) fn poll_push(&self, cx: &mut Context<'_>, kind: &EntryKind, text: &Bytes) -> Poll<bool> {
        let mut state = lock(&self.0);
        if state.closed {
            return Poll::Ready(false);
        }
        if state.items.len() >= state.room {
            // A handler may poll this often before there is room.
            if !state.blocked.iter().any(|known| known.will_wake(cx.waker())) {
                state.blocked.push(cx.waker().clone());
            }
            return Poll::Pending;
        }
        let driver = state.add(kind.clone(), text.clone().into());
        drop(state);
        wake(driver);
        Poll::Ready(true)
    }

    /// Takes the next message to send.
    pub(crate) fn pop(&self) -> Option<(EntryKind, EncodedMessage)> {
        first(lock(&self.0))
    }

    /// Takes the next message to send, and registers the waker for the one after it; `known` is what
    /// [`Queue::unregister`] returned.
    pub(crate) fn pop_or_register(&self, waker: &Waker, known: Option<Waker>) -> Option<(EntryKind, EncodedMessage)> {
        let mut state = lock(&self.0);
        state.driver = Some(known.filter(|known| known.will_wake(waker)).unwrap_or_else(|| waker.clone()));
        first(state)
    }

    /// Takes the waker out: messages are added silently until [`Queue::pop_or_register`].
    pub(crate) fn unregister(&self) -> Option<Waker> {
        lock(&self.0).driver.take()
    }

    /// Registers the waker for the next message.
    pub(crate) fn register(&self, waker: &Waker) {
        let mut state = lock(&self.0);
        if !state.driver.as_ref().is_some_and(|w| w.will_wake(waker)) {
            state.driver = Some(waker.clone());
        }
    }

    /// Removes the unsent messages of a call; true if there were any.
    pub(crate) fn purge(&self, call: &RequestId) -> bool {
        self.take_back(|kind| kind.call() == Some(call))
    }

    /// Removes an unsent request to the client; true if it was still here.
    pub(crate) fn purge_question(&self, id: i64) -> bool {
        self.take_back(|kind| matches!(kind, EntryKind::Question(_, i) if *i == id))
    }

    /// The calls with unsent messages.
    pub(crate) fn calls(&self) -> HashSet<RequestId> {
        lock(&self.0).items.iter().filter_map(|(kind, _)| kind.call().cloned()).collect()
    }

    /// The unsent client requests of a call.
    pub(crate) fn questions(&self, call: &RequestId) -> Vec<i64> {
        let state = lock(&self.0);
        let own = state.items.iter().filter_map(|(kind, _)| match kind {
            EntryKind::Question(of, id) if of == call => Some(*id),
            _ => None,
        });
        own.collect()
    }

    fn take_back(&self, which: impl Fn(&EntryKind) -> bool) -> bool {
        let mut state = lock(&self.0);
        let before = state.items.len();
        state.items.retain(|(kind, _)| !which(kind));
        state.bytes = state.items.iter().map(|(_, text)| text.len()).sum();
        let (blocked, removed) = (std::mem::take(&mut state.blocked), state.items.len() < before);
        drop(state);
        wake(blocked);
        removed
    }

    /// Resets the queue for reuse; false if it holds a message or a handler still has a clone.
    pub(crate) fn renew(&mut self) -> bool {
        let Some(state) = Arc::get_mut(&mut self.0) else { return false };
        let state = state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.driver = None;
        state.items.is_empty() && !state.closed
    }

    /// Returns the number of messages that belong to no call.
    pub(crate) fn unowned(&self) -> usize {
        lock(&self.0).unowned
    }

    /// Whether there is enough to send before more is produced.
    pub(crate) fn is_heavy(&self) -> bool {
        lock(&self.0).bytes >= 256 << 10
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.0).items.len()
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.0).closed
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Wakes the driver.
    pub(crate) fn wake(&self) {
        let driver = lock(&self.0).driver.take();
        wake(driver);
    }

    /// Frees spare capacity.
    pub(crate) fn shrink(&self) {
        let mut state = lock(&self.0);
        state.items.shrink_to_fit();
        state.blocked.shrink_to_fit();
    }

    /// Closes the queue and wakes the senders that wait.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.0);
        state.closed = true;
        state.items.clear();
        state.bytes = 0;
        state.unowned = 0;
        let (blocked, driver) = (std::mem::take(&mut state.blocked), state.driver.take());
        drop(state);
        wake(blocked);
        wake(driver);
    }
}

impl QueueState {
    /// Adds a message; the driver is to be woken once the lock is released.
    #[must_use]
    fn add(&mut self, kind: EntryKind, text: EncodedMessage) -> Option<Waker> {
        self.unowned += usize::from(kind == EntryKind::Free);
        self.bytes += text.len();
        self.items.push_back((kind, text));
        self.driver.take()
    }
}

/// Takes the first message, and wakes what waits for room.
fn first(mut state: MutexGuard<'_, QueueState>) -> Option<(EntryKind, EncodedMessage)> {
    let (kind, text) = state.items.pop_front()?;
    state.bytes -= text.len();
    state.unowned -= usize::from(kind == EntryKind::Free);
    let blocked = std::mem::take(&mut state.blocked);
    drop(state);
    wake(blocked);
    Some((kind, text))
}

/// Wakes tasks. The queue must not be locked: a waker may run code that uses it.
fn wake(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        task::Wake,
    };

    use crate::server::queue::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_full_queue_has_one_waker_for_each_that_waits() {
        let queue = Queue::new(1);
        queue.push(EntryKind::Free, Bytes::from_static(b"{}"));
        let waiting: [Arc<Count>; 3] = Default::default();
        for _ in 0..1_000 {
            for count in &waiting {
                let waker = Waker::from(count.clone());
                let mut cx = Context::from_waker(&waker);
                assert!(queue.poll_push(&mut cx, &EntryKind::Free, &Bytes::from_static(b"{}")).is_pending());
            }
        }
        assert_eq!(lock(&queue.0).blocked.len(), waiting.len());
        queue.pop().unwrap();
        assert_eq!(waiting.each_ref().map(|count| count.0.load(Ordering::SeqCst)), [1; 3]);
    }

    /// A waker that looks whether the queue is locked when it is woken.
    struct Looks(Queue, Mutex<Vec<bool>>);

    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            let is_free = self.0.0.try_lock().is_ok();
            lock(&self.1).push(is_free);
        }
    }

    #[test]
    fn wakers_are_woken_without_the_lock() {
        let text = Bytes::from_static(b"{}");
        let call = RequestId::Number(1);
        let queue = Queue::new(1);
        let looks = Arc::new(Looks(queue.clone(), Mutex::default()));
        let waker = Waker::from(looks.clone());
        let mut cx = Context::from_waker(&waker);
        let mut block = |kind: EntryKind| queue.poll_push(&mut cx, &kind, &text).is_pending();
        queue.register(&waker);
        queue.push(EntryKind::Notification(call.clone()), text.clone());
        assert!(block(EntryKind::Free));
        queue.pop().unwrap();
        queue.register(&waker);
        assert!(!block(EntryKind::Notification(call.clone())));
        assert!(block(EntryKind::Free));
        queue.purge(&call);
        queue.register(&waker);
        queue.wake();
        queue.register(&waker);
        queue.close();
        assert_eq!(*lock(&looks.1), [true; 6]);
    }
}
