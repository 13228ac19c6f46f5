//! The events of one request, between the transport that receives them and the exchange that takes them.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
};

use couplet_types::RpcError;

use crate::{
    error::Error,
    message::{Params, scan::JsonText},
    sync::lock,
};

/// An event that belongs to a request.
#[derive(Clone, Debug)]
pub enum Event {
    /// A notification that belongs to the request.
    Notification {
        /// The method.
        method: String,
        /// The parameters.
        params: Params,
    },
    /// The answer. Nothing follows it.
    Answer(Result<JsonText, RpcError>),
    /// The server ended a subscription without a result. Nothing follows it.
    Ended,
    /// The connection ended before the answer. Nothing follows it.
    Failed(Error),
}

impl Event {
    fn is_same_notification(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Notification { method, params },
                Self::Notification { method: other_method, params: other_params },
            ) => params.text().as_str() == other_params.text().as_str() && method == other_method,
            _ => false,
        }
    }
}

/// A bounded queue of the events of one exchange. Of too many notifications the oldest are dropped; the last event
/// never is.
#[derive(Clone, Default)]
pub struct Mailbox(Arc<Mutex<Events>>);

/// A callback for the last event.
pub(crate) type OnEnd = Box<dyn FnOnce(&Event) + Send>;

#[derive(Default)]
struct Events {
    notes: VecDeque<Event>,
    /// For how many notifications there is room beyond that of any mailbox, if equal ones are merged.
    merged: Option<usize>,
    /// The last event has a place of its own: most exchanges have no other, and need no queue.
    end: Option<Event>,
    over: bool,
    on_end: Option<OnEnd>,
    waker: Option<Waker>,
}

impl Mailbox {
    /// The number of notifications that may wait.
    const ROOM: usize = 256;

    /// Creates an empty mailbox.
    pub fn new() -> Self {
        Self::default()
    }

    /// Merges equal notifications from now on, so that each is there once, and has room for `more` of them.
    pub(crate) fn merge(&self, more: usize) {
        lock(&self.0).merged = Some(more);
    }

    /// Adds an event, unless the exchange is over, and wakes its owner.
    pub fn put(&self, event: Event) {
        let mut inner = lock(&self.0);
        if inner.over {
            return;
        }
        if matches!(event, Event::Notification { .. }) {
            if inner.merged.is_some() && inner.notes.iter().any(|waiting| waiting.is_same_notification(&event)) {
                return;
            }
            if inner.notes.len() >= Self::ROOM + inner.merged.unwrap_or(0) {
                inner.notes.pop_front();
            }
            inner.notes.push_back(event);
        } else {
            inner.over = true;
            if let Some(callback) = inner.on_end.take() {
                drop(inner);
                callback(&event);
                inner = lock(&self.0);
            }
            inner.end = Some(event);
        }
        let waker = inner.waker.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn on_end(&self, callback: OnEnd) {
        let mut inner = lock(&self.0);
        match &inner.end {
            None if !inner.over => inner.on_end = Some(callback),
            end => {
                let end = end.clone();
                drop(inner);
                if let Some(end) = end {
                    callback(&end);
                }
            }
        }
    }

    /// Wakes nothing for the next event.
    pub(crate) fn unwatch(&self) {
        lock(&self.0).waker = None;
    }

    pub(crate) fn poll_take(&self, waker: &Waker) -> Poll<Event> {
        let mut inner = lock(&self.0);
        let next = inner.notes.pop_front();
        match next.or_else(|| inner.end.take()) {
            Some(event) => Poll::Ready(event),
            None => {
                if !inner.waker.as_ref().is_some_and(|w| w.will_wake(waker)) {
                    inner.waker = Some(waker.clone());
                }
                Poll::Pending
            }
        }
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").field("over", &lock(&self.0).over).finish_non_exhaustive()
    }
}
