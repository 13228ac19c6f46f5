//! The error type of the library.

use std::{fmt, sync::Arc};

use couplet_types::RpcError;

/// The error type of clients, servers and transports: an error that the peer reported, or a local one.
///
/// It is opaque: ask [`Error::kind`] or a predicate, and show it with `Display`. The text is not stable.
#[derive(Clone)]
pub struct Error(Arc<ErrorInner>);

struct ErrorInner {
    kind: ErrorKind,
    what: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    outdated: bool,
    unsent: bool,
}

/// The category of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The connection closed before the response arrived. The request may or may not have been executed.
    Closed,
    /// No response arrived before the timeout. The request may or may not have been executed.
    Timeout,
    /// The peer violated the protocol.
    Protocol,
    /// The peer responded with a JSON-RPC error; see [`Error::rpc`].
    Rpc,
    /// A tool reported that it failed (`isError`). The message contains the text that the tool gave.
    Tool,
    /// The transport failed: a process that does not start, a refused connection, a broken pipe.
    Transport,
    /// Authentication or authorization failed (401 or 403). The challenge is in `source()`.
    Auth,
    /// The negotiated revision or the capabilities of the peer do not include the request.
    Unsupported,
    /// The two sides have no revision in common.
    Version,
    /// Invalid configuration or arguments on this side.
    Config,
    /// A callback of the program failed, and with it the request that it was called for.
    Callback,
    /// Any other error of the program, such as a file that cannot be read; see [`Error::other`].
    Other,
}

impl Error {
    /// Creates a local error.
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self(Arc::new(ErrorInner { kind, what: what.into(), source: None, outdated: false, unsent: false }))
    }

    /// Wraps any other error, keeping its text.
    ///
    /// ```
    /// use couplet_core::{Error, ErrorKind};
    ///
    /// fn port(text: &str) -> Result<u16, Error> {
    ///     text.parse().map_err(Error::other)
    /// }
    ///
    /// assert_eq!(port("x").unwrap_err().to_string(), "invalid digit found in string");
    /// assert_eq!(port("x").unwrap_err().kind(), ErrorKind::Other);
    /// ```
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let error = error.into();
        Self::new(ErrorKind::Other, error.to_string()).with_source(error)
    }

    /// Sets the source of the error.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let ErrorInner { kind, what, outdated, unsent, .. } = &*self.0;
        let (what, source) = (what.clone(), Some(source.into()));
        Self(Arc::new(ErrorInner { kind: *kind, what, source, outdated: *outdated, unsent: *unsent }))
    }

    /// Creates an error caused by stale cached knowledge about the peer. The cache entry is gone, so a retry may succeed.
    pub fn outdated(kind: ErrorKind, what: impl Into<String>, source: Self) -> Self {
        Self(Arc::new(ErrorInner {
            kind,
            what: what.into(),
            source: Some(source.into()),
            outdated: true,
            unsent: false,
        }))
    }

    /// Creates an error for a request that was not sent.
    pub fn unsent(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self(Arc::new(ErrorInner { kind, what: what.into(), source: None, outdated: false, unsent: true }))
    }

    /// Returns the category.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the JSON-RPC error that the peer responded with, if there is one.
    pub fn rpc(&self) -> Option<&RpcError> {
        self.0.source.as_ref()?.downcast_ref()
    }

    /// Returns whether the request timed out.
    pub fn is_timeout(&self) -> bool {
        self.kind() == ErrorKind::Timeout
    }

    /// Returns whether stale cached knowledge was the only cause; a retry may succeed.
    pub fn is_outdated(&self) -> bool {
        self.0.outdated
    }

    /// Returns whether the request was certainly not sent, so that a retry cannot execute it twice.
    pub fn is_unsent(&self) -> bool {
        self.0.unsent
    }

    /// Returns whether the connection closed.
    pub fn is_closed(&self) -> bool {
        self.kind() == ErrorKind::Closed
    }
}

impl From<RpcError> for Error {
    fn from(error: RpcError) -> Self {
        Self::new(ErrorKind::Rpc, format!("the peer answered with error {}: {}", error.code, error.message))
            .with_source(error)
    }
}

/// A broken connection is one of the transport; any other error keeps its own words, such as those of a file that does not
/// exist.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        match error.kind() {
            Io::BrokenPipe
            | Io::ConnectionAborted
            | Io::ConnectionRefused
            | Io::ConnectionReset
            | Io::NotConnected
            | Io::TimedOut
            | Io::UnexpectedEof
            | Io::WriteZero => Self::new(ErrorKind::Transport, "the transport failed").with_source(error),
            _ => Self::other(error),
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::other(error)
    }
}

impl From<Box<dyn std::error::Error + Send + Sync>> for Error {
    fn from(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        Self::other(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.what)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Error");
        out.field("kind", &self.0.kind).field("what", &self.0.what);
        if let Some(source) = &self.0.source {
            out.field("source", source);
        }
        out.finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|s| &**s as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use std::{error::Error as _, io};

    use super::*;

    fn check(error: Error, kind: ErrorKind, text: &str) {
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
        assert!(error.source().is_some());
    }

    #[test]
    fn errors_of_a_program_keep_their_words() {
        check(io::Error::new(io::ErrorKind::NotFound, "no such file").into(), ErrorKind::Other, "no such file");
        check(io::Error::from(io::ErrorKind::BrokenPipe).into(), ErrorKind::Transport, "the transport failed");
        let json = serde_json::from_str::<u8>("x").unwrap_err();
        check(json.into(), ErrorKind::Other, "expected value at line 1 column 1");
        let boxed: Box<dyn std::error::Error + Send + Sync> = "in words".into();
        check(boxed.into(), ErrorKind::Other, "in words");
    }
}
