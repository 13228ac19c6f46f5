//! The configuration: enabled rules and limits.

use std::{collections::BTreeSet, fmt};

use couplet_core::visible;

use crate::{Rule, Severity, rule::rules};

/// The configuration of [`lint`](crate::lint): enabled rules, the lowest severity, and limits.
///
/// ```
/// use couplet_lint::{Config, Severity};
///
/// let mut config = Config::new().disable("text")?.disable("title-missing")?.enable("schema-open")?;
/// config.min_severity = Severity::Warning;
/// assert_eq!(
///     Config::new().disable("colours").unwrap_err().to_string(),
///     "there is no rule and no family of rules called `colours`",
/// );
/// # Ok::<(), couplet_lint::UnknownRule>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The name of the server in the configuration of hosts, which they prepend to the names of tools. Default: the
    /// server's own name.
    pub name: Option<String>,
    /// The lowest severity to report. Default: [`Severity::Note`].
    pub min_severity: Severity,
    /// The maximum number of findings per rule; further ones are counted. Default: 50.
    pub max_per_rule: usize,
    off: BTreeSet<&'static str>,
}

impl Config {
    /// Enables every rule that is not optional.
    pub fn new() -> Self {
        let off = rules().filter(|rule| rule.optional).map(|rule| rule.id).collect();
        Self { name: None, min_severity: Severity::Note, max_per_rule: 50, off }
    }

    /// Enables a rule or a family of rules.
    ///
    /// # Errors
    /// If there is no rule and no family of that name.
    pub fn enable(mut self, name: &str) -> Result<Self, UnknownRule> {
        for rule in named(name)? {
            self.off.remove(rule.id);
        }
        Ok(self)
    }

    /// Disables a rule or a family of rules.
    ///
    /// # Errors
    /// If there is no rule and no family of that name.
    pub fn disable(mut self, name: &str) -> Result<Self, UnknownRule> {
        self.off.extend(named(name)?.iter().map(|rule| rule.id));
        Ok(self)
    }

    /// Returns `true` if a rule is enabled.
    pub fn is_enabled(&self, rule: &Rule) -> bool {
        rule.severity >= self.min_severity && !self.off.contains(rule.id)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

fn named(name: &str) -> Result<Vec<&'static Rule>, UnknownRule> {
    let found: Vec<_> = rules().filter(|rule| rule.id == name || rule.family.id() == name).collect();
    if found.is_empty() { Err(UnknownRule(name.to_owned())) } else { Ok(found) }
}

/// The error for a name that is neither a rule nor a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule(String);

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no rule and no family of rules called `{}`", visible(&self.0))
    }
}

impl std::error::Error for UnknownRule {}
