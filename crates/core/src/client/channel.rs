//! The two traits between a client and its transport: requests out, and what the server sends on its own.

use bytes::Bytes;
use couplet_types::{RequestId, RpcError};

use crate::{
    client::{exchange::Exchange, outgoing::Outgoing},
    error::Error,
    message::{Malformed, Params, scan::JsonText},
    server::running::BoxFuture,
};

/// A client's channel to one server: one request out, a stream of events back.
///
/// A message transport has one implementation for all requests, [`ClientHandle`](crate::ClientHandle); over HTTP each
/// request is an HTTP request of its own.
pub trait Channel: Send + Sync + 'static {
    /// Returns an id that no other request on this channel has.
    fn next_id(&self) -> RequestId;

    /// Sends a request. Dropping the exchange before the answer cancels the request.
    fn open(&self, request: Outgoing) -> Exchange;

    /// Sends a request whose exchange the caller polls until its last event. A transport may do its work there, in the
    /// task of the caller, and sends nothing before the first poll then. The default is [`open`](Self::open).
    fn open_driven(&self, request: Outgoing) -> Exchange {
        self.open(request)
    }

    /// Sends a notification.
    fn notify(&self, text: Bytes);

    /// Sets the revision that both sides speak from now on.
    fn agree(&self, dialect: &crate::Dialect);

    /// Closes the channel: messages that were sent are still delivered, requests that wait for an answer fail.
    fn close(&self);

    /// Returns whether requests wait for a person, such as one who logs in; deadlines are suspended meanwhile. It is
    /// called only when a deadline would pass.
    fn is_held_up(&self) -> bool {
        false
    }

    /// Returns the reason why an answer may be missing, such as a message that was dropped. It is called only when a
    /// deadline has passed.
    fn note(&self) -> Option<String> {
        None
    }

    /// Returns the value of OpenTelemetry's `network.transport`: `pipe`, `tcp`, `unix` or `quic`.
    ///
    /// With the default, `None`, the spans and metrics of this connection have no such attribute. On a `pipe`, and with
    /// `None`, a proxy assumes that each further connection is a process.
    fn transport(&self) -> Option<&'static str> {
        None
    }
}

/// A client's handler for everything that the server sends on its own.
pub trait Inbound: Send + Sync + 'static {
    /// Answers a request of the server. The future is dropped when the server cancels the request.
    fn request(&self, method: &str, params: &Params) -> BoxFuture<'static, Result<JsonText, RpcError>>;

    /// Receives a notification that belongs to no request. It is called where messages are read, so it must not block.
    fn notification(&self, method: &str, params: Params);

    /// Receives a copy of a notification that belongs to a request, before the owner of the request gets it.
    fn overhear(&self, method: &str, params: &Params) {
        let _ = (method, params);
    }

    /// Called with an error when the server can no longer send messages on its own, and with `None` when it can again.
    fn silent(&self, why: Option<Error>) {
        let _ = why;
    }

    /// Receives a message that could not be parsed, or that the server must not send.
    fn malformed(&self, malformed: &Malformed) {
        let _ = malformed;
    }
}
