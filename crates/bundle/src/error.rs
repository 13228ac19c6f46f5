//! What can go wrong, as sentences.

use std::{fmt, io, path::Path};

use crate::Problem;

/// Something that was not done, why, and what to do about it.
///
/// The message is one line; a command prints it, then the hint, and chooses its exit code by [`Error::kind`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    problems: Vec<Problem>,
}

/// What sort of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What was asked for makes no sense.
    Usage,
    /// A file is there and cannot be understood.
    Broken,
    /// The system said no.
    Io,
    /// Rules are broken; see [`Error::problems`].
    Findings,
}

impl Error {
    /// What sort of thing went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What to do about it, if that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The rules that are broken, if that is what went wrong.
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

    /// An error for problems, if one of them is one.
    pub(crate) fn for_problems(what: &str, problems: &[Problem]) -> Option<Self> {
        let count = problems.iter().filter(|p| p.severity == crate::Severity::Error).count();
        let things = if count == 1 { "1 rule is" } else { &format!("{count} rules are") };
        let mut error = Self::new(ErrorKind::Findings, format!("{what} is not right: {things} broken"));
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
