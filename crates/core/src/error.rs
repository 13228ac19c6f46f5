//! What can go wrong for a program that uses the library.

use std::{fmt, sync::Arc};

use couplet_types::RpcError;

/// A failure that a program sees. What the peer reported is one kind of it; the others are local.
#[derive(Clone)]
pub struct Error(Arc<ErrorInner>);

struct ErrorInner {
    kind: ErrorKind,
    what: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    outdated: bool,
    unsent: bool,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The connection ended before the answer came. Whether the request was carried out is not known.
    Closed,
    /// No answer came in time. Whether the request was carried out is not known.
    Timeout,
    /// The peer said something that makes no sense in the protocol.
    Protocol,
    /// The peer answered with an error.
    Rpc,
    /// The bytes could not be moved: a process that does not start, a broken pipe.
    Transport,
    /// The server wants to know who asks, or does not allow it: what it said is in the source.
    Auth,
    /// What was asked for does not exist in the revision that the peer speaks, or behind its capabilities.
    Unsupported,
    /// The two sides have no revision in common.
    Version,
    /// The program asked for something that cannot be.
    Config,
    /// A callback of the program failed, so the request that it was to answer for was given up.
    Callback,
    /// Something else of the program's own, such as a file that cannot be read.
    Other,
}

impl Error {
    /// A failure of this side.
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self(Arc::new(ErrorInner { kind, what: what.into(), source: None, outdated: false, unsent: false }))
    }

    /// Any other error of the program, as one of this type. Its text is that of the error.
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

    /// The same failure with what caused it.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let ErrorInner { kind, what, outdated, unsent, .. } = &*self.0;
        let (what, source) = (what.clone(), Some(source.into()));
        Self(Arc::new(ErrorInner { kind: *kind, what, source, outdated: *outdated, unsent: *unsent }))
    }

    /// A failure with what caused it, because something that was remembered about the peer holds no more. It is
    /// forgotten now, so the same may succeed when it is tried again.
    pub fn outdated(kind: ErrorKind, what: impl Into<String>, source: Self) -> Self {
        Self(Arc::new(ErrorInner {
            kind,
            what: what.into(),
            source: Some(source.into()),
            outdated: true,
            unsent: false,
        }))
    }

    /// A failure because of which a request was not sent.
    pub fn unsent(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self(Arc::new(ErrorInner { kind, what: what.into(), source: None, outdated: false, unsent: true }))
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What the peer reported, if that is what failed.
    pub fn rpc(&self) -> Option<&RpcError> {
        self.0.source.as_ref()?.downcast_ref()
    }

    /// Whether no answer came in time.
    pub fn is_timeout(&self) -> bool {
        self.kind() == ErrorKind::Timeout
    }

    /// Whether something that was remembered was wrong, and nothing else.
    pub fn is_outdated(&self) -> bool {
        self.0.outdated
    }

    /// Whether the request that failed was certainly not sent, so that it can be repeated without being carried out
    /// twice.
    pub fn is_unsent(&self) -> bool {
        self.0.unsent
    }

    /// Whether the connection ended.
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
