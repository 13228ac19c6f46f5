//! What is looked for.

use std::{collections::BTreeSet, fmt};

use crate::{Rule, Severity, rule::rules, visible::visible};

/// What is looked for, and how many findings are kept.
///
/// ```
/// use couplet_lint::{Config, Severity};
///
/// let mut config = Config::new().without("text")?.without("title-missing")?.with("schema-open")?;
/// config.least = Severity::Warning;
/// assert_eq!(
///     Config::new().without("colours").unwrap_err().to_string(),
///     "there is no rule and no family of rules called `colours`",
/// );
/// # Ok::<(), couplet_lint::UnknownRule>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// What the server is called in the configuration of hosts, which they put in front of the names of tools. Taken as
    /// the server's own name if it is not told.
    pub name: Option<String>,
    /// What is not as bad as this is left out.
    pub least: Severity,
    /// How many findings of one rule are kept: 50. The others are counted.
    pub most: usize,
    off: BTreeSet<&'static str>,
}

impl Config {
    /// Every rule that is not optional.
    pub fn new() -> Self {
        let off = rules().filter(|rule| rule.optional).map(|rule| rule.id).collect();
        Self { name: None, least: Severity::Note, most: 50, off }
    }

    /// Switches a rule or a family on.
    ///
    /// # Errors
    /// When there is neither.
    pub fn with(mut self, name: &str) -> Result<Self, UnknownRule> {
        for rule in named(name)? {
            self.off.remove(rule.id);
        }
        Ok(self)
    }

    /// Switches a rule or a family off.
    ///
    /// # Errors
    /// When there is neither.
    pub fn without(mut self, name: &str) -> Result<Self, UnknownRule> {
        self.off.extend(named(name)?.iter().map(|rule| rule.id));
        Ok(self)
    }

    /// Whether a rule is looked for.
    pub fn has(&self, rule: &Rule) -> bool {
        rule.severity >= self.least && !self.off.contains(rule.id)
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

/// A name that neither a rule nor a family has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule(String);

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no rule and no family of rules called `{}`", visible(&self.0))
    }
}

impl std::error::Error for UnknownRule {}
