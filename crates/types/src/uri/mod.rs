//! URI templates ([RFC 6570](https://www.rfc-editor.org/rfc/rfc6570)): parsing, expansion and matching.
//!
//! The RFC defines expansion only. Matching is the other direction, and is made here so that it takes time linear in
//! the URI whatever the peer sends: every boundary is found by one search, nothing is tried twice. Templates for
//! which one search could not decide are refused when they are registered ([`UriTemplate::parse_for_matching`]).
//!
//! This module knows text. It does not judge values: a captured `..` is for the handler to refuse.

mod expand;
mod matching;
mod parse;

use std::fmt;

use matching::{Plan, read_named, read_positional};
use parse::parse_parts;

const MAX_TEMPLATE: usize = 8 * 1024;
const MAX_VARIABLES: usize = 256;
const MAX_URI: usize = 64 * 1024;

/// A parsed URI template.
///
/// ```
/// use couplet_types::UriTemplate;
///
/// let template = UriTemplate::parse_for_matching("repo://{owner}/{name}/{+path}{?rev}")?;
/// let found = template.matches("repo://ann/my%20code/src/lib.rs?rev=v2").expect("it has the template's shape");
/// assert_eq!(found.get("name"), Some("my code"));
/// assert_eq!(found.get("path"), Some("src/lib.rs"));
/// assert_eq!(found.get("rev"), Some("v2"));
///
/// let uri = template.expand(&[("owner", "ann".into()), ("name", "my code".into()), ("path", "a/b".into())]);
/// assert_eq!(uri, "repo://ann/my%20code/a/b");
/// # Ok::<(), couplet_types::TemplateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplate {
    text: String,
    parts: Vec<Part>,
    plan: Result<Plan, TemplateError>,
}

impl UriTemplate {
    /// Parses a template, of at most 8 KiB and 256 variables.
    ///
    /// # Errors
    /// If the text is not a valid template by the RFC. All four levels are supported.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if text.len() > MAX_TEMPLATE {
            return Err(TemplateError::new(MAX_TEMPLATE, "the template is longer than 8 KiB"));
        }
        let parts = parse_parts(text)?;
        let plan = Plan::new(&parts);
        Ok(Self { text: text.to_owned(), parts, plan })
    }

    /// Parses a template that URIs will be matched with.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and if a URI could be divided among the variables in more than one way, as with
    /// `{a}{b}`.
    ///
    /// ```
    /// use couplet_types::UriTemplate;
    ///
    /// assert!(UriTemplate::parse_for_matching("x://{a}/{b}").is_ok());
    /// let error = UriTemplate::parse_for_matching("x://{a}{b}").unwrap_err();
    /// assert_eq!(error.offset(), 7);
    /// ```
    pub fn parse_for_matching(text: &str) -> Result<Self, TemplateError> {
        let template = Self::parse(text)?;
        match &template.plan {
            Ok(_) => Ok(template),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns the text that the template was parsed from.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether the template has no expressions, so that it matches one URI only.
    pub fn is_literal(&self) -> bool {
        self.expressions().next().is_none()
    }

    /// Returns the names of the variables, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.expressions().flat_map(|expression| &expression.variables).map(|variable| variable.name.as_str())
    }

    /// Expands the template. Variables without a value are undefined, and expand to nothing.
    pub fn expand(&self, values: &[(&str, TemplateValue)]) -> String {
        let mut uri = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => uri.push_str(literal),
                Part::Expression(expression) => expression.expand(values, &mut uri),
            }
        }
        uri
    }

    /// Matches a URI, and returns the percent-decoded values of the variables; `None` if it does not match.
    ///
    /// * `{x}` and `{+x}` take at least one character; `{x}` ends before `/`, `?` and `#`, `{+x}` need not.
    /// * Expressions that start with a mark (`{.x}`, `{/x}`, `{;x}`, `{?x}`, `{&x}`, `{#x}`) may be absent.
    /// * Named parameters (`{;x,y}`, `{?x,y}`, `{&x,y}`) come in any order; unknown ones are ignored, and of one that
    ///   is repeated the first counts unless the variable has a `*`.
    /// * Text between expressions is looked for from the left. The last text, and all that follows a `{+x}` or a
    ///   `{/x*}`, is looked for from the right: in `{+dir}/{name}` the name is the last segment.
    ///
    /// A value that is not UTF-8 or has a stray `%` does not match, nor does a URI of more than 64 KiB. A template
    /// without expressions matches itself only; one that [`parse_for_matching`](Self::parse_for_matching) would have
    /// refused matches nothing.
    pub fn matches(&self, uri: &str) -> Option<Captures> {
        let plan = self.plan.as_ref().ok()?;
        if self.is_literal() {
            return (uri == self.text).then(Captures::default);
        }
        if uri.len() > MAX_URI {
            return None;
        }
        let spans = plan.divide(&self.parts, uri)?;
        let mut values = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            let (Part::Expression(expression), Some(Some(span))) = (part, spans.get(index)) else { continue };
            if plan.query.contains(&index) {
                let query = expressions(self.parts.get(plan.query.clone())?).flat_map(|query| &query.variables);
                read_named(&query.collect::<Vec<_>>(), '&', span, &mut values)?;
            } else if expression.operator.is_named() {
                read_named(&expression.variables.iter().collect::<Vec<_>>(), ';', span, &mut values)?;
            } else {
                read_positional(expression, span, &mut values)?;
            }
        }
        Some(Captures { values })
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        expressions(&self.parts)
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A value of a variable. An empty list or map counts as undefined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateValue {
    /// One string.
    Text(String),
    /// Several strings: `red,green`, or one item each where the variable has a `*`.
    List(Vec<String>),
    /// Names and values, in order: `x,1,y,2`, or `x=1` and `y=2` where the variable has a `*`.
    Map(Vec<(String, String)>),
}

impl From<&str> for TemplateValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for TemplateValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<String>> for TemplateValue {
    fn from(list: Vec<String>) -> Self {
        Self::List(list)
    }
}

/// The values of the variables in a URI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    values: Vec<(String, Vec<String>)>,
}

impl Captures {
    /// Returns the value of a variable; the first one if it has a `*`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_all(name).first().map(String::as_str)
    }

    /// Returns all values of a variable: several only if it has a `*`, none if it is absent.
    pub fn get_all(&self, name: &str) -> &[String] {
        self.values.iter().find(|(known, _)| known == name).map_or(&[], |(_, values)| values)
    }

    /// Returns names and values in the order of the template; a name with several values is repeated.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().flat_map(|(name, values)| values.iter().map(move |value| (name.as_str(), value.as_str())))
    }
}

/// The error for a string that is not a URI template, or not one that can be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    offset: usize,
    reason: String,
}

impl TemplateError {
    fn new(offset: usize, reason: impl Into<String>) -> Self {
        Self { offset, reason: reason.into() }
    }

    /// Returns the offset of the error in the template, in bytes.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "uri template, byte {}: {}", self.offset, self.reason)
    }
}

impl std::error::Error for TemplateError {}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Text as it stands in URIs: what a URI cannot hold is percent-encoded already.
    Literal(String),
    Expression(Expression),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Expression {
    offset: usize,
    operator: Operator,
    variables: Vec<Variable>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    name: String,
    modifier: Modifier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Modifier {
    None,
    /// `:n`, the first `n` characters.
    Prefix(usize),
    /// `*`, one item for each member.
    Explode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    Continuation,
}

/// The table of RFC 6570, appendix A.
impl Operator {
    const MARKED: [(char, Self); 6] = [
        ('#', Self::Fragment),
        ('.', Self::Label),
        ('/', Self::Path),
        (';', Self::Parameter),
        ('?', Self::Query),
        ('&', Self::Continuation),
    ];

    /// What an expansion starts with.
    fn mark(self) -> Option<char> {
        Self::MARKED.iter().find(|(_, operator)| *operator == self).map(|(mark, _)| *mark)
    }

    fn separator(self) -> char {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ',',
            Self::Label => '.',
            Self::Path => '/',
            Self::Parameter => ';',
            Self::Query | Self::Continuation => '&',
        }
    }

    fn is_named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    fn keeps_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}

fn expressions(parts: &[Part]) -> impl Iterator<Item = &Expression> {
    parts.iter().filter_map(|part| match part {
        Part::Expression(expression) => Some(expression),
        Part::Literal(_) => None,
    })
}
