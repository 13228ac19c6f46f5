//! Matching of URIs in linear time.

use std::{collections::HashMap, ops::Range};

use super::{Expression, Modifier, Operator, Part, TemplateError, Variable, expressions};

/// How a template is laid over a URI: `prefix` from the left, `suffix` from the right, what lies between to `wide`.
/// The query and the fragment are cut off first; the part after the query, if any, is the fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    prefix: Range<usize>,
    wide: Option<usize>,
    suffix: Range<usize>,
    pub(super) query: Range<usize>,
}

impl Plan {
    pub(super) fn new(parts: &[Part]) -> Result<Self, TemplateError> {
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
    pub(super) fn divide<'u>(&self, parts: &[Part], uri: &'u str) -> Option<Vec<Option<&'u str>>> {
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

pub(super) fn read_positional(
    expression: &Expression,
    span: &str,
    values: &mut Vec<(String, Vec<String>)>,
) -> Option<()> {
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

pub(super) fn read_named(
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
