//! Errors, with a message and a hint.

use std::{fmt, io, path::Path};

use crate::Problem;

/// The error of this crate: what failed, and a hint what to do about it.
///
/// The message is one line, lower case, with names in backticks. A command shows the message and the
/// [hint](Error::hint), and chooses its exit code by [`Error::kind`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    problems: Vec<Problem>,
}

/// The category of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The arguments are invalid.
    Usage,
    /// A file exists but is invalid.
    Broken,
    /// The operating system reported an error.
    Io,
    /// Rules are violated; see [`Error::problems`].
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

    /// Returns the violated rules; empty unless the kind is [`ErrorKind::Findings`].
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, problems: Vec::new() }
    }

    pub(crate) fn broken(path: &Path, what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Broken, format!("`{}`: {what}", path.display()))
    }

    pub(crate) fn io(path: &Path, what: &str, error: &io::Error) -> Self {
        Self::new(ErrorKind::Io, format!("`{}` {what}: {error}", path.display()))
    }

    /// Returns an error if one of the problems is an error.
    pub(crate) fn for_problems(what: &str, problems: &[Problem]) -> Option<Self> {
        let count = problems.iter().filter(|p| p.severity == crate::Severity::Error).count();
        let things = if count == 1 { "1 rule is" } else { &format!("{count} rules are") };
        let mut error = Self::new(ErrorKind::Findings, format!("{what} is not valid: {things} violated"));
        error.problems = problems.to_vec();
        (count > 0).then_some(error)
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
