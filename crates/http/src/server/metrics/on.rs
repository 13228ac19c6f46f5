//! The counts of an endpoint.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use couplet_core::{
    Reply,
    message::{Body, Frame, Message},
};
use couplet_types::{CallTool, NotificationMethod, Request, RequestMethod};
use http::StatusCode;

#[cfg(feature = "listen")]
use crate::server::metrics::OpenConnection;
use crate::server::metrics::{Metrics, Store, Timer, histogram::Histogram};

/// All counts.
#[derive(Debug)]
pub(super) struct Counts {
    /// By method; the last one is for methods that the protocol does not have.
    pub(super) methods: Vec<MethodCounts>,
    /// Received messages: by method of a request, by method of a notification, responses, and all others.
    pub(super) messages: Vec<AtomicU64>,
    /// By status, from 100 on; the last one is for all others.
    pub(super) responses: Vec<AtomicU64>,
    pub(super) stores: [StoreCounts; Store::ALL.len()],
    pub(super) opened: AtomicU64,
    pub(super) closed: AtomicU64,
    pub(super) accept_errors: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct MethodCounts {
    pub(super) outcomes: [AtomicU64; Outcome::ALL.len()],
    pub(super) durations: Histogram,
}

#[derive(Debug, Default)]
pub(super) struct StoreCounts {
    pub(super) errors: AtomicU64,
    pub(super) durations: Histogram,
}

/// The first and the first impossible status.
pub(super) const STATUSES: std::ops::Range<u16> = 100..600;

impl Default for Counts {
    fn default() -> Self {
        let methods = std::iter::repeat_with(MethodCounts::default).take(RequestMethod::ALL.len() + 1).collect();
        let zeros = |count: usize| std::iter::repeat_with(AtomicU64::default).take(count).collect();
        let (messages, responses) = (zeros(message_labels().count()), zeros(STATUSES.len() + 1));
        let zero = AtomicU64::default;
        Self {
            methods,
            messages,
            responses,
            stores: Default::default(),
            opened: zero(),
            closed: zero(),
            accept_errors: zero(),
        }
    }
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    Ok,
    InputRequired,
    ToolError,
    Error,
    Timeout,
    Cancelled,
}

impl Outcome {
    pub(super) const ALL: [(Self, &str); 6] = [
        (Self::Ok, "ok"),
        (Self::InputRequired, "input_required"),
        (Self::ToolError, "tool_error"),
        (Self::Error, "error"),
        (Self::Timeout, "timeout"),
        (Self::Cancelled, "cancelled"),
    ];
}

impl Store {
    pub(super) const ALL: [(Self, &str); 2] = [(Self::Sessions, "sessions"), (Self::Events, "events")];
}

/// The label of everything outside of a fixed set.
pub(super) const OTHER: &str = "other";

/// The labels of received messages, in the order in which they are counted.
pub(super) fn message_labels() -> impl Iterator<Item = &'static str> {
    let requests = RequestMethod::ALL.iter().map(|method| method.as_str());
    let notifications = NotificationMethod::ALL.iter().map(|method| method.as_str());
    requests.chain(notifications).chain(["response", OTHER])
}

/// The place of a message among them.
fn message_place(message: &Message) -> usize {
    let responses = RequestMethod::ALL.len() + NotificationMethod::ALL.len();
    let known = match &message.body {
        Body::Request { method, .. } => RequestMethod::from_name(method).map(|method| method as usize),
        Body::Notification { method, .. } => {
            NotificationMethod::from_name(method).map(|method| RequestMethod::ALL.len() + method as usize)
        }
        _ => Some(responses),
    };
    known.unwrap_or(responses + 1)
}

impl Metrics {
    /// Counts the messages of a request.
    pub(crate) fn received(&self, frame: &Frame) {
        let count = |message: &Message| add(&self.0.messages[message_place(message)]);
        match frame {
            Frame::Single(message) => count(message),
            Frame::Batch(messages) => messages.iter().flatten().for_each(count),
        }
    }

    /// Counts a response.
    pub(crate) fn responded(&self, status: StatusCode) {
        let at = status.as_u16().checked_sub(STATUSES.start).map_or(usize::MAX, usize::from);
        add(&self.0.responses[at.min(STATUSES.len())]);
    }

    /// Begins a call of a method.
    pub(crate) fn call(&self, method: &str) -> Timer {
        let method = RequestMethod::from_name(method);
        let at = method.map_or(RequestMethod::ALL.len(), |method| method as usize);
        Timer::new(self, Subject::Call(at, method.is_some_and(|method| method.as_str() == CallTool::METHOD)))
    }

    /// Begins a call of a store.
    pub(crate) fn store(&self, store: Store) -> Timer {
        Timer::new(self, Subject::Store(store))
    }

    /// Counts a connection.
    #[cfg(feature = "listen")]
    pub(crate) fn connected(&self) -> OpenConnection {
        add(&self.0.opened);
        OpenConnection(self.clone())
    }

    /// Counts a connection that could not be accepted.
    #[cfg(feature = "listen")]
    pub(crate) fn accept_failed(&self) {
        add(&self.0.accept_errors);
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[cfg(feature = "listen")]
impl Drop for OpenConnection {
    fn drop(&mut self) {
        add(&self.0.0.closed);
    }
}

/// Something that is measured, until it is dropped.
#[derive(Debug)]
pub(super) struct Running {
    metrics: Metrics,
    subject: Subject,
    began: Instant,
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug)]
enum Subject {
    /// The place of a method, and whether it calls a tool.
    Call(usize, bool),
    Store(Store),
}

impl Timer {
    fn new(metrics: &Metrics, subject: Subject) -> Self {
        Self(Running { metrics: metrics.clone(), subject, began: Instant::now(), outcome: Outcome::Cancelled })
    }

    /// Ends a call with its reply.
    pub(crate) fn replied(mut self, reply: &Reply) {
        let is_tool = matches!(self.0.subject, Subject::Call(_, true));
        self.0.outcome = match reply {
            Reply::Complete(done) if is_tool && done.is_failed_tool() => Outcome::ToolError,
            Reply::InputRequired { .. } => Outcome::InputRequired,
            Reply::Error(_) => Outcome::Error,
            _ => Outcome::Ok,
        };
    }

    /// Ends a call that took too long.
    pub(crate) fn timed_out(mut self) {
        self.0.outcome = Outcome::Timeout;
    }

    /// Ends a call of a store.
    pub(crate) fn stored(mut self, is_ok: bool) {
        self.0.outcome = if is_ok { Outcome::Ok } else { Outcome::Error };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let (counts, duration) = (&self.metrics.0, self.began.elapsed());
        match self.subject {
            Subject::Call(at, _) => {
                let method = &counts.methods[at];
                add(&method.outcomes[self.outcome as usize]);
                method.durations.add(duration);
            }
            Subject::Store(store) => {
                let store = &counts.stores[store as usize];
                store.durations.add(duration);
                if matches!(self.outcome, Outcome::Error) {
                    add(&store.errors);
                }
            }
        }
    }
}
