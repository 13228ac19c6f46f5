//! A YAML 1.2 parser to JSON values, by the rules of the core schema. Nesting and the expansion of aliases are limited.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};

const DEEPEST: usize = 100;

/// The maximum number of bytes that anchors and aliases copy, about, and the bytes of a value besides its text.
const MOST_COPIED: usize = 32 << 20;
const VALUE_BYTES: usize = 32;

/// Parses a single document.
///
/// # Errors
/// Fails with a description of the first problem.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut reader = Reader::default();
    for next in Parser::new_from_str(text) {
        let (event, _) = next.map_err(|e| e.to_string())?;
        if let Some(value) = reader.event(event)? {
            reader.add(value)?;
        }
    }
    reader.root.ok_or_else(|| "the document is empty".to_owned())
}

#[derive(Default)]
struct Reader {
    open: Vec<Open>,
    anchors: HashMap<usize, Value>,
    copied: usize,
    root: Option<Value>,
}

/// An open collection, with the identifier of its anchor.
struct Open {
    collection: Collection,
    anchor: usize,
}

enum Collection {
    List(Vec<Value>),
    /// The members, and the key whose value is next.
    Map(Map<String, Value>, Option<String>),
}

impl Reader {
    fn event(&mut self, event: Event<'_>) -> Result<Option<Value>, String> {
        Ok(match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref());
                self.name(anchor, &value)?;
                Some(value)
            }
            Event::SequenceStart(_, anchor, ..) => self.start(Collection::List(Vec::new()), anchor)?,
            Event::MappingStart(_, anchor, ..) => self.start(Collection::Map(Map::new(), None), anchor)?,
            Event::SequenceEnd | Event::MappingEnd => {
                let Open { collection, anchor } = self.open.pop().ok_or("its collections are not balanced")?;
                let value = match collection {
                    Collection::List(items) => Value::Array(items),
                    Collection::Map(members, _) => Value::Object(merged(members)),
                };
                self.name(anchor, &value)?;
                Some(value)
            }
            Event::Alias(anchor) => Some(self.alias(anchor)?),
            Event::DocumentStart(..) if self.root.is_some() => return Err("expected a single document".to_owned()),
            _ => None,
        })
    }

    fn start(&mut self, collection: Collection, anchor: usize) -> Result<Option<Value>, String> {
        if self.open.len() == DEEPEST {
            return Err(too_deep());
        }
        self.open.push(Open { collection, anchor });
        Ok(None)
    }

    /// Stores the value of an anchor. 0 is none.
    fn name(&mut self, anchor: usize, value: &Value) -> Result<(), String> {
        if anchor != 0 {
            self.copied = charged(self.copied, size(value).bytes)?;
            self.anchors.insert(anchor, value.clone());
        }
        Ok(())
    }

    /// Copies the value of an anchor.
    fn alias(&mut self, anchor: usize) -> Result<Value, String> {
        let value = self.anchors.get(&anchor).ok_or("an alias (`*name`) has no anchor before it")?;
        let Size { bytes, depth } = size(value);
        self.copied = charged(self.copied, bytes)?;
        // Aliases of aliases would otherwise nest without a limit.
        if self.open.len() + depth > DEEPEST {
            return Err(too_deep());
        }
        Ok(value.clone())
    }

    fn add(&mut self, value: Value) -> Result<(), String> {
        match self.open.last_mut().map(|open| &mut open.collection) {
            None => self.root = Some(value),
            Some(Collection::List(items)) => items.push(value),
            Some(Collection::Map(members, key)) => match key.take() {
                None => *key = Some(key_of(value)?),
                Some(key) if members.contains_key(&key) => return Err(format!("`{key}` is a duplicate key")),
                Some(key) => drop(members.insert(key, value)),
            },
        }
        Ok(())
    }
}

/// Keys of JSON objects are strings: a status `200` is `"200"`.
fn key_of(key: Value) -> Result<String, String> {
    match key {
        Value::String(text) => Ok(text),
        Value::Array(_) | Value::Object(_) => Err("a collection cannot be a key in JSON".to_owned()),
        plain => Ok(plain.to_string()),
    }
}

/// Applies the merge key `<<`, which YAML 1.1 had: members of the merged mappings that are not there.
fn merged(mut members: Map<String, Value>) -> Map<String, Value> {
    let others = match members.remove("<<") {
        Some(Value::Array(list)) => list,
        other => other.into_iter().collect(),
    };
    for other in others {
        if let Value::Object(other) = other {
            for (name, value) in other {
                members.entry(name).or_insert(value);
            }
        }
    }
    members
}

/// The size of a value: its bytes, about, and the levels of collections.
struct Size {
    bytes: usize,
    depth: usize,
}

fn size(value: &Value) -> Size {
    let whole = |inner: &mut dyn Iterator<Item = (usize, &Value)>| {
        inner.fold(Size { bytes: VALUE_BYTES, depth: 1 }, |whole, (name, value)| {
            let inner = size(value);
            Size { bytes: whole.bytes + name + inner.bytes, depth: whole.depth.max(inner.depth + 1) }
        })
    };
    match value {
        Value::Array(items) => whole(&mut items.iter().map(|item| (0, item))),
        Value::Object(members) => whole(&mut members.iter().map(|(name, value)| (name.len(), value))),
        Value::String(text) => Size { bytes: VALUE_BYTES + text.len(), depth: 0 },
        _ => Size { bytes: VALUE_BYTES, depth: 0 },
    }
}

fn charged(copied: usize, bytes: usize) -> Result<usize, String> {
    let copied = copied + bytes;
    if copied > MOST_COPIED { Err("its aliases (`*name`) expand to too much".to_owned()) } else { Ok(copied) }
}

fn too_deep() -> String {
    format!("it is nested more than {DEEPEST} levels deep")
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
    if is_text { text.into() } else { plain(text) }
}

/// Resolves a plain scalar. Numbers that JSON cannot represent stay strings.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => number(text).map_or_else(|| text.into(), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return u64::from_str_radix(digits, radix).ok().map(Number::from);
        }
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let starts = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !starts || !unsigned.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
        return None;
    }
    if unsigned.bytes().all(|b| b.is_ascii_digit()) {
        let text = text.strip_prefix('+').unwrap_or(text);
        let whole = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
        if let Ok(whole) = whole {
            return Some(whole);
        }
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_read_as_json() {
        for (text, expected) in [
            ("a: 1\nb: 1.5\nc: '1'\nd: true\ne: ~", json!({ "a": 1, "b": 1.5, "c": "1", "d": true, "e": null })),
            ("200:\n  - x\n  - {y: z}", json!({ "200": ["x", { "y": "z" }] })),
            ("a: &x { b: 1 }\nc: *x", json!({ "a": { "b": 1 }, "c": { "b": 1 } })),
            ("a: &x { b: 1, d: 2 }\nc:\n  <<: *x\n  d: 3", json!({ "a": { "b": 1, "d": 2 }, "c": { "b": 1, "d": 3 } })),
            (
                "a: &x { b: 1 }\nc: &y { b: 2, d: 2 }\ne:\n  <<: [*x, *y]",
                json!({ "a": { "b": 1 }, "c": { "b": 2, "d": 2 }, "e": { "b": 1, "d": 2 } }),
            ),
            ("v: 2020-01-01\nw: 1.2.3\nx: .nan", json!({ "v": "2020-01-01", "w": "1.2.3", "x": ".nan" })),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn costs_are_bounded() {
        let deep = format!("a: {}{}", "[".repeat(200), "]".repeat(200));
        let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..9 {
            let below = format!("*a{}, ", level - 1).repeat(10);
            laughs += &format!("a{level}: &a{level} [{}]\n", below.trim_end_matches(", "));
        }
        // A long text, a nesting of aliases, and anchors within each other.
        let long = format!("a: &x {}\nb: [{}]", "x".repeat(1 << 20), "*x, ".repeat(100));
        let mut ladder = "a0: &a0 x\n".to_owned();
        for level in 1..50 {
            ladder += &format!("a{level}: &a{level} {}*a{}{}\n", "[".repeat(9), level - 1, "]".repeat(9));
        }
        let onion = format!("a: {}{}{}", "[ &x ".repeat(90), "x".repeat(1 << 20), "]".repeat(90));
        for text in ["", "a: b\na: c", "a: [", "a: b\n---\nc: d", "a: *x", &deep, &laughs, &long, &ladder, &onion] {
            assert!(parse(text).is_err(), "{text:.40}");
        }
    }
}
