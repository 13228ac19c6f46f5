//! The queue of messages for a call besides its own events. Most calls receive none, so an empty queue costs little.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
};

use couplet_core::sync::lock;

use crate::asking::Aside;

/// The capacity for log messages.
const ROOM: usize = 256;

/// The sending half. Clones send to the same call.
#[derive(Clone)]
pub(crate) struct Sender(Arc<Mutex<State>>);

/// The receiving half. What was sent and not received is dropped with it.
pub(crate) struct Receiver(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    queue: VecDeque<Aside>,
    receiver: Option<Waker>,
    closed: bool,
}

/// Creates an empty queue.
pub(crate) fn queue() -> (Sender, Receiver) {
    let state = Arc::<Mutex<State>>::default();
    (Sender(state.clone()), Receiver(state))
}

impl Sender {
    /// Sends a message; false if the call has ended. At capacity, a log message is dropped; the number of requests is
    /// limited where they are received.
    pub(crate) fn send(&self, aside: Aside) -> bool {
        let mut state = lock(&self.0);
        if state.closed {
            return false;
        }
        if matches!(aside, Aside::Question(_)) || state.queue.len() < ROOM {
            state.queue.push_back(aside);
        }
        let receiver = state.receiver.take();
        drop(state);
        receiver.into_iter().for_each(Waker::wake);
        true
    }
}

impl Receiver {
    /// Waits for the next message. Cancel safe.
    pub(crate) fn recv(&mut self) -> impl Future<Output = Aside> {
        poll_fn(|cx| {
            let mut state = lock(&self.0);
            match state.queue.pop_front() {
                Some(aside) => Poll::Ready(aside),
                None => {
                    if !state.receiver.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                        state.receiver = Some(cx.waker().clone());
                    }
                    Poll::Pending
                }
            }
        })
    }

    /// Returns the next message, if there is one.
    pub(crate) fn try_recv(&mut self) -> Option<Aside> {
        lock(&self.0).queue.pop_front()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        state.closed = true;
        let rest = std::mem::take(&mut state.queue);
        drop(state);
        // The senders of requests learn that there will be no answer.
        drop(rest);
    }
}

#[cfg(test)]
mod tests {
    use couplet_types::{LogParams, LoggingLevel, RawJson};

    use super::*;

    fn log() -> Aside {
        Aside::Log(LogParams::new(LoggingLevel::Info, RawJson::empty_object()))
    }

    #[tokio::test]
    async fn messages_are_received_up_to_the_capacity_and_the_end() {
        let (sender, mut receiver) = queue();
        for _ in 0..=ROOM {
            assert!(sender.send(log()));
        }
        for _ in 0..ROOM {
            receiver.recv().await;
        }
        assert!(receiver.try_recv().is_none());
        let received = tokio::spawn(async move {
            receiver.recv().await;
            receiver
        });
        tokio::task::yield_now().await;
        assert!(sender.send(log()));
        drop(received.await.unwrap());
        assert!(!sender.send(log()));
    }
}
