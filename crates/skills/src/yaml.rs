//! A YAML 1.2 parser to JSON values, by the rules of the core schema. The cost of untrusted input is bounded by its
//! length: size and nesting are limited, and aliases are rejected.

use granit_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};

/// Limits of length and nesting.
const LONGEST: usize = 64 << 10;
const DEEPEST: usize = 32;

/// Parses a single document that is a mapping.
///
/// # Errors
/// Fails with a description of the first problem.
pub(crate) fn mapping(text: &str) -> Result<Map<String, Value>, String> {
    if text.len() > LONGEST {
        return Err(format!("it has more than {LONGEST} bytes"));
    }
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    for next in Parser::new_from_str(text) {
        let (event, _) = next.map_err(|e| e.to_string())?;
        let value = match event {
            Event::Scalar(text, style, _, tag) => scalar(&text, style, tag.as_deref())?,
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() == DEEPEST {
                    return Err(format!("it is nested more than {DEEPEST} levels deep"));
                }
                open.push(if matches!(event, Event::SequenceStart(..)) { Open::List(Vec::new()) } else { Open::map() });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Value::Array(items),
                Some(Open::Map(members, _)) => Value::Object(members),
                None => return Err("its collections are not balanced".to_owned()),
            },
            Event::Alias(_) => return Err("aliases (`*name`) are not supported".to_owned()),
            Event::DocumentStart(..) if root.is_some() => return Err("expected a single document".to_owned()),
            _ => continue,
        };
        match open.last_mut() {
            Some(parent) => parent.take(value)?,
            None => root = Some(value),
        }
    }
    match root {
        Some(Value::Object(members)) => Ok(members),
        _ => Err("expected a mapping".to_owned()),
    }
}

/// An open collection.
enum Open {
    List(Vec<Value>),
    /// The members, and the key whose value is next.
    Map(Map<String, Value>, Option<String>),
}

impl Open {
    fn map() -> Self {
        Self::Map(Map::new(), None)
    }

    fn take(&mut self, value: Value) -> Result<(), String> {
        match self {
            Self::List(items) => items.push(value),
            Self::Map(members, key) => match key.take() {
                None => *key = Some(name(value)?),
                Some(key) if members.contains_key(&key) => return Err(format!("`{key}` is a duplicate key")),
                Some(key) => drop(members.insert(key, value)),
            },
        }
        Ok(())
    }
}

/// Keys of JSON objects are strings.
fn name(key: Value) -> Result<String, String> {
    match key {
        Value::String(text) => Ok(text),
        Value::Array(_) | Value::Object(_) => Err("a collection cannot be a key in JSON".to_owned()),
        plain => Ok(plain.to_string()),
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    match tag {
        Some(tag) if tag.is_yaml_core_schema_tag("str") => Ok(text.into()),
        Some(_) => Err("tags (`!name`) are not supported".to_owned()),
        None if style == ScalarStyle::Plain => plain(text),
        None => Ok(text.into()),
    }
}

/// Resolves a plain scalar.
fn plain(text: &str) -> Result<Value, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => match number(text) {
            Some(number) => number.ok_or_else(|| format!("`{text}` cannot be represented as a JSON number"))?.into(),
            None => text.into(),
        },
    })
}

/// Parses a number; the inner `None` is a number that JSON cannot represent.
fn number(text: &str) -> Option<Option<Number>> {
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) =
            text.strip_prefix(prefix).filter(|d| !d.is_empty() && d.chars().all(|c| c.is_digit(radix)))
        {
            return Some(u64::from_str_radix(digits, radix).ok().map(Number::from));
        }
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(None);
    }
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || !unsigned.contains(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    if unsigned.bytes().all(|b| b.is_ascii_digit()) {
        let text = text.strip_prefix('+').unwrap_or(text);
        let whole = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
        if let Ok(whole) = whole {
            return Some(Some(whole));
        }
    }
    unsigned.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')).then_some(())?;
    text.parse::<f64>().ok().map(Number::from_f64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_core_schema_is_read() {
        for (text, expected) in [
            ("a: b", json!({ "a": "b" })),
            ("a: 'true'\nb: true\nc: yes", json!({ "a": "true", "b": true, "c": "yes" })),
            (
                "a: 1\nb: -2\nc: 1.5\nd: 1.0\ne: 0x1f\nf: 0o17\ng: +3",
                json!({ "a": 1, "b": -2, "c": 1.5, "d": 1.0, "e": 31, "f": 15, "g": 3 }),
            ),
            (
                "a: 1.2.3\nb: 2026-01-01\nc: 1e3\nd: .5\ne: .",
                json!({ "a": "1.2.3", "b": "2026-01-01", "c": 1000.0, "d": 0.5, "e": "." }),
            ),
            ("a: ~\nb:\nc: ''", json!({ "a": null, "b": null, "c": "" })),
            ("a:\n  - b\n  - {c: d}\n1: e", json!({ "a": ["b", { "c": "d" }], "1": "e" })),
            ("a: >\n  b\n  c\nd: |\n  e\n  f\n", json!({ "a": "b c\n", "d": "e\nf\n" })),
            ("a: \"b\\u00e9\\n\" # c", json!({ "a": "b\u{e9}\n" })),
            ("a: !!str 1", json!({ "a": "1" })),
        ] {
            assert_eq!(mapping(text).map(Value::Object), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_odd_or_dangerous_is_refused() {
        let deep = format!("a: {}{}", "[".repeat(40), "]".repeat(40));
        let long = format!("a: {}", "b".repeat(LONGEST));
        for text in [
            "",
            "- a",
            "a",
            "a: b\na: c",
            "a: &x b\nc: *x",
            "a: !own b",
            "a: .nan",
            "a: [",
            "a: b\n---\nc: d",
            &deep,
            &long,
        ] {
            assert!(mapping(text).is_err(), "{text:.40}");
        }
    }
}
