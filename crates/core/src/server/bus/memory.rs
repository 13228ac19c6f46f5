//! A bus within one process.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex, Weak},
    task::{Poll, Waker},
};

use bytes::Bytes;

use super::{BusSubscription, ChangeBus};
use crate::{
    error::{Error, ErrorKind},
    server::running::BoxFuture,
    sync::lock,
};

/// A [`ChangeBus`] for replicas in one process, such as those of a test. Clones are the same bus.
///
/// A subscription that falls behind by more than 1,024 messages ends with an error.
#[derive(Clone, Debug, Default)]
pub struct MemoryBus(Arc<Mutex<Vec<Weak<Mutex<Unread>>>>>);

/// The messages that one subscription has not taken.
#[derive(Debug, Default)]
struct Unread {
    messages: VecDeque<Bytes>,
    /// Why there will be no more, if so.
    end: Option<&'static str>,
    waker: Option<Waker>,
}

impl MemoryBus {
    /// The number of messages that wait for one subscription.
    const WAITING: usize = 1024;

    /// Creates a bus without subscribers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every subscription with an error, as a broken connection does: for tests.
    pub fn disconnect(&self) {
        self.each(|queue| queue.end = Some("the bus was disconnected"));
    }

    /// Changes each open queue, and wakes its subscriber.
    fn each(&self, change: impl Fn(&mut Unread)) {
        let mut woken = Vec::new();
        lock(&self.0).retain(|queue| {
            let Some(queue) = queue.upgrade() else { return false };
            let mut queue = lock(&queue);
            change(&mut queue);
            woken.extend(queue.waker.take());
            queue.end.is_none()
        });
        woken.into_iter().for_each(Waker::wake);
    }
}

impl ChangeBus for MemoryBus {
    fn publish(&self, message: Bytes) -> BoxFuture<'_, Result<(), Error>> {
        self.each(|queue| {
            if queue.messages.len() == Self::WAITING {
                queue.messages.clear();
                queue.end = Some("the subscriber was too slow");
            } else {
                queue.messages.push_back(message.clone());
            }
        });
        Box::pin(async { Ok(()) })
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<Box<dyn BusSubscription>, Error>> {
        let queue = Arc::new(Mutex::new(Unread::default()));
        lock(&self.0).push(Arc::downgrade(&queue));
        Box::pin(async { Ok(Box::new(MemorySubscription(queue)) as Box<dyn BusSubscription>) })
    }
}

struct MemorySubscription(Arc<Mutex<Unread>>);

impl BusSubscription for MemorySubscription {
    fn next(&mut self) -> BoxFuture<'_, Result<Bytes, Error>> {
        Box::pin(poll_fn(|cx| {
            let mut queue = lock(&self.0);
            if let Some(message) = queue.messages.pop_front() {
                return Poll::Ready(Ok(message));
            }
            if let Some(end) = queue.end {
                return Poll::Ready(Err(Error::new(ErrorKind::Closed, end)));
            }
            queue.waker = Some(cx.waker().clone());
            Poll::Pending
        }))
    }
}
