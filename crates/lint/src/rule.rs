//! Rules, as data: one table per family.

use std::fmt;

use serde::Serialize;

/// A lint rule.
///
/// ```
/// let rule = couplet_lint::rules().find(|rule| rule.id == "name-length").unwrap();
/// assert_eq!((rule.family.id(), rule.severity.id()), ("names", "error"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Rule {
    /// The identifier. It is stable and never changes its meaning.
    pub id: &'static str,
    /// The family.
    pub family: Family,
    /// The severity of its findings.
    pub severity: Severity,
    /// Whether it is disabled by default; see [`Config::enable`](crate::Config::enable).
    pub optional: bool,
    /// What the rule finds, in general.
    pub about: &'static str,
    /// The reason: which part of the specification, host or API it comes from.
    pub why: &'static str,
    /// The suggested fix.
    pub fix: &'static str,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// A possible improvement.
    Note,
    /// Does not work everywhere, or not well.
    Warning,
    /// Forbidden by the specification, rejected by widely used hosts or APIs, or a sign of an attack.
    Error,
}

impl Severity {
    /// Returns the severity in one word.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A family of rules, by their subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Family {
    /// Names of tools and of the server.
    Names,
    /// Descriptions, titles and instructions.
    Descriptions,
    /// JSON Schemas of arguments and results.
    Schemas,
    /// Tool annotations (behaviour hints).
    Annotations,
    /// Numbers and sizes of tools, pages and icons.
    Sizes,
    /// Hidden text, and text that instructs the model instead of describing.
    Text,
    /// Revisions, capabilities and the structure of answers.
    Protocol,
    /// Resources and resource templates.
    Resources,
    /// Prompts and their arguments.
    Prompts,
}

impl Family {
    /// All families, in the order in which they are checked.
    pub const ALL: &'static [Self] = &[
        Self::Names,
        Self::Descriptions,
        Self::Schemas,
        Self::Annotations,
        Self::Sizes,
        Self::Text,
        Self::Protocol,
        Self::Resources,
        Self::Prompts,
    ];

    /// Returns the identifier of the family.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::Descriptions => "descriptions",
            Self::Schemas => "schemas",
            Self::Annotations => "annotations",
            Self::Sizes => "sizes",
            Self::Text => "text",
            Self::Protocol => "protocol",
            Self::Resources => "resources",
            Self::Prompts => "prompts",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// Returns an iterator over all rules, grouped by family.
///
/// ```
/// for rule in couplet_lint::rules() {
///     assert!(rule.id.starts_with(|c: char| c.is_ascii_lowercase()));
/// }
/// ```
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    crate::rules::FAMILIES.iter().flat_map(|(rules, _)| rules.iter().copied())
}

/// Declares the rules of a module, and `RULES`, the list of them.
macro_rules! table {
    ($family:ident: $(
        $name:ident = $id:literal $severity:ident $(($optional:ident))?
            about $about:literal
            why $why:literal
            fix $fix:literal
    )+) => {
        $(pub(super) static $name: $crate::Rule = $crate::Rule {
            id: $id,
            family: $crate::Family::$family,
            severity: $crate::Severity::$severity,
            optional: table!(@optional $($optional)?),
            about: $about,
            why: $why,
            fix: $fix,
        };)+

        pub(crate) static RULES: &[&$crate::Rule] = &[$(&$name),+];
    };
    (@optional) => { false };
    (@optional optional) => { true };
}
pub(crate) use table;
