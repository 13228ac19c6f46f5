//! Errors, with a message and a hint.

use std::{fmt, io, path::Path};

/// The error of this crate: what failed, and a hint what to do about it. It never contains a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

/// The category of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A configuration or lock file is invalid.
    Config,
    /// A file cannot be read or written.
    Io,
    /// A profile, server, question, answer or grant of that name does not exist.
    Unknown,
    /// The gateway would be open to callers that it must not be open to.
    Refused,
    /// A server, or another gateway, could not be reached.
    Unreachable,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    pub(crate) fn config(path: &Path, at: Option<(usize, usize)>, what: impl fmt::Display) -> Self {
        let place = at.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
        Self::new(ErrorKind::Config, format!("`{}{place}`: {what}", path.display()))
    }

    pub(crate) fn io(path: &Path, what: &str, error: &io::Error) -> Self {
        Self::new(ErrorKind::Io, format!("`{}` cannot be {what}: {error}", path.display()))
    }

    pub(crate) fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the category.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns a hint what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<couplet_hosts::Error> for Error {
    fn from(error: couplet_hosts::Error) -> Self {
        let kind = match error.kind() {
            couplet_hosts::ErrorKind::Io => ErrorKind::Io,
            _ => ErrorKind::Config,
        };
        Self::new(kind, error.to_string())
    }
}
