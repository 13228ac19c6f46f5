//! A rule that is broken.

use std::fmt;

/// Where a rule is broken, how, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The member, such as `server.mcp_config.args[1]`; empty for the whole file.
    pub at: String,
    /// What is wrong, as a sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub fix: String,
}

/// How bad a [`Problem`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It is accepted, and probably not what was meant.
    Warning,
    /// It is refused.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.at.is_empty() { String::new() } else { format!("`{}` ", self.at) };
        write!(f, "{}: {at}{} (do: {})", self.severity, self.message, self.fix)
    }
}
