//! The feed: everything that happened on the connections to the targets, in a ring of bounded size.

mod event;
mod ring;
mod stream;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{clock::unix_time, sync::lock};
use tokio::sync::watch;

pub(crate) use event::{Event, Happening};
use ring::Ring;
pub(crate) use stream::events;

/// The feed of all targets. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Feed(Arc<Channel>);

#[derive(Debug)]
struct Channel {
    ring: Mutex<Ring>,
    /// The number of the last event.
    last: watch::Sender<u64>,
}

/// What a reader gets.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The number of events that the ring dropped before they were read.
    pub(crate) lost: u64,
    pub(crate) events: Vec<Arc<Event>>,
    /// The number to read on after.
    pub(crate) after: u64,
}

impl Feed {
    pub(crate) fn new() -> Self {
        Self::with_limits(Ring::EVENTS, Ring::BYTES)
    }

    pub(crate) fn with_limits(events: usize, bytes: usize) -> Self {
        Self(Arc::new(Channel { ring: Mutex::new(Ring::new(events, bytes)), last: watch::Sender::new(0) }))
    }

    /// Adds an event that happens now.
    pub(crate) fn add(&self, target: &Arc<str>, happening: Happening) {
        self.add_at(unix_time(), target, happening);
    }

    /// Adds an event that happened at a time.
    pub(crate) fn add_at(&self, time: Duration, target: &Arc<str>, happening: Happening) {
        // Sent under the lock, so that numbers only grow.
        let mut ring = lock(&self.0.ring);
        let seq = ring.push(time, target, happening);
        self.0.last.send_replace(seq);
    }

    /// Returns the events after a number, up to the size of a batch.
    pub(crate) fn read(&self, after: u64) -> Batch {
        lock(&self.0.ring).read(after)
    }

    /// Waits until there is an event after a number.
    pub(crate) async fn wait(&self, after: u64) {
        // The sender is in `self`, so it cannot be gone.
        let _ = self.0.last.subscribe().wait_for(|last| *last > after).await;
    }

    /// Returns the whole text of a message, if the ring still has it.
    pub(crate) fn text(&self, seq: u64) -> Option<Bytes> {
        lock(&self.0.ring).get(seq).and_then(|event| event.text().cloned())
    }

    /// Returns all events that the ring has, of one target or of all.
    pub(crate) fn all(&self, target: Option<&str>) -> Vec<Arc<Event>> {
        lock(&self.0.ring).all(|event| target.is_none_or(|target| *event.target == *target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tap::Direction;

    fn message(size: usize) -> Happening {
        Happening::Message(Direction::In, Bytes::from(vec![b'x'; size]))
    }

    #[tokio::test]
    async fn a_slow_reader_is_told_what_it_lost() {
        let (feed, target) = (Feed::with_limits(10, 1 << 20), Arc::from("t1"));
        feed.wait(0).now_or_never();
        (0..25).for_each(|_| feed.add(&target, message(1)));
        feed.wait(24).await;
        let batch = feed.read(3);
        assert_eq!((batch.lost, batch.events.len(), batch.after), (12, 10, 25));
        assert_eq!(batch.events[0].seq, 16);
        let rest = feed.read(20);
        assert_eq!((rest.lost, rest.events.len()), (0, 5));
        assert!(feed.read(25).events.is_empty() && feed.text(15).is_none() && feed.text(16).is_some());
    }

    #[test]
    fn memory_is_bounded() {
        let (feed, target) = (Feed::with_limits(1000, 1 << 20), Arc::from("t1"));
        for _ in 0..100 {
            feed.add(&target, message(100 << 10));
        }
        let held: usize = feed.all(None).iter().filter_map(|event| event.text().map(Bytes::len)).sum();
        assert!(held <= 1 << 20 && held > 900 << 10, "{held}");
        // The newest event stays, whatever its size.
        feed.add(&target, message(2 << 20));
        assert_eq!(feed.all(None).len(), 1);
        feed.add(&target, message(1));
        assert_eq!(feed.all(None).len(), 1);
    }

    trait NowOrNever: Future + Sized {
        fn now_or_never(self) {
            let mut future = std::pin::pin!(self);
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(future.as_mut().poll(&mut context).is_pending());
        }
    }

    impl<F: Future> NowOrNever for F {}
}
