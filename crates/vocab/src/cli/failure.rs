//! Why a command could not be done.

use std::{fmt, io, path::Path};

use super::visible;

/// Why a command could not be done.
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

    /// This failure, and those of other files.
    pub(super) fn and(mut self, others: &[Self]) -> Self {
        others.iter().for_each(|other| self.what += &format!("; {}", other.what));
        self
    }

    /// Whether the command line is wrong, and not a file.
    pub fn is_usage(&self) -> bool {
        self.kind == Kind::Usage
    }

    /// Whether a file cannot be read, or is not what it should be.
    pub fn is_file(&self) -> bool {
        self.kind == Kind::File
    }

    /// Whether nobody reads the output any more, so that there is nobody to tell.
    pub fn is_closed(&self) -> bool {
        self.kind == Kind::Closed
    }

    /// What to do about it.
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

/// The output cannot be written: files are read in one place, which says so itself.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::BrokenPipe { Kind::Closed } else { Kind::Output };
        Self { kind, what: format!("the result cannot be written: {error}"), hint: None }
    }
}
