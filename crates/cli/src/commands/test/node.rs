//! TOML values with their line numbers.

use serde_json::Value;
use toml_edit::{Document, Item, Key, TableLike};

use crate::arguments::nearest;

/// An error in a collection file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Invalid {
    pub(super) line: usize,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Invalid {
    pub(super) fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// A value and the line on which it starts.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) kind: NodeKind,
}

#[derive(Clone, Debug)]
pub(super) enum NodeKind {
    /// A string, number, boolean or date.
    Scalar(Value),
    Array(Vec<Node>),
    Table(Vec<Member>),
}

/// A key of a table and its value.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) value: Node,
}

impl Node {
    /// Parses a file.
    pub(super) fn parse(text: &str) -> Result<Self, Invalid> {
        let document = Document::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_at(text, span.start));
            Invalid::new(line, format!("not valid TOML: {}", error.message().trim().replace('\n', ", ")))
        })?;
        Ok(Self { line: 1, kind: NodeKind::Table(entries(document.as_table(), text, 1)) })
    }

    fn of(item: &Item, text: &str, line: usize) -> Self {
        let line = item.span().map_or(line, |span| line_at(text, span.start));
        let kind = match item {
            Item::None => NodeKind::Table(Vec::new()),
            Item::Value(value) => return Self::of_value(value, text, line),
            Item::Table(table) => NodeKind::Table(entries(table, text, line)),
            Item::ArrayOfTables(tables) => NodeKind::Array(
                tables
                    .iter()
                    .map(|table| {
                        let line = table.span().map_or(line, |span| line_at(text, span.start));
                        Self { line, kind: NodeKind::Table(entries(table, text, line)) }
                    })
                    .collect(),
            ),
        };
        Self { line, kind }
    }

    fn of_value(value: &toml_edit::Value, text: &str, line: usize) -> Self {
        let line = value.span().map_or(line, |span| line_at(text, span.start));
        let kind = match value {
            toml_edit::Value::String(text) => NodeKind::Scalar(text.value().as_str().into()),
            toml_edit::Value::Integer(number) => NodeKind::Scalar((*number.value()).into()),
            toml_edit::Value::Float(number) => NodeKind::Scalar((*number.value()).into()),
            toml_edit::Value::Boolean(value) => NodeKind::Scalar((*value.value()).into()),
            toml_edit::Value::Datetime(time) => NodeKind::Scalar(time.value().to_string().into()),
            toml_edit::Value::Array(items) => {
                NodeKind::Array(items.iter().map(|item| Self::of_value(item, text, line)).collect())
            }
            toml_edit::Value::InlineTable(table) => NodeKind::Table(entries(table, text, line)),
        };
        Self { line, kind }
    }

    /// Converts the value to JSON.
    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar(value) => value.clone(),
            NodeKind::Array(items) => items.iter().map(Self::to_json).collect(),
            NodeKind::Table(entries) => {
                Value::Object(entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect())
            }
        }
    }

    /// Returns the entries of a table.
    pub(super) fn table(&self, what: &str) -> Result<&[Member], Invalid> {
        match &self.kind {
            NodeKind::Table(entries) => Ok(entries),
            _ => Err(self.expected(what, "a table")),
        }
    }

    /// Returns the entries of a table that has only these keys.
    pub(super) fn table_of(&self, what: &str, keys: &[&str]) -> Result<&[Member], Invalid> {
        let entries = self.table(what)?;
        match entries.iter().find(|entry| !keys.contains(&entry.key.as_str())) {
            None => Ok(entries),
            Some(Member { key, line, .. }) => {
                let unknown = Invalid::new(*line, format!("unknown key `{key}` in {what}"));
                Err(unknown.hint(match nearest(key, keys.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the keys are {}", keys.join(", ")),
                }))
            }
        }
    }

    pub(super) fn array(&self, what: &str) -> Result<&[Self], Invalid> {
        match &self.kind {
            NodeKind::Array(items) => Ok(items),
            _ => Err(self.expected(what, "an array")),
        }
    }

    pub(super) fn string(&self, what: &str) -> Result<&str, Invalid> {
        self.scalar().and_then(Value::as_str).ok_or_else(|| self.expected(what, "a string"))
    }

    pub(super) fn boolean(&self, what: &str) -> Result<bool, Invalid> {
        self.scalar().and_then(Value::as_bool).ok_or_else(|| self.expected(what, "true or false"))
    }

    pub(super) fn number(&self, what: &str) -> Result<f64, Invalid> {
        self.scalar().and_then(Value::as_f64).ok_or_else(|| self.expected(what, "a number"))
    }

    pub(super) fn strings(&self, what: &str) -> Result<Vec<String>, Invalid> {
        self.array(what)?.iter().map(|item| item.string(what).map(str::to_owned)).collect()
    }

    pub(super) fn scalar(&self) -> Option<&Value> {
        match &self.kind {
            NodeKind::Scalar(value) => Some(value),
            _ => None,
        }
    }

    /// Creates the error for a value of another type.
    pub(super) fn expected(&self, what: &str, expected: &str) -> Invalid {
        let found = match &self.kind {
            NodeKind::Scalar(Value::String(_)) => "a string",
            NodeKind::Scalar(Value::Bool(_)) => "a boolean",
            NodeKind::Scalar(_) => "a number",
            NodeKind::Array(_) => "an array",
            NodeKind::Table(_) => "a table",
        };
        Invalid::new(self.line, format!("{what} must be {expected}, and is {found}"))
    }
}

/// Returns the value of a key.
pub(super) fn get<'a>(entries: &'a [Member], key: &str) -> Option<&'a Node> {
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
}

fn entries(table: &dyn TableLike, text: &str, line: usize) -> Vec<Member> {
    let entry = |(key, item): (&str, &Item)| {
        let span = table.key(key).and_then(Key::span);
        let line = span.map_or(line, |span| line_at(text, span.start));
        Member { key: key.to_owned(), line, value: Node::of(item, text, line) }
    };
    table.iter().map(entry).collect()
}

fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_forms_of_tables_are_equal() {
        let text =
            "a.b = 1\nc = { d = [1.5, { e = true }] }\n[f]\ng = 2026-07-28\n[[h]]\ni = 'x'\n[[h]]\n[h.j]\nk = 1\n";
        let node = Node::parse(text).unwrap();
        assert_eq!(
            node.to_json(),
            json!({ "a": { "b": 1 }, "c": { "d": [1.5, { "e": true }] }, "f": { "g": "2026-07-28" },
                    "h": [{ "i": "x" }, { "j": { "k": 1 } }] })
        );
        let h = get(node.table("file").unwrap(), "h").unwrap().array("h").unwrap();
        assert_eq!(h.iter().map(|node| node.line).collect::<Vec<_>>(), [5, 7]);
    }

    #[test]
    fn errors_have_lines_and_near_names() {
        let node = Node::parse("\ntarget = 'x'\ntimout = 3\n").unwrap();
        let error = node.table_of("the collection", &["target", "timeout"]).unwrap_err();
        assert_eq!((error.line, error.hint.as_deref()), (3, Some("did you mean `timeout`?")));
        assert_eq!(Node::parse("a = 1\nb = = 2\n").unwrap_err().line, 2);
        let error = get(node.table("x").unwrap(), "timout").unwrap().string("`timeout`").unwrap_err();
        assert_eq!(error.message, "`timeout` must be a string, and is a number");
    }
}
