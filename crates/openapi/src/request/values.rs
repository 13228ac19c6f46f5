//! Values as text.

use serde_json::{Map, Value};

/// Returns the text of a value: strings as they are, lists and objects as JSON, `null` as nothing.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns the members of an object, each as `key=value` or as two texts, encoded.
pub(super) fn flat(members: &Map<String, Value>, explode: bool, encode: impl Fn(&str) -> String) -> Vec<String> {
    let pairs = members.iter().map(|(key, value)| (encode(key), encode(&text_of(value))));
    match explode {
        true => pairs.map(|(key, value)| format!("{key}={value}")).collect(),
        false => pairs.flat_map(|(key, value)| [key, value]).collect(),
    }
}
