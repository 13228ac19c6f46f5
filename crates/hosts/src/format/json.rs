//! JSON, with or without comments and trailing commas.
//!
//! The parser is `jsonc-parser`. Its editable tree is not used: it takes blank lines out of the object that it edits.

use std::ops::Range;

use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, ast, common::Ranged, parse_to_ast};

use super::{
    Broken,
    splice::{Splice, indent, newline},
};
use crate::node::{Member, Node, Value};

/// Lists up to this width stay on one line.
const WIDE: usize = 100;

pub(super) fn parse(text: &str) -> Result<Node, Broken> {
    read(text, true)
}

/// Parses a text strictly, without comments and trailing commas.
pub(crate) fn parse_strict(text: &str) -> Result<Node, Broken> {
    read(text, false)
}

fn read(text: &str, loose: bool) -> Result<Node, Broken> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
    let options = ParseOptions {
        allow_comments: loose,
        allow_loose_object_property_names: false,
        allow_trailing_commas: loose,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &collect, &options).map_err(|e| Broken {
        at: Some((e.line_display(), e.column_display())),
        what: decapitalized(&e.kind().to_string()),
    })?;
    let end = text.len();
    Ok(parsed.value.map_or(Node { span: end..end, value: Value::Table(Vec::new()) }, node))
}

fn node(value: ast::Value<'_>) -> Node {
    let range = value.range();
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(lit) => Value::Bool(lit.value),
        ast::Value::NumberLit(lit) => Value::Number(lit.value.to_owned()),
        ast::Value::StringLit(lit) => Value::Text(lit.value.into_owned()),
        ast::Value::Array(array) => Value::List(array.elements.into_iter().map(node).collect()),
        ast::Value::Object(object) => Value::Table(object.properties.into_iter().map(member).collect()),
    };
    Node { span: range.start..range.end, value }
}

fn member(prop: ast::ObjectProp<'_>) -> Member {
    let range = prop.name.range();
    Member { key: prop.name.into_string(), span: range.start..range.end, value: node(prop.value) }
}

/// Inserts a member at the end of the deepest existing table on the path.
pub(super) fn insert(text: &str, root: &Node, path: &[String], value: &Node) -> Option<Vec<Splice>> {
    let (object, missing) = deepest(root, path);
    let [name, inner @ ..] = missing else { return None };
    let value = inner.iter().rev().fold(value.clone(), |value, key| Node::table([(key.clone(), value)]));
    let style = Style::of(text, root);
    // A file without any value: there is no object yet.
    if object.span.is_empty() {
        let whole = Node::table([(name.clone(), value)]);
        let before = if text.is_empty() || text.ends_with(['\n', '\u{feff}']) { "" } else { style.newline };
        return Some(vec![Splice::insert(
            object.span.end,
            format!("{before}{}{}", style.print(&whole, ""), style.newline),
        )]);
    }
    let members = object.members()?;
    let base = indent(text, object.span.start);
    let gap = Gap::new(text, members.last().map_or(object.span.start + 1, |m| m.value.span.end)..object.span.end - 1);
    let spread = members.first().map_or(!style.compact, |m| text[object.span.start..m.span.start].contains('\n'));
    let spread = spread || gap.comment_end.is_some();
    let depth = match members.first() {
        Some(first) if spread && text[object.span.start..first.span.start].contains('\n') => {
            indent(text, first.span.start).to_owned()
        }
        _ => format!("{base}{}", style.unit),
    };
    let member = match spread {
        true => format!("{}{depth}{}: {}", style.newline, quote(name), style.print(&value, &depth)),
        false => format!("{}: {}", quote(name), style.flat(&value)),
    };
    Some(match members.last() {
        Some(last) => {
            let after = gap.comment_end.or(gap.comma.map(|at| at + 1)).unwrap_or(last.value.span.end);
            let member = if spread { member } else { format!(" {member}") };
            match gap.comma {
                Some(_) => vec![Splice::insert(after, format!("{member},"))],
                None => vec![Splice::insert(last.value.span.end, ","), Splice::insert(after, member)],
            }
        }
        None => into_empty(text, object, member, spread.then(|| format!("{}{base}", style.newline))),
    })
}

/// Inserts the first member into an object; `close` is the indentation of a brace on a line of its own.
fn into_empty(text: &str, object: &Node, member: String, close: Option<String>) -> Vec<Splice> {
    let inner = object.span.start + 1..object.span.end - 1;
    let after_comments = text[inner.clone()].trim_end();
    let (Some(close), true) = (&close, text[inner.clone()].contains('\n')) else {
        let with = format!("{member}{}", close.as_deref().unwrap_or_default());
        // White space on one line is dropped; a comment is preserved.
        let at = if after_comments.is_empty() { inner } else { inner.end..inner.end };
        return vec![Splice { at, with }];
    };
    let at = inner.start + after_comments.len();
    let ends_line = text[at..inner.end].contains('\n');
    vec![Splice::insert(at, if ends_line { member } else { format!("{member}{close}") })]
}

/// Replaces the value at a path.
pub(super) fn replace(text: &str, root: &Node, path: &[String], value: &Node) -> Option<Vec<Splice>> {
    let old = root.at(path)?;
    let style = Style::of(text, root);
    let key = &root.at(&path[..path.len() - 1])?.members()?.iter().rev().find(|m| Some(&m.key) == path.last())?.span;
    let printed = match style.compact {
        true => style.flat(value),
        false => style.print(value, indent(text, key.start)),
    };
    Some(vec![Splice { at: old.span.clone(), with: printed }])
}

/// Removes the member at a path.
pub(super) fn remove(text: &str, root: &Node, path: &[String]) -> Option<Vec<Splice>> {
    let (name, parents) = path.split_last()?;
    let object = root.at(parents)?;
    let members = object.members()?;
    let index = members.iter().rposition(|m| m.key == *name)?;
    let member = &members[index];
    let open = object.span.start + 1;
    // Comments before it stay: only their author knows whether they still apply.
    let mut start = text[..member.span.start].trim_end().len().max(open);
    let until = members.get(index + 1).map_or(object.span.end - 1, |next| next.span.start);
    let gap = Gap::new(text, member.value.span.end..until);
    let mut end = gap.comma.map_or(member.value.span.end, |at| at + 1);
    // A comment behind it, on the same line, belongs to it.
    let is_last_on_line = |at: usize| text[at..until].trim_start_matches([' ', '\t']).starts_with(['\r', '\n']);
    if let Some(comment) = gap.comment_end.filter(|&at| is_last_on_line(at) && at > end) {
        end = comment;
    }
    // The text that follows must not become part of a line comment.
    let before = Gap::new(text, index.checked_sub(1).map_or(open, |at| members[at].value.span.end)..member.span.start);
    if before.line_comment_end == Some(start) && !is_last_on_line(end) {
        start += text[start..].find('\n').map_or(0, |length| length + 1);
    }
    if members.len() == 1 && text[open..start].trim().is_empty() && text[end..until].trim().is_empty() {
        return Some(vec![Splice::cut(open..until)]);
    }
    if index == 0 && members.len() > 1 && !text[open..member.span.start].contains('\n') {
        end += text[end..until].len() - text[end..until].trim_start_matches([' ', '\t']).len();
    }
    let mut splices = vec![Splice::cut(start..end)];
    if gap.comma.is_none() && index > 0 {
        let comma = before.comma?;
        splices.push(Splice::cut(comma..comma + 1));
    }
    Some(splices)
}

/// The deepest existing table on the path, and the keys that are missing.
pub(super) fn deepest<'a, 'b>(root: &'a Node, path: &'b [String]) -> (&'a Node, &'b [String]) {
    let mut node = root;
    for (depth, key) in path.iter().enumerate() {
        match node.get(key) {
            Some(next) => node = next,
            None => return (node, &path[depth..]),
        }
    }
    (node, &[])
}

/// The text between two members: an optional comma, and comments.
struct Gap {
    comma: Option<usize>,
    /// The end of the last comment that begins on the same line, after the comma if there is one.
    comment_end: Option<usize>,
    /// The end of the last comment that goes to the end of its line.
    line_comment_end: Option<usize>,
}

impl Gap {
    fn new(text: &str, range: Range<usize>) -> Self {
        let mut gap = Self { comma: None, comment_end: None, line_comment_end: None };
        let mut at = range.start;
        let mut same_line = true;
        while at < range.end {
            let rest = &text[at..range.end];
            let length = match rest {
                _ if rest.starts_with("//") => rest.find(['\n', '\r']).unwrap_or(rest.len()),
                _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
                _ => rest.chars().next().map_or(1, char::len_utf8),
            };
            if rest.starts_with("//") {
                gap.line_comment_end = Some(at + length);
            }
            match rest.as_bytes()[0] {
                b'/' if same_line => gap.comment_end = Some(at + length),
                b',' => {
                    gap.comma = Some(at);
                    gap.comment_end = None;
                    same_line = true;
                }
                b'\n' | b'\r' => same_line = false,
                _ => {}
            }
            at += length;
        }
        gap
    }
}

/// The layout of this text.
struct Style {
    newline: &'static str,
    unit: String,
    /// Everything is on one line.
    compact: bool,
}

impl Style {
    fn of(text: &str, root: &Node) -> Self {
        let first = root.members().and_then(<[_]>::first).map(|m| indent(text, m.span.start));
        let unit = first.filter(|unit| !unit.is_empty()).unwrap_or("  ").to_owned();
        let body = text.get(root.span.clone()).unwrap_or_default();
        Self { newline: newline(text), unit, compact: first.is_some() && !body.contains('\n') }
    }

    /// Formats a value on several lines; the first one is indented by `base`.
    fn print(&self, node: &Node, base: &str) -> String {
        let deeper = format!("{base}{}", self.unit);
        let lines = |open: char, items: Vec<String>, close: char| {
            let separator = format!(",{}{deeper}", self.newline);
            format!("{open}{}{deeper}{}{}{base}{close}", self.newline, items.join(&separator), self.newline)
        };
        match &node.value {
            Value::Table(members) if !members.is_empty() => {
                let member = |m: &Member| format!("{}: {}", quote(&m.key), self.print(&m.value, &deeper));
                lines('{', members.iter().map(member).collect(), '}')
            }
            Value::List(items) if self.flat(node).len() > WIDE || items.iter().any(|i| i.members().is_some()) => {
                lines('[', items.iter().map(|item| self.print(item, &deeper)).collect(), ']')
            }
            _ => self.flat(node),
        }
    }

    /// Formats a value on one line.
    fn flat(&self, node: &Node) -> String {
        match &node.value {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Number(raw) | Value::Other(raw) => raw.clone(),
            Value::Text(text) => quote(text),
            Value::List(items) => {
                format!("[{}]", items.iter().map(|item| self.flat(item)).collect::<Vec<_>>().join(", "))
            }
            Value::Table(members) => {
                let member = |m: &Member| format!("{}: {}", quote(&m.key), self.flat(&m.value));
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

pub(super) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn decapitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
