//! The error of the commands.

use std::{fmt, io, path::Path};

use super::visible;

/// The error of the commands: what failed, and a hint what to do about it.
///
/// ```
/// use couplet_vocab::cli::{self, SchemaArgs};
///
/// let args = SchemaArgs { definition: Some("Toll".into()), ..SchemaArgs::default() };
/// let failure = cli::schema(&args, &mut Vec::new()).unwrap_err();
/// assert!(failure.is_usage());
/// assert_eq!(failure.hint(), Some("did you mean `Tool`?"));
/// ```
#[derive(Clone, Debug)]
pub struct Failure {
    kind: Kind,
    what: String,
    hint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Usage,
    File,
    Output,
    Closed,
}

impl Failure {
    pub(super) fn usage(what: String, hint: Option<String>) -> Self {
        Self { kind: Kind::Usage, what, hint }
    }

    pub(super) fn unreadable(path: &Path, error: &dyn fmt::Display) -> Self {
        let what = format!("`{}` cannot be read: {}", path.display(), visible(&error.to_string()));
        Self { kind: Kind::File, what, hint: None }
    }

    /// Adds the messages of other failures.
    pub(super) fn and(mut self, others: &[Self]) -> Self {
        others.iter().for_each(|other| self.what += &format!("; {}", other.what));
        self
    }

    /// Returns `true` if the arguments are invalid.
    pub fn is_usage(&self) -> bool {
        self.kind == Kind::Usage
    }

    /// Returns `true` if an input file cannot be read or is invalid.
    pub fn is_file(&self) -> bool {
        self.kind == Kind::File
    }

    /// Returns `true` if the reader of the output is gone (a broken pipe), so that nothing needs to be reported.
    pub fn is_closed(&self) -> bool {
        self.kind == Kind::Closed
    }

    /// Returns a hint what to do about the failure.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failure {}

/// An error of the output: input files are opened in one place, which reports its own errors.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::BrokenPipe { Kind::Closed } else { Kind::Output };
        Self { kind, what: format!("the result cannot be written: {error}"), hint: None }
    }
}
