//! The names and types of arguments, without their values.

use serde_json::{Map, Value};

/// The maximum nesting.
pub(super) const DEPTH: usize = 4;
/// The maximum number of members of an object.
pub(super) const MEMBERS: usize = 32;
/// The maximum length of a name.
const NAME: usize = 40;

/// Returns the shape of a value: `{"path":"string","lines":["number"]}`.
///
/// Keys that do not look like names may be data, and are left out.
pub(super) fn shape(value: &Value) -> Value {
    at(value, 0)
}

fn at(value: &Value, depth: usize) -> Value {
    let word = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) if depth >= DEPTH => "array",
        Value::Object(_) if depth >= DEPTH => "object",
        Value::Array(elements) => return Value::Array(elements.iter().take(1).map(|one| at(one, depth + 1)).collect()),
        Value::Object(members) => return object(members, depth),
    };
    word.into()
}

fn object(members: &Map<String, Value>, depth: usize) -> Value {
    let named = members.iter().filter(|(key, _)| is_name(key.as_bytes())).take(MEMBERS);
    let mut shape: Map<_, _> = named.map(|(key, value)| (key.clone(), at(value, depth + 1))).collect();
    let others = members.len() - shape.len();
    if others > 0 {
        shape.insert("…".to_owned(), others.into());
    }
    Value::Object(shape)
}

/// Whether a key looks like a name.
pub(super) fn is_name(key: &[u8]) -> bool {
    key.len() <= NAME
        && key.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && key.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}
