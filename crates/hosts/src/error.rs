//! Errors, with a message and a hint.

use std::{fmt, io, path::Path};

/// The error of this crate: what failed, and a hint what to do about it.
///
/// The message is one line, lower case, with names in backticks. A command shows the message and the
/// [hint](Error::hint), and chooses its exit code by [`Error::kind`].
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
    /// The arguments are invalid.
    Usage,
    /// There is no host or server of that name.
    Unknown,
    /// A file exists but cannot be parsed or edited. It was not modified.
    Broken,
    /// A different entry exists already, or the file was changed by another program.
    Conflict,
    /// The operating system reported an error.
    Io,
    /// A check found errors.
    Findings,
}

impl Error {
    /// Returns the category of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns a hint what to do about the error.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    pub(crate) fn unknown(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unknown, message)
    }

    pub(crate) fn broken(path: &Path, at: Option<(usize, usize)>, what: impl fmt::Display) -> Self {
        let place = at.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
        Self::new(ErrorKind::Broken, format!("`{}{place}`: {what}", path.display()))
    }

    pub(crate) fn io(path: &Path, what: &str, error: &io::Error) -> Self {
        Self::new(ErrorKind::Io, format!("`{}` {what}: {error}", path.display()))
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
