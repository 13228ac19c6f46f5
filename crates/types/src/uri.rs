//! URI templates ([RFC 6570](https://www.rfc-editor.org/rfc/rfc6570)): parsing, expansion and matching.
//!
//! The RFC defines expansion only. Matching is the other direction, and is made here so that it takes time linear in
//! the URI whatever the peer sends: every boundary is found by one search, nothing is tried twice. Templates for
//! which one search could not decide are refused when they are registered ([`UriTemplate::parse_for_matching`]).
//!
//! This module knows text. It does not judge values: a captured `..` is for the handler to refuse.

use std::{collections::HashMap, fmt, ops::Range};

const MAX_TEMPLATE: usize = 8 * 1024;
const MAX_VARIABLES: usize = 256;
const MAX_URI: usize = 64 * 1024;

/// A URI template, parsed.
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
    /// When the text is not a template by the RFC. All four levels are understood.
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
    /// As [`parse`](Self::parse), and when a URI could be divided among the variables in more than one way, as with
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

    /// The text the template was parsed from.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the template has no expressions, so that it is the URI of one thing.
    pub fn is_literal(&self) -> bool {
        self.expressions().next().is_none()
    }

    /// The names of the variables, in the order they are written.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.expressions().flat_map(|expression| &expression.variables).map(|variable| variable.name.as_str())
    }

    /// The URI for these values; a variable that is not among them is undefined and leaves nothing behind.
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

    /// The values of the variables in a URI of the template's shape, percent-decoded once; `None` for other URIs.
    ///
    /// * `{x}` and `{+x}` take at least one character; `{x}` ends before `/`, `?` and `#`, `{+x}` need not.
    /// * Expressions that start with a mark (`{.x}`, `{/x}`, `{;x}`, `{?x}`, `{&x}`, `{#x}`) may be absent.
    /// * Named parameters (`{;x,y}`, `{?x,y}`, `{&x,y}`) come in any order; unknown ones are ignored, and of one that is
    ///   repeated the first counts unless the variable has a `*`.
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

/// A value to put into a template. An empty list or map counts as undefined.
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

/// What a URI held for the variables of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    values: Vec<(String, Vec<String>)>,
}

impl Captures {
    /// The value of a variable; of a variable with a `*`, the first one.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_all(name).first().map(String::as_str)
    }

    /// All values of a variable: several only if it has a `*`, none if it was absent.
    pub fn get_all(&self, name: &str) -> &[String] {
        self.values.iter().find(|(known, _)| known == name).map_or(&[], |(_, values)| values)
    }

    /// Names and values in the order of the template; a name with several values comes several times.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().flat_map(|(name, values)| values.iter().map(move |value| (name.as_str(), value.as_str())))
    }
}

/// Why a text is not a URI template, or not one that can be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    offset: usize,
    reason: String,
}

impl TemplateError {
    fn new(offset: usize, reason: impl Into<String>) -> Self {
        Self { offset, reason: reason.into() }
    }

    /// The byte of the template at which the trouble starts.
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

// Parsing.

fn parse_parts(text: &str) -> Result<Vec<Part>, TemplateError> {
    let mut parts = Vec::new();
    let (mut at, mut variables) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(body) = rest.strip_prefix('{') {
            let (body, _) = body.split_once('}').ok_or_else(|| TemplateError::new(at, "`{` is never closed"))?;
            let expression = parse_expression(body, at)?;
            variables += expression.variables.len();
            if variables > MAX_VARIABLES {
                return Err(TemplateError::new(at, "the template has more than 256 variables"));
            }
            parts.push(Part::Expression(expression));
            at += body.len() + 2;
        } else {
            let literal = rest.split('{').next().unwrap_or(rest);
            parts.push(Part::Literal(parse_literal(literal, at)?));
            at += literal.len();
        }
    }
    Ok(parts)
}

fn parse_literal(text: &str, offset: usize) -> Result<String, TemplateError> {
    for (at, c) in text.char_indices() {
        let refused = match c {
            '%' => !starts_with_triplet(text.as_bytes().get(at..).unwrap_or_default()),
            _ => c.is_control() || " \"<>\\^`|}".contains(c),
        };
        if refused {
            let reason = format!("{c:?} cannot stand in a uri template, write it percent-encoded");
            return Err(TemplateError::new(offset + at, reason));
        }
    }
    let mut literal = String::with_capacity(text.len());
    encode(text, Operator::Reserved, &mut literal);
    Ok(literal)
}

fn parse_expression(body: &str, offset: usize) -> Result<Expression, TemplateError> {
    let first = body.chars().next().unwrap_or_default();
    if "=,!@|".contains(first) {
        return Err(TemplateError::new(offset + 1, format!("the operator `{first}` is reserved")));
    }
    let operator = match Operator::MARKED.iter().find(|(mark, _)| *mark == first) {
        Some((_, operator)) => *operator,
        None if first == '+' => Operator::Reserved,
        None => Operator::Simple,
    };
    let mark = usize::from(operator != Operator::Simple);
    let mut at = offset + 1 + mark;
    let mut variables = Vec::new();
    for item in body.get(mark..).unwrap_or_default().split(',') {
        variables.push(parse_variable(item, at)?);
        at += item.len() + 1;
    }
    Ok(Expression { offset, operator, variables })
}

fn parse_variable(item: &str, offset: usize) -> Result<Variable, TemplateError> {
    let (name, modifier) = if let Some(name) = item.strip_suffix('*') {
        (name, Modifier::Explode)
    } else if let Some((name, digits)) = item.split_once(':') {
        let valid = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        let length = digits.parse().ok().filter(|&length| valid && !digits.starts_with('0') && length > 0);
        let length =
            length.ok_or_else(|| TemplateError::new(offset + name.len(), "`:` needs a number from 1 to 9999"))?;
        (name, Modifier::Prefix(length))
    } else {
        (item, Modifier::None)
    };
    if name.is_empty() {
        return Err(TemplateError::new(offset, "a variable name is missing"));
    }
    for (at, b) in name.bytes().enumerate() {
        let allowed = match b {
            b'%' => starts_with_triplet(name.as_bytes().get(at..).unwrap_or_default()),
            b'.' => at > 0 && at + 1 < name.len() && name.as_bytes().get(at - 1) != Some(&b'.'),
            _ => b.is_ascii_alphanumeric() || b == b'_',
        };
        if !allowed {
            return Err(TemplateError::new(offset + at, format!("`{name}` is not a variable name")));
        }
    }
    Ok(Variable { name: name.to_owned(), modifier })
}

// Expansion.

impl Expression {
    fn expand(&self, values: &[(&str, TemplateValue)], uri: &mut String) {
        let mut lead = self.operator.mark();
        for variable in &self.variables {
            let Some((_, value)) = values.iter().find(|(name, _)| *name == variable.name) else { continue };
            for item in self.items(variable, value) {
                uri.extend(lead);
                uri.push_str(&item);
                lead = Some(self.operator.separator());
            }
        }
    }

    /// What goes between the separators for one variable: nothing if it is undefined.
    fn items(&self, variable: &Variable, value: &TemplateValue) -> Vec<String> {
        let encoded = |text: &str| {
            let mut out = String::new();
            encode(text, self.operator, &mut out);
            out
        };
        let named = |name: &str, value: String| match (self.operator, value.is_empty()) {
            (Operator::Parameter, true) => name.to_owned(),
            _ => format!("{name}={value}"),
        };
        let whole = |value: String| match self.operator.is_named() {
            true => named(&variable.name, value),
            false => value,
        };
        match (value, variable.modifier) {
            (TemplateValue::Text(text), Modifier::Prefix(length)) => {
                vec![whole(encoded(&text.chars().take(length).collect::<String>()))]
            }
            (TemplateValue::Text(text), _) => vec![whole(encoded(text))],
            (TemplateValue::List(list), Modifier::Explode) => list.iter().map(|item| whole(encoded(item))).collect(),
            (TemplateValue::Map(map), Modifier::Explode) if self.operator.is_named() => {
                map.iter().map(|(name, value)| named(&encoded(name), encoded(value))).collect()
            }
            (TemplateValue::Map(map), Modifier::Explode) => {
                map.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect()
            }
            (TemplateValue::List(list), _) if list.is_empty() => Vec::new(),
            (TemplateValue::List(list), _) => {
                vec![whole(list.iter().map(|item| encoded(item)).collect::<Vec<_>>().join(","))]
            }
            (TemplateValue::Map(map), _) if map.is_empty() => Vec::new(),
            (TemplateValue::Map(map), _) => {
                let pairs = map.iter().map(|(name, value)| format!("{},{}", encoded(name), encoded(value)));
                vec![whole(pairs.collect::<Vec<_>>().join(","))]
            }
        }
    }
}

/// Percent-encodes all but unreserved characters; for some operators also reserved ones and triplets stay.
fn encode(text: &str, operator: Operator, out: &mut String) {
    let bytes = text.as_bytes();
    for (at, &b) in bytes.iter().enumerate() {
        let unreserved = b.is_ascii_alphanumeric() || b"-._~".contains(&b);
        let reserved =
            b":/?#[]@!$&'()*+,;=".contains(&b) || b == b'%' && starts_with_triplet(bytes.get(at..).unwrap_or_default());
        if unreserved || reserved && operator.keeps_reserved() {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
    }
}

fn starts_with_triplet(bytes: &[u8]) -> bool {
    matches!(bytes, [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

// Matching.

/// How a template is laid over a URI: `prefix` from the left, `suffix` from the right, what lies between to `wide`.
/// The query and the fragment are cut off first; the part after the query, if any, is the fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Plan {
    prefix: Range<usize>,
    wide: Option<usize>,
    suffix: Range<usize>,
    query: Range<usize>,
}

impl Plan {
    fn new(parts: &[Part]) -> Result<Self, TemplateError> {
        check_variables(parts)?;
        let operators: Vec<_> = parts.iter().map(Part::operator).collect();
        let query_end = parts.len() - usize::from(operators.ends_with(&[Some(Operator::Fragment)]));
        let in_query = |operator: &_| matches!(operator, Some(Operator::Query | Operator::Continuation));
        let head_end = operators.iter().take(query_end).position(in_query).unwrap_or(query_end);
        let wide = parts.iter().take(head_end).position(Part::is_wide);
        let last_text = head_end.checked_sub(1).filter(|&last| operators.get(last) == Some(&None));
        let suffix_start = wide.map(|wide| wide + 1).or(last_text).unwrap_or(head_end);
        let plan = Self {
            prefix: 0..wide.unwrap_or(suffix_start),
            wide,
            suffix: suffix_start..head_end,
            query: head_end..query_end,
        };
        plan.check(parts, &operators)?;
        Ok(plan)
    }

    /// Refuses what one search could not decide.
    fn check(&self, parts: &[Part], operators: &[Option<Operator>]) -> Result<(), TemplateError> {
        for (index, part) in parts.iter().enumerate().take(self.query.end) {
            let Part::Expression(Expression { offset, operator, .. }) = part else { continue };
            let before = operators.get(..index).unwrap_or_default();
            let run_start = before.iter().rposition(Option::is_none).map_or(0, |text| text + 1);
            let run = before.get(run_start..).unwrap_or_default();
            let after_wide = self.wide.is_some_and(|wide| index > wide);
            let reason = if index >= self.query.start {
                let followed = operators.get(index + 1..self.query.end).unwrap_or_default();
                let allowed = followed.iter().all(|operator| *operator == Some(Operator::Continuation));
                (!allowed).then_some("only `{&…}` and `{#…}` can follow a query")
            } else if *operator == Operator::Fragment {
                Some("`{#…}` can only come last")
            } else if after_wide && (*operator != Operator::Simple || !run.is_empty()) {
                Some("only text and `{x}` can follow an expression that spans segments, and text must come first")
            } else if !run.is_empty() && (operator.mark().is_none() || run.contains(&Some(*operator))) {
                Some("nothing shows where the expression before it ends; put text between the two")
            } else {
                None
            };
            if let Some(reason) = reason {
                return Err(TemplateError::new(*offset, reason));
            }
        }
        Ok(())
    }

    /// The text each expression covers, without its mark: one entry a part, `None` for absent ones and literals.
    fn divide<'u>(&self, parts: &[Part], uri: &'u str) -> Option<Vec<Option<&'u str>>> {
        let mut spans = vec![None; parts.len()];
        let head = parts.get(..self.query.start)?;
        let (rest, fragment) = cut(uri, parts.get(self.query.end), head);
        let (rest, query) = cut(rest, parts.get(self.query.clone())?.first(), head);
        if query.is_some_and(|query| query.contains('#')) {
            return None;
        }
        // Both may lie behind the last part: then there is none, and none was cut off.
        spans.get_mut(self.query.start..)?.iter_mut().take(1).for_each(|span| *span = query);
        spans.get_mut(self.query.end..)?.iter_mut().for_each(|span| *span = fragment);
        let rest = self.divide_suffix(parts, rest, &mut spans)?;
        let rest = self.divide_prefix(parts, rest, &mut spans)?;
        let Some(wide) = self.wide else { return rest.is_empty().then_some(spans) };
        *spans.get_mut(wide)? = match parts.get(wide)? {
            Part::Expression(Expression { operator: Operator::Path, .. }) if rest.is_empty() => None,
            Part::Expression(Expression { operator: Operator::Path, .. }) => {
                Some(rest.strip_prefix('/').filter(|rest| !rest.contains(['?', '#']))?)
            }
            _ => Some(rest).filter(|rest| !rest.is_empty()).map(Some)?,
        };
        Some(spans)
    }

    /// From the right, each text at its last occurrence; returns what is left of the suffix.
    fn divide_suffix<'u>(&self, parts: &[Part], uri: &'u str, spans: &mut [Option<&'u str>]) -> Option<&'u str> {
        let mut rest = uri;
        let mut suffix = parts.get(self.suffix.clone())?;
        while let Some((part, before)) = suffix.split_last() {
            match (part, before.last()) {
                (Part::Literal(literal), _) => rest = rest.strip_suffix(literal.as_str())?,
                (Part::Expression(_), Some(Part::Literal(literal))) => {
                    let (last, _) = rest.char_indices().next_back()?;
                    let start = rest[..last].rfind(literal.as_str())? + literal.len();
                    let (left, span) = rest.split_at(start);
                    if span.contains(END_OF_VALUE) {
                        return None;
                    }
                    *spans.get_mut(self.suffix.start + before.len())? = Some(span);
                    rest = left;
                }
                // `check` lets no expression start the suffix.
                (Part::Expression(_), _) => return None,
            }
            suffix = before;
        }
        Some(rest)
    }

    /// From the left, each text at its first occurrence; returns what is right of the prefix.
    fn divide_prefix<'u>(&self, parts: &[Part], uri: &'u str, spans: &mut [Option<&'u str>]) -> Option<&'u str> {
        let mut rest = uri;
        // How much of `rest` the current run of expressions may take: up to the next text, searched for once a run.
        let mut run = None;
        for index in self.prefix.clone() {
            let expression = match parts.get(index)? {
                Part::Literal(literal) => {
                    rest = rest.strip_prefix(literal.as_str())?;
                    run = None;
                    continue;
                }
                Part::Expression(expression) => expression,
            };
            let length = match run {
                Some(length) => length,
                None => self.run_length(parts, index, expression, rest)?,
            };
            let (taken, span) = expression.take(rest.get(..length)?, &parts[index + 1..]);
            if span.is_none_or(str::is_empty) && expression.operator == Operator::Simple {
                return None;
            }
            *spans.get_mut(index)? = span;
            rest = rest.get(taken..)?;
            run = Some(length - taken);
        }
        Some(rest)
    }

    fn run_length(&self, parts: &[Part], index: usize, expression: &Expression, rest: &str) -> Option<usize> {
        let next_text = parts.get(index..self.prefix.end)?.iter().find_map(|part| match part {
            Part::Literal(literal) => Some(literal),
            Part::Expression(_) => None,
        });
        let Some(literal) = next_text else { return Some(rest.len()) };
        let least = match expression.operator {
            Operator::Simple => rest.chars().next()?.len_utf8(),
            _ => 0,
        };
        Some(least + rest.get(least..)?.find(literal.as_str())?)
    }
}

/// What no value holds unencoded, except after a `+` or `#`.
const END_OF_VALUE: [char; 3] = ['/', '?', '#'];

impl Part {
    fn operator(&self) -> Option<Operator> {
        match self {
            Self::Literal(_) => None,
            Self::Expression(expression) => Some(expression.operator),
        }
    }

    /// Whether the part can cover several segments of a path.
    fn is_wide(&self) -> bool {
        let Self::Expression(Expression { operator, variables, .. }) = self else { return false };
        match operator {
            Operator::Reserved => true,
            Operator::Path => {
                !matches!(&variables[..], [Variable { modifier: Modifier::None | Modifier::Prefix(_), .. }])
            }
            _ => false,
        }
    }
}

impl Expression {
    /// How many bytes at the start of `text` are the expression's, and what they are without the mark.
    fn take<'u>(&self, text: &'u str, following: &[Part]) -> (usize, Option<&'u str>) {
        let body = match self.operator.mark() {
            Some(mark) => match text.strip_prefix(mark) {
                Some(body) => body,
                None => return (0, None),
            },
            None => text,
        };
        let marks = following.iter().map_while(|part| match part {
            Part::Expression(expression) => Some(expression.operator.mark()),
            Part::Literal(_) => None,
        });
        let ends: Vec<char> = marks.flatten().chain(END_OF_VALUE).collect();
        let span = body.split(&ends[..]).next().unwrap_or(body);
        (text.len() - body.len() + span.len(), Some(span))
    }
}

/// Splits a text at the mark of an expression: the first one that the texts before the expression do not account for.
fn cut<'u>(text: &'u str, part: Option<&Part>, before: &[Part]) -> (&'u str, Option<&'u str>) {
    let Some(Part::Expression(Expression { operator, .. })) = part else { return (text, None) };
    let Some(mark) = operator.mark() else { return (text, None) };
    let own = before.iter().map(|part| match part {
        Part::Literal(literal) => literal.matches(mark).count(),
        Part::Expression(_) => 0,
    });
    match text.match_indices(mark).nth(own.sum()) {
        Some((at, found)) => (&text[..at], Some(&text[at + found.len()..])),
        None => (text, None),
    }
}

/// Each name once, and `*` last where only the place says which variable a value is for.
fn check_variables(parts: &[Part]) -> Result<(), TemplateError> {
    let mut seen = HashMap::new();
    for expression in expressions(parts) {
        for (index, variable) in expression.variables.iter().enumerate() {
            if seen.insert(variable.name.as_str(), ()).is_some() {
                let reason = format!("`{}` is there twice, a match could give it two values", variable.name);
                return Err(TemplateError::new(expression.offset, reason));
            }
            let last = index + 1 == expression.variables.len();
            if variable.modifier == Modifier::Explode && !last && !expression.operator.is_named() {
                let reason = format!("`{}*` takes all that follows, put it last", variable.name);
                return Err(TemplateError::new(expression.offset, reason));
            }
        }
    }
    Ok(())
}

fn read_positional(expression: &Expression, span: &str, values: &mut Vec<(String, Vec<String>)>) -> Option<()> {
    let separator = expression.operator.separator();
    for (variable, item) in expression.variables.iter().zip(span.splitn(expression.variables.len(), separator)) {
        let found = match variable.modifier {
            Modifier::Explode => item.split(separator).map(decode).collect::<Option<Vec<_>>>()?,
            _ if expression.operator == Operator::Path && item.contains('/') => return None,
            _ => vec![decode(item)?],
        };
        push(variable, found, values)?;
    }
    Some(())
}

fn read_named(
    variables: &[&Variable],
    separator: char,
    span: &str,
    values: &mut Vec<(String, Vec<String>)>,
) -> Option<()> {
    let slots: HashMap<&str, usize> =
        variables.iter().zip(0..).map(|(variable, slot)| (variable.name.as_str(), slot)).collect();
    let mut found = vec![Vec::new(); variables.len()];
    for pair in span.split(separator) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(&slot) = slots.get(name) else { continue };
        let (variable, found) = (variables.get(slot)?, found.get_mut(slot)?);
        if found.is_empty() || variable.modifier == Modifier::Explode {
            found.push(decode(value)?);
        }
    }
    variables
        .iter()
        .zip(found)
        .filter(|(_, found)| !found.is_empty())
        .try_for_each(|(variable, found)| push(variable, found, values))
}

fn push(variable: &Variable, found: Vec<String>, values: &mut Vec<(String, Vec<String>)>) -> Option<()> {
    if let Modifier::Prefix(length) = variable.modifier
        && found.iter().any(|value| value.chars().nth(length).is_some())
    {
        return None;
    }
    values.push((variable.name.clone(), found));
    Some(())
}

/// Percent-decodes, once.
fn decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        decoded.push(match b {
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            _ => b,
        });
    }
    String::from_utf8(decoded).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
