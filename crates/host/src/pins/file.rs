//! The text of a lock file.

use std::fmt;

use super::Lock;

impl Lock {
    /// Parses the text of a lock file.
    ///
    /// # Errors
    /// If the text is not a lock file of this version, or if a definition in it does not have its digest.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let _ = text;
        todo!()
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}

/// A text that is not a lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockError(String);

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LockError {}
