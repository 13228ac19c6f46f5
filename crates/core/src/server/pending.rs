//! Requests that wait for a response of the peer.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use couplet_types::{RequestId, RpcError};
use futures_channel::oneshot;

use crate::{message::scan::JsonText, sync::lock};

/// The response.
pub(crate) type Answer = Result<JsonText, RpcError>;

/// The table of one connection: id to waiter. Clones are the same table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending(Arc<Mutex<PendingState>>);

#[derive(Debug, Default)]
struct PendingState {
    last: i64,
    waiting: HashMap<i64, oneshot::Sender<Answer>>,
    closed: bool,
}

impl Pending {
    /// Opens a request: its id and the receiver of its response; `None` once the peer cannot respond any more.
    pub(crate) fn open(&self) -> Option<(i64, oneshot::Receiver<Answer>)> {
        let mut state = lock(&self.0);
        if state.closed {
            return None;
        }
        let (tx, rx) = oneshot::channel();
        state.last += 1;
        let id = state.last;
        state.waiting.insert(id, tx);
        Some((id, rx))
    }

    /// Lets ids begin after a number.
    pub(crate) fn number_after(&self, last: i64) {
        lock(&self.0).last = last;
    }

    /// Delivers a response; false if no request waits for it.
    pub(crate) fn settle(&self, id: &RequestId, answer: Answer) -> bool {
        let RequestId::Number(id) = id else { return false };
        let waiter = lock(&self.0).waiting.remove(id);
        waiter.is_some_and(|tx| tx.send(answer).is_ok())
    }

    /// Stops waiting for a response; false if it has arrived.
    pub(crate) fn forget(&self, id: i64) -> bool {
        lock(&self.0).waiting.remove(&id).is_some()
    }

    /// Fails all waiting requests: no more responses will arrive.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.0);
        state.closed = true;
        state.waiting.clear();
    }

    /// Resets the table for reuse; false if a request waits or a handler still has a clone. The ids continue.
    pub(crate) fn renew(&mut self) -> bool {
        let Some(state) = Arc::get_mut(&mut self.0) else { return false };
        let state = state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.waiting.is_empty() && !state.closed
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.0).waiting.len()
    }
}
