//! Conversion of typed text to JSON values.

use couplet::types::RawJson;
use serde_json::Value;

use super::{Schema, Tree, schema::Kind};

/// Converts text to a value that fits the schema.
///
/// # Errors
/// What was expected, to follow the name of the argument in a message.
pub(crate) fn value(text: &str, schema: &Schema) -> Result<Tree, String> {
    /// The maximum nesting of lists; a schema can be recursive.
    const DEPTH: usize = 4;
    within(text, schema, DEPTH)
}

fn within(text: &str, schema: &Schema, depth: usize) -> Result<Tree, String> {
    if let Some(choices) = schema.choices() {
        return choose(text, &choices);
    }
    let alternatives = schema.alternatives();
    if !alternatives.is_empty() {
        return any_of(text, &alternatives, depth);
    }
    let kinds = schema.kinds();
    if kinds.is_empty() {
        return Ok(Tree::Leaf(anything(text)));
    }
    // A string is the last resort: every text is one.
    let mut tried = kinds;
    tried.sort_by_key(|kind| *kind == Kind::String);
    let mut reason = None;
    for kind in tried {
        match as_kind(text, kind, schema, depth) {
            Ok(value) => return Ok(value),
            Err(what) => reason = reason.or(what),
        }
    }
    if let Some(what) = reason {
        return Err(what);
    }
    Err(none(text, &wanted(schema)))
}

fn none(text: &str, wanted: &[String]) -> String {
    format!("expected {}, got `{text}`", wanted.join(" or "))
}

/// Names the types that the schema accepts, null last.
fn wanted(schema: &Schema) -> Vec<String> {
    let mut kinds = schema.kinds();
    kinds.sort_by_key(|kind| *kind == Kind::Null);
    kinds.iter().map(|kind| words(*kind, schema)).collect()
}

/// Parses a boolean: true, yes, y, on, 1, or their opposites.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "on" | "1" => Some(true),
        "false" | "no" | "n" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Converts text to one type. The error is a message that replaces the usual one, if any.
fn as_kind(text: &str, kind: Kind, schema: &Schema, depth: usize) -> Result<Tree, Option<String>> {
    let leaf = |json: Option<RawJson>| json.map(Tree::Leaf).ok_or(None);
    match kind {
        Kind::String => leaf(RawJson::new(text).ok()),
        Kind::Null => leaf((text == "null").then(RawJson::default)),
        Kind::Boolean => leaf(boolean(text).and_then(|b| RawJson::new(&b).ok())),
        Kind::Number => leaf(number(text)),
        Kind::Integer => leaf(number(text).filter(|n| !n.get().contains(['.', 'e', 'E']))),
        Kind::Object => leaf(json(text).filter(RawJson::is_object)),
        Kind::Array => match json(text).and_then(|json| json.parse::<Vec<RawJson>>().ok()) {
            Some(items) => Ok(Tree::List(items)),
            None if depth == 0 => Err(None),
            None => match within(text, &schema.items(), depth - 1) {
                Ok(Tree::Leaf(item)) => Ok(Tree::List(vec![item])),
                Ok(Tree::List(items)) => Ok(Tree::List(RawJson::new(&items).ok().into_iter().collect())),
                Ok(Tree::Object(_)) => Err(None),
                Err(what) => Err(Some(what)),
            },
        },
    }
}

fn words(kind: Kind, schema: &Schema) -> String {
    match kind {
        Kind::String => "a string".to_owned(),
        Kind::Integer => "an integer".to_owned(),
        Kind::Number => "a number".to_owned(),
        Kind::Boolean => "true or false".to_owned(),
        Kind::Null => "null".to_owned(),
        Kind::Array => "a list".to_owned(),
        Kind::Object => match schema.names().next() {
            Some(member) => format!("an object (`.{member}=…`, or JSON)"),
            None => "a JSON object".to_owned(),
        },
    }
}

fn choose(text: &str, choices: &[Value]) -> Result<Tree, String> {
    match choices.iter().find(|choice| plain(choice) == text) {
        Some(choice) => Ok(Tree::Leaf(choice.clone().into())),
        None => Err(none(text, &[format!("one of {}", names(choices))])),
    }
}

fn names(choices: &[Value]) -> String {
    choices.iter().map(plain).collect::<Vec<_>>().join(", ")
}

fn plain(choice: &Value) -> String {
    choice.as_str().map_or_else(|| choice.to_string(), str::to_owned)
}

/// Tries the alternatives, those that accept any string last.
fn any_of(text: &str, alternatives: &[Schema], depth: usize) -> Result<Tree, String> {
    let mut ordered: Vec<&Schema> = alternatives.iter().collect();
    ordered.sort_by_key(|schema| schema.kinds().contains(&Kind::String) && schema.choices().is_none());
    let mut reasons: Vec<String> = Vec::new();
    let mut all: Vec<String> = Vec::new();
    for schema in ordered {
        // Nested alternatives are left to `:=`.
        if !schema.alternatives().is_empty() {
            continue;
        }
        match within(text, schema, depth) {
            Ok(value) => return Ok(value),
            Err(what) => reasons.push(what),
        }
        match schema.choices() {
            Some(choices) => all.push(format!("one of {}", names(&choices))),
            None => all.extend(wanted(schema)),
        }
    }
    all.sort_by_key(|word| word == "null");
    all.dedup();
    match (reasons.as_slice(), all.as_slice()) {
        ([], _) => Err(format!("cannot convert `{text}`; use `:=` for JSON")),
        ([reason], _) | ([reason, ..], []) => Err(reason.clone()),
        (_, all) => Err(none(text, all)),
    }
}

/// Parses text as JSON if it is JSON, and as a string otherwise.
fn anything(text: &str) -> RawJson {
    json(text).or_else(|| RawJson::new(text).ok()).unwrap_or_default()
}

fn json(text: &str) -> Option<RawJson> {
    RawJson::from_text(text.trim()).ok()
}

/// Parses a number, with all of its digits.
fn number(text: &str) -> Option<RawJson> {
    json(text).filter(|json| json.get().starts_with(|c: char| c == '-' || c.is_ascii_digit()))
}
