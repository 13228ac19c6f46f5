//! What a connector reports about a connection.

use std::{fmt, sync::Arc};

use bytes::Bytes;

/// The direction of a message, as the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To the server.
    Out,
    /// From the server.
    In,
}

impl Direction {
    /// Returns the name in the feed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::In => "in",
        }
    }
}

/// An HTTP request and the head of its response.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HttpExchange {
    /// The method.
    pub method: String,
    /// The URL, without secrets.
    pub url: String,
    /// The status, or 0 if there was no response.
    pub status: u16,
    /// The time until the head of the response, in milliseconds.
    pub millis: f64,
    /// The message that was sent.
    pub sent: Option<Bytes>,
    /// The headers of the request, without secrets.
    pub request_headers: Vec<(String, String)>,
    /// The headers of the response, without secrets.
    pub response_headers: Vec<(String, String)>,
}

impl HttpExchange {
    /// Creates an exchange.
    pub fn new(method: impl Into<String>, url: impl Into<String>, status: u16, millis: f64) -> Self {
        Self { method: method.into(), url: url.into(), status, millis, ..Self::default() }
    }

    /// Sets the message that was sent.
    #[must_use]
    pub fn sent(mut self, message: Bytes) -> Self {
        self.sent = Some(message);
        self
    }

    /// Sets the headers of the request and of the response. They must not have secrets.
    #[must_use]
    pub fn headers(mut self, request: Vec<(String, String)>, response: Vec<(String, String)>) -> Self {
        (self.request_headers, self.response_headers) = (request, response);
        self
    }
}

/// Something that happened on a connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Seen {
    /// A message, as it is on the wire.
    Message(Direction, Bytes),
    /// A line of the server's standard error.
    Stderr(String),
    /// A request of the transport, or of a login.
    Http(HttpExchange),
    /// The server requires a login at this URL, and the connection waits for it.
    Login(String),
}

/// A function that receives everything that happens on a connection. It must not block. Clones are the same.
///
/// ```
/// use couplet_inspector::{Direction, Seen, Tap};
///
/// let tap = Tap::new(|seen| if let Seen::Message(Direction::Out, text) = seen { assert_eq!(text, "{}") });
/// tap.message(Direction::Out, "{}");
/// ```
#[derive(Clone)]
pub struct Tap(Arc<dyn Fn(Seen) + Send + Sync>);

impl Tap {
    /// Creates a tap from a function.
    pub fn new(receive: impl Fn(Seen) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receive))
    }

    /// Reports a message.
    pub fn message(&self, direction: Direction, text: impl Into<Bytes>) {
        self.report(Seen::Message(direction, text.into()));
    }

    /// Reports anything.
    pub fn report(&self, seen: Seen) {
        (self.0)(seen);
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap").finish_non_exhaustive()
    }
}
