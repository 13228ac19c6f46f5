//! YAML, as far as a table of servers needs it: members of mappings, on lines of their own.

use std::{borrow::Cow, ops::Range};

use granit_parser::{Event, Parser, ScalarStyle, Span};

use super::{
    Broken,
    json::{deepest, quote},
    splice::{Splice, cut_lines, indent, insert_inline, insert_lines, line_end, line_start, newline, remove_inline},
};
use crate::node::{Member, Node, Value};

/// The nesting limit.
const DEEPEST: usize = 64;

pub(super) fn parse(text: &str) -> Result<Node, Broken> {
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    for next in Parser::new_from_str(text) {
        let (event, span) = next.map_err(|e| {
            let mark = e.marker();
            Broken { at: Some((mark.line(), mark.col() + 1)), what: e.info() }
        })?;
        let broken = |what: &str| Broken { at: Some((span.start.line(), span.start.col() + 1)), what: what.to_owned() };
        let span = bytes(text, &span);
        let node = match event {
            Event::Scalar(value, style, _, tag) => scalar(value, style, tag.is_some(), span),
            Event::Alias(_) => Node { value: Value::Other(text[span.clone()].to_owned()), span },
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() == DEEPEST {
                    return Err(broken("it is nested too deeply"));
                }
                let is_list = matches!(event, Event::SequenceStart(..));
                open.push(Open { start: span.start, is_list, members: Vec::new(), key: None });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(done) = open.pop() else { return Err(broken("it is not balanced")) };
                done.node(span.end)
            }
            Event::DocumentStart(..) if root.is_some() => return Err(broken("it has more than one document")),
            _ => continue,
        };
        match open.last_mut() {
            Some(parent) => parent.take(text, node),
            None => root = Some(node),
        }
    }
    let end = text.len();
    let is_nothing = |node: &Node| matches!(node.value, Value::Null);
    Ok(root.filter(|node| !is_nothing(node)).unwrap_or(Node { span: end..end, value: Value::Table(Vec::new()) }))
}

/// A collection that is not closed yet.
struct Open {
    start: usize,
    is_list: bool,
    members: Vec<Member>,
    /// The key whose value comes next.
    key: Option<Node>,
}

impl Open {
    fn take(&mut self, text: &str, node: Node) {
        match self.key.take() {
            None if !self.is_list => self.key = Some(node),
            None => self.members.push(Member { key: String::new(), span: 0..0, value: node }),
            Some(key) => {
                let name = match key.value {
                    Value::Text(name) => name,
                    _ => text[key.span.clone()].to_owned(),
                };
                self.members.push(Member { key: name, span: key.span, value: node });
            }
        }
    }

    fn node(self, end: usize) -> Node {
        let value = match self.is_list {
            true => Value::List(self.members.into_iter().map(|m| m.value).collect()),
            false => Value::Table(self.members),
        };
        Node { span: self.start..end, value }
    }
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle, tagged: bool, span: Range<usize>) -> Node {
    let is_number =
        |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) && text.parse::<f64>().is_ok();
    let value = match text.as_ref() {
        _ if tagged => Value::Other(text.into_owned()),
        _ if style != ScalarStyle::Plain => Value::Text(text.into_owned()),
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        number if is_number(number) => Value::Number(text.into_owned()),
        _ => Value::Text(text.into_owned()),
    };
    Node { span, value }
}

fn bytes(text: &str, span: &Span) -> Range<usize> {
    let offset = |mark: &granit_parser::Marker| mark.byte_offset().unwrap_or(text.len()).min(text.len());
    offset(&span.start)..offset(&span.end)
}

/// Inserts a member at the end of the deepest existing mapping on the path.
pub(super) fn insert(text: &str, root: &Node, path: &[String], value: &Node) -> Option<Vec<Splice>> {
    let (mapping, missing) = deepest(root, path);
    let (name, rest) = missing.split_first()?;
    let value = rest.iter().rev().fold(value.clone(), |value, key| Node::table([(key.clone(), value)]));
    let newline = newline(text);
    let lines = |depth: &str| print_member(name, &value, depth, newline);
    let parent = parent(root, path, missing.len());
    let members = mapping.members().unwrap_or_default();
    if is_flow(text, mapping) {
        let Some(parent) = parent.filter(|_| members.is_empty()) else {
            return Some(insert_inline(text, &mapping.span, members, &format!("{}: {}", quote(name), flow(&value))));
        };
        // An empty flow mapping is replaced by lines.
        let colon = colon(text, parent)?;
        let lines = lines(&format!("{}  ", indent(text, parent.span.start)));
        return Some(vec![
            Splice::cut(colon..mapping.span.end),
            insert_lines(text, line_end(text, mapping.span.end), &lines),
        ]);
    }
    Some(vec![match (members, parent) {
        ([first, .., last] | [first @ last], _) => {
            let depth = own_line(text, first)?;
            insert_lines(text, line_end(text, end_of(text, last)), &lines(depth))
        }
        ([], Some(parent)) => {
            let depth = format!("{}  ", indent(text, parent.span.start));
            insert_lines(text, line_end(text, parent.span.end), &lines(&depth))
        }
        ([], None) => insert_lines(text, text.len(), &lines("")),
    }])
}

pub(super) fn replace(text: &str, root: &Node, path: &[String], value: &Node) -> Option<Vec<Splice>> {
    let (mapping, index) = find(root, path)?;
    let member = &mapping.members()?[index];
    if is_flow(text, mapping) {
        return Some(vec![Splice { at: member.value.span.clone(), with: flow(value) }]);
    }
    let depth = own_line(text, member)?;
    let at = line_start(text, member.span.start)..line_end(text, end_of(text, member));
    let mut lines = print_member(&member.key, value, depth, newline(text));
    if at.end == text.len() && !text.ends_with('\n') {
        lines.truncate(lines.trim_end_matches(['\r', '\n']).len());
    }
    Some(vec![Splice { at, with: lines }])
}

pub(super) fn remove(text: &str, root: &Node, path: &[String]) -> Option<Vec<Splice>> {
    let (mapping, index) = find(root, path)?;
    let members = mapping.members()?;
    if is_flow(text, mapping) {
        return Some(vec![remove_inline(members, index)]);
    }
    let member = &members[index];
    own_line(text, member)?;
    let lines = line_start(text, member.span.start)..line_end(text, end_of(text, member));
    let mut splices = vec![Splice::cut(cut_lines(text, lines))];
    // A key without a value would be null, which a host may reject where it expects a mapping.
    if let (1, Some(parent)) = (members.len(), parent(root, path, 1)) {
        splices.push(Splice::insert(colon(text, parent)?, " {}"));
    }
    Some(splices)
}

/// The mapping that contains the last key of a path, and the index of that member.
fn find<'a>(root: &'a Node, path: &[String]) -> Option<(&'a Node, usize)> {
    let (name, parents) = path.split_last()?;
    let mapping = root.at(parents)?;
    Some((mapping, mapping.members()?.iter().rposition(|m| m.key == *name)?))
}

/// The member whose value is the mapping that lacks the last `missing` keys of the path.
fn parent<'a>(root: &'a Node, path: &[String], missing: usize) -> Option<&'a Member> {
    let (name, parents) = path[..path.len() - missing].split_last()?;
    root.at(parents)?.members()?.iter().rev().find(|m| m.key == *name)
}

fn is_flow(text: &str, node: &Node) -> bool {
    text[node.span.clone()].starts_with(['{', '['])
}

/// The offset after the colon of a key.
fn colon(text: &str, member: &Member) -> Option<usize> {
    text[member.span.end..].find(':').map(|at| member.span.end + at + 1)
}

/// The indentation of a key that is the first token on its line.
fn own_line<'a>(text: &'a str, member: &Member) -> Option<&'a str> {
    let before = &text[line_start(text, member.span.start)..member.span.start];
    before.chars().all(|c| c == ' ').then_some(before)
}

/// The offset after the last character of a member.
fn end_of(text: &str, member: &Member) -> usize {
    let end = last_place(text, &member.value);
    let start = member.span.end;
    start + text[start..end.max(start)].trim_end().len()
}

fn last_place(text: &str, node: &Node) -> usize {
    match &node.value {
        Value::Table(members) if !is_flow(text, node) => members.iter().map(|m| end_of(text, m)).max().unwrap_or(0),
        Value::List(items) if !is_flow(text, node) => items.iter().map(|i| last_place(text, i)).max().unwrap_or(0),
        _ => node.span.end,
    }
}

fn print_member(name: &str, value: &Node, depth: &str, newline: &str) -> String {
    let mut lines = String::new();
    print(&scalar_text(name), value, depth, newline, &mut lines);
    lines
}

fn print(head: &str, value: &Node, depth: &str, newline: &str, lines: &mut String) {
    let deeper = format!("{depth}  ");
    match &value.value {
        Value::Table(members) if !members.is_empty() => {
            lines.push_str(&format!("{depth}{head}:{newline}"));
            members.iter().for_each(|m| print(&scalar_text(&m.key), &m.value, &deeper, newline, lines));
        }
        Value::List(items) if !items.is_empty() => {
            lines.push_str(&format!("{depth}{head}:{newline}"));
            items.iter().for_each(|item| lines.push_str(&format!("{deeper}- {}{newline}", flow(item))));
        }
        _ => lines.push_str(&format!("{depth}{head}: {}{newline}", flow(value))),
    }
}

/// Formats a value on one line; strings that are not plain are quoted as in JSON.
fn flow(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(raw) | Value::Other(raw) => raw.clone(),
        Value::Text(text) => scalar_text(text),
        Value::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Table(members) => {
            let pairs: Vec<_> =
                members.iter().map(|m| format!("{}: {}", scalar_text(&m.key), flow(&m.value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

/// Formats a string without quotes if no parser, including YAML 1.1, reads it as another type.
fn scalar_text(text: &str) -> String {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./@+".contains(c))
        && !words.contains(&text.to_ascii_lowercase().as_str());
    if is_plain { text.to_owned() } else { quote(text) }
}
