//! A violated rule.

use std::fmt;

/// A violated rule: the member, what is wrong, and a fix.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The severity of the problem.
    pub severity: Severity,
    /// The path of the member, such as `server.mcp_config.args[1]`; empty for the whole file.
    pub at: String,
    /// The problem, as a sentence without a full stop.
    pub message: String,
    /// The suggested fix.
    pub fix: String,
}

/// The severity of a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Accepted, but probably not intended.
    Warning,
    /// Rejected by hosts or by the registry.
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
