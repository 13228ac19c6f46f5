//! What a rule is: data, in one table per family.

use std::fmt;

use serde::Serialize;

/// One thing that can be wrong with a server.
///
/// ```
/// let rule = couplet_lint::rules().find(|rule| rule.id == "name-length").unwrap();
/// assert_eq!((rule.family.id(), rule.severity.id()), ("names", "error"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Rule {
    /// What it is called. It never changes its meaning.
    pub id: &'static str,
    /// What it is about.
    pub family: Family,
    /// How bad it is.
    pub severity: Severity,
    /// Whether it is only looked for when asked ([`Config::with`](crate::Config::with)).
    pub optional: bool,
    /// What is wrong, in general.
    pub about: &'static str,
    /// Who minds: the specification, a host or an API.
    pub why: &'static str,
    /// What to do.
    pub fix: &'static str,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// It could be better.
    Note,
    /// It works, but not everywhere, or not well.
    Warning,
    /// The specification forbids it, widely used hosts or APIs refuse it, or it looks like an attack.
    Error,
}

impl Severity {
    /// The severity in a word.
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

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Family {
    /// What tools are called.
    Names,
    /// What is told to the model and to people.
    Descriptions,
    /// The JSON Schemas of arguments and results.
    Schemas,
    /// How tools say that they behave.
    Annotations,
    /// How much there is of everything.
    Sizes,
    /// Text that is hidden, or that talks to the model instead of describing.
    Text,
    /// Revisions, capabilities and the shape of answers.
    Protocol,
    /// Resources and their templates.
    Resources,
    /// Prompts and their arguments.
    Prompts,
}

impl Family {
    /// Every family, in the order in which they are looked at.
    pub const ALL: [Self; 9] = [
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

    /// The family in a word.
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

/// Every rule, family by family.
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
