//! TOML. The parser is `toml_edit`; its serializer is not used, because it unifies line endings and moves dotted keys.

use std::ops::Range;

use toml_edit::{Document, Item, Key, Table, Value as Toml};

use super::{
    Broken, position,
    splice::{Splice, cut_lines, insert_inline, line_end, line_start, newline, remove_inline},
    without_bom,
};
use crate::node::{Member, Node, Value};

pub(super) fn parse(text: &str) -> Result<Node, Broken> {
    let document = Document::parse(text).map_err(|e| Broken {
        at: e.span().map(|span| position(text, span.start)),
        what: e.message().replace('\n', ", "),
    })?;
    Ok(Node { span: 0..text.len(), value: table(document.as_table()) })
}

fn table(table: &Table) -> Value {
    Value::Table(table.iter().map(|(key, item)| member(table.key(key), key, item_node(item))).collect())
}

fn member(place: Option<&Key>, key: &str, value: Node) -> Member {
    Member { key: key.to_owned(), span: place.and_then(Key::span).unwrap_or_default(), value }
}

fn item_node(item: &Item) -> Node {
    let value = match item {
        Item::None => Value::Null,
        Item::Value(value) => return value_node(value),
        Item::Table(inner) => table(inner),
        Item::ArrayOfTables(tables) => {
            let one = |inner: &Table| Node { span: inner.span().unwrap_or_default(), value: table(inner) };
            Value::List(tables.iter().map(one).collect())
        }
    };
    Node { span: item.span().unwrap_or_default(), value }
}

fn value_node(value: &Toml) -> Node {
    let span = value.span().unwrap_or_default();
    let value = match value {
        Toml::String(text) => Value::Text(text.value().clone()),
        Toml::Integer(number) => Value::Number(number.value().to_string()),
        Toml::Float(number) => Value::Number(number.value().to_string()),
        Toml::Boolean(value) => Value::Bool(*value.value()),
        Toml::Datetime(date) => Value::Other(date.value().to_string()),
        Toml::Array(items) => Value::List(items.iter().map(value_node).collect()),
        Toml::InlineTable(inner) => {
            Value::Table(inner.iter().map(|(key, value)| member(inner.key(key), key, value_node(value))).collect())
        }
    };
    Node { span, value }
}

/// Appends a table with a header to the text, or inserts a member into an inline table on the path.
pub(super) fn insert(text: &str, root: &Node, path: &[String], value: &Node) -> Option<Vec<Splice>> {
    for depth in 1..path.len() {
        let Some(node) = root.at(&path[..depth]) else { break };
        let missing = &path[depth..];
        if text[node.span.clone()].starts_with('{') && node.get(&missing[0]).is_none() {
            let value = missing[1..].iter().rev().fold(value.clone(), |v, key| Node::table([(key.clone(), v)]));
            return Some(insert_inline(text, &node.span, node.members()?, &pair(&missing[0], &value)));
        }
    }
    let newline = newline(text);
    let body = text.trim_start_matches('\u{feff}');
    let before = match body {
        "" => String::new(),
        _ if body.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    };
    let lines = block(path, value, newline);
    let is_ended = body.is_empty() || body.ends_with('\n');
    let lines = if is_ended { lines.as_str() } else { lines.trim_end_matches(['\r', '\n']) };
    Some(vec![Splice::insert(text.len(), format!("{before}{lines}"))])
}

/// Replaces the value at a path in place.
pub(super) fn replace(text: &str, path: &[String], value: &Node) -> Option<Vec<Splice>> {
    let found = Found::new(text, path)?;
    match found {
        Found::Inline { value: at, .. } => Some(vec![Splice { at, with: inline(value) }]),
        Found::Tables(pieces) => {
            let (first, rest) = pieces.split_first()?;
            if !text[first.clone()].trim_start().starts_with('[') {
                return None;
            }
            let lines = block(path, value, newline(text));
            let open_end = first.end == text.len() && !text.ends_with('\n');
            let lines = if open_end { lines.trim_end_matches(['\r', '\n']).to_owned() } else { lines };
            let mut splices = vec![Splice { at: first.clone(), with: lines }];
            splices.extend(rest.iter().map(|piece| Splice::cut(with_blank_line(text, piece.clone()))));
            Some(splices)
        }
    }
}

pub(super) fn remove(text: &str, path: &[String]) -> Option<Vec<Splice>> {
    Some(match Found::new(text, path)? {
        Found::Inline { siblings: Some((members, index)), .. } => vec![remove_inline(&members, index)],
        Found::Inline { line, .. } => vec![Splice::cut(cut_lines(text, line))],
        Found::Tables(pieces) => {
            pieces.into_iter().map(|piece| Splice::cut(cut_lines(text, with_blank_line(text, piece)))).collect()
        }
    })
}

/// The location of the value at a path.
enum Found {
    /// In one place, after its key: the value, its whole line, and its siblings if they share the line.
    Inline { value: Range<usize>, line: Range<usize>, siblings: Option<(Vec<Member>, usize)> },
    /// As tables with headers, or as dotted keys: whole lines.
    Tables(Vec<Range<usize>>),
}

impl Found {
    fn new(text: &str, path: &[String]) -> Option<Self> {
        let (body, skipped) = without_bom(text);
        let document = Document::parse(body).ok()?;
        let moved = |span: Range<usize>| span.start + skipped..span.end + skipped;
        let mut item = document.as_item();
        let mut key = None;
        for (depth, name) in path.iter().enumerate() {
            if let Item::Value(value) = item {
                return Self::in_line(text, skipped, value, path.get(depth..)?);
            }
            let table = item.as_table()?;
            key = table.key(name);
            item = table.get(name)?;
        }
        let mut pieces = Vec::new();
        collect(body, key?, item, &mut pieces);
        pieces.sort_by_key(|piece: &Range<usize>| piece.start);
        let pieces: Vec<_> = pieces.into_iter().map(moved).collect();
        Some(match item {
            Item::Value(value) => {
                Self::Inline { value: moved(value.span()?), line: pieces.first()?.clone(), siblings: None }
            }
            _ => Self::Tables(pieces),
        })
    }

    /// Inside an inline table.
    fn in_line(text: &str, skipped: usize, value: &Toml, rest: &[String]) -> Option<Self> {
        let mut node = value_node(value);
        super::shift(&mut node, skipped);
        let (name, parents) = rest.split_last()?;
        let members = node.at(parents)?.members()?.to_vec();
        let index = members.iter().position(|m| m.key == *name)?;
        let value = members[index].value.span.clone();
        let line = line_start(text, value.start)..line_end(text, value.end);
        Some(Self::Inline { value, line, siblings: Some((members, index)) })
    }
}

/// Collects the lines of an item: of each table from its header to its last value, and of each dotted key.
fn collect(text: &str, key: &Key, item: &Item, pieces: &mut Vec<Range<usize>>) {
    match item {
        Item::None => {}
        Item::Value(value) => {
            let (Some(key), Some(value)) = (key.span(), value.span()) else { return };
            pieces.push(line_start(text, key.start)..line_end(text, value.end));
        }
        Item::Table(table) => collect_table(text, table, pieces),
        Item::ArrayOfTables(tables) => tables.iter().for_each(|table| collect_table(text, table, pieces)),
    }
}

fn collect_table(text: &str, table: &Table, pieces: &mut Vec<Range<usize>>) {
    let mut own = Vec::new();
    for (name, item) in table {
        let Some(key) = table.key(name) else { continue };
        let is_own = item.is_value() || item.as_table().is_some_and(Table::is_dotted);
        collect(text, key, item, if is_own { &mut own } else { pieces });
    }
    match table.span().filter(|_| !table.is_implicit() && !table.is_dotted()) {
        Some(header) => {
            let end = own.iter().map(|piece| piece.end).max().unwrap_or(0);
            pieces.push(line_start(text, header.start)..end.max(line_end(text, header.end)));
        }
        None => pieces.extend(own),
    }
}

/// The lines with one empty line before them, which [`insert`] adds.
fn with_blank_line(text: &str, lines: Range<usize>) -> Range<usize> {
    let before = &text[..lines.start];
    let Some(before) = before.strip_suffix('\n').map(|b| b.strip_suffix('\r').unwrap_or(b)) else { return lines };
    match before.is_empty() || before.ends_with('\n') {
        true if text[lines.clone()].trim_start().starts_with('[') => before.len()..lines.end,
        _ => lines,
    }
}

/// Formats a table with a header.
fn block(path: &[String], value: &Node, newline: &str) -> String {
    let header = path.iter().map(|key| quoted(key)).collect::<Vec<_>>().join(".");
    let mut lines = format!("[{header}]{newline}");
    for member in value.members().unwrap_or_default() {
        if !matches!(member.value.value, Value::Null) {
            lines.push_str(&pair(&member.key, &member.value));
            lines.push_str(newline);
        }
    }
    lines
}

fn pair(key: &str, value: &Node) -> String {
    format!("{} = {}", quoted(key), inline(value))
}

fn quoted(key: &str) -> String {
    Key::new(key).display_repr().into_owned()
}

fn inline(node: &Node) -> String {
    match &node.value {
        Value::Null => "\"\"".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(raw) | Value::Other(raw) => raw.clone(),
        Value::Text(text) => Toml::from(text).to_string(),
        Value::List(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Table(members) if members.is_empty() => "{}".to_owned(),
        Value::Table(members) => {
            let pairs: Vec<_> = members.iter().map(|m| pair(&m.key, &m.value)).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
    }
}
