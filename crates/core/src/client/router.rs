//! The requests of both sides on one client's connection. The rules for incoming messages are in `router/rules.rs`.

mod rules;

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use couplet_types::{RequestId, RpcError};

use crate::{
    client::{
        channel::Inbound,
        mailbox::{Event, Mailbox},
        requests::{Requests, ServerRequest, Slot},
        waiting::{Exchanges, Waiting},
    },
    error::{Error, ErrorKind},
    limits::Limits,
    message::scan::JsonText,
    sync::lock,
    wire::dialect::Dialect,
};

/// The client's half of a transport that does its own I/O: it knows which requests wait for an answer and which requests
/// of the server are being answered, and routes each message that arrives.
///
/// It does no I/O and starts no task: events go to the [`Mailbox`] of their request, everything else to [`Inbound`],
/// and the [`Outlet`] runs and sends what the router asks for. [`ClientConnection`](crate::ClientConnection) is a router
/// with a queue of messages; a transport whose messages are one ordered stream uses that instead.
pub struct Router {
    inbound: Arc<dyn Inbound>,
    limits: Limits,
    requests: Requests,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    exchanges: Exchanges,
    dialect: Option<Arc<Dialect>>,
}

/// The part of a transport that answers the server's requests.
pub trait Outlet {
    /// Runs a request of the server, and sends the message that it returns.
    fn serve(&mut self, request: ServerRequest);

    /// Sends the refusal of a request. The slot is to be dropped once it is sent.
    fn refuse(&mut self, refusal: Bytes, slot: Slot);

    /// Called before the messages of a batch. It ends with the frame.
    fn begin_batch(&mut self) {}
}

/// The stream that a message arrived on.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A connection, or an event stream that belongs to no request.
    Connection,
    /// The response to one HTTP request of a session.
    SessionResponse {
        /// The id that the request was sent under.
        sent: &'a RequestId,
    },
    /// The response to one stateless HTTP request.
    Response {
        /// The id that the request was sent under.
        sent: &'a RequestId,
        /// The number that the request was [opened](Router::open) with.
        key: i64,
        /// Whether the request is a subscription: every notification on its response belongs to it.
        subscription: bool,
    },
}

impl Source<'_> {
    /// Returns whether this is the response to a stateless request.
    pub fn is_stateless(&self) -> bool {
        matches!(self, Self::Response { .. })
    }

    fn sent(&self) -> Option<&RequestId> {
        match self {
            Self::Connection => None,
            Self::SessionResponse { sent } | Self::Response { sent, .. } => Some(sent),
        }
    }
}

/// The way in which a request is cancelled on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancellation {
    /// With `notifications/cancelled`.
    Notification,
    /// By closing the stream of the response.
    Disconnect,
}

/// The answer of the server to one request.
type Answer = Result<JsonText, RpcError>;

impl Router {
    /// Creates a router without requests.
    pub fn new(inbound: Arc<dyn Inbound>, limits: Limits) -> Self {
        Self { inbound, limits, requests: Requests::default(), state: Mutex::default() }
    }

    /// Returns the handler for messages that belong to no request.
    pub fn inbound(&self) -> &Arc<dyn Inbound> {
        &self.inbound
    }

    /// Returns the limits of the connection.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns an id that was not used yet.
    pub fn next_id(&self) -> RequestId {
        RequestId::Number(lock(&self.state).exchanges.next_number())
    }

    /// Returns an id that was not used yet for a request that is sent again. Its answer is expected under this id from
    /// now on; progress still arrives under the number that it was opened with.
    pub fn resend(&self, key: i64) -> RequestId {
        RequestId::Number(lock(&self.state).exchanges.resend(key))
    }

    /// Sets the revision that both sides speak from now on.
    pub fn agree(&self, dialect: &Dialect) {
        let dialect = Arc::new(dialect.clone());
        let previous = lock(&self.state).dialect.replace(dialect);
        drop(previous);
    }

    /// Returns the revision that both sides agreed on.
    pub fn dialect(&self) -> Option<Arc<Dialect>> {
        lock(&self.state).dialect.clone()
    }

    /// Starts to wait for the answer to a request. Returns the number that the request is known by, and the mailbox for
    /// its events.
    ///
    /// # Errors
    /// When the id is not from [`Router::next_id`], or the connection is closed. Nothing must be sent then.
    pub fn open(&self, id: &RequestId, method: &str, cancellation: Cancellation) -> Result<(i64, Mailbox), Error> {
        let RequestId::Number(key) = *id else {
            return Err(Error::new(ErrorKind::Config, "the id is not from this channel"));
        };
        // The handshake is the one request that must not be cancelled.
        let notifies = cancellation == Cancellation::Notification && method != "initialize";
        let waiting = Waiting::new(key, notifies, method == "subscriptions/listen");
        lock(&self.state).exchanges.open(key, waiting).map(|mailbox| (key, mailbox))
    }

    /// Ends a request with its last event, unless it has ended.
    pub fn settle(&self, key: i64, event: Event) {
        let waiting = lock(&self.state).exchanges.remove(key);
        if let Some(waiting) = waiting {
            waiting.mailbox.put(event);
        }
    }

    /// Stops waiting for a request. Returns the id to name in `notifications/cancelled`, if the server is to be
    /// notified.
    pub fn cancel(&self, key: i64) -> Option<RequestId> {
        let waiting = lock(&self.state).exchanges.remove(key)?;
        waiting.notifies.then(|| waiting.sent())
    }

    /// Refuses new requests from now on. Those that wait for an answer go on.
    pub fn close(&self) {
        lock(&self.state).exchanges.closed = true;
    }

    /// Returns whether the connection is closed.
    pub fn is_closed(&self) -> bool {
        lock(&self.state).exchanges.closed
    }

    /// Closes the connection and fails every request that waits for an answer, each with the error for its number.
    pub fn fail_all(&self, error: impl Fn(i64) -> Error) {
        let waiting = {
            let mut state = lock(&self.state);
            state.exchanges.closed = true;
            state.exchanges.take_all()
        };
        for (key, waiting) in waiting {
            waiting.mailbox.put(Event::Failed(error(key)));
        }
    }

    /// Returns the number of requests of either side that are not answered yet.
    pub fn unanswered(&self) -> usize {
        self.requests.len() + lock(&self.state).exchanges.len()
    }

    /// Returns what is known about a message that was dropped and may be the answer that is late.
    pub fn note(&self) -> Option<String> {
        lock(&self.state).exchanges.note().cloned()
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("unanswered", &self.unanswered()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
