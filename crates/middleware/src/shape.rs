//! The shape of JSON: keys and types, without values.

use serde_json::Value;

/// The depth below which a shape has no more details.
const DEPTH: usize = 4;
/// The maximum number of members that are named.
const MEMBERS: usize = 20;
/// The maximum length of a key.
const KEY: usize = 40;

/// Describes a value: `{city: string(4), days: number, tags: array(2) of string(3)}`.
pub(crate) fn shape(value: &Value) -> String {
    at(value, DEPTH)
}

fn at(value: &Value, depth: usize) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(text) => format!("string({})", text.chars().count()),
        Value::Array(items) => match items.first().filter(|_| depth > 0) {
            Some(first) => format!("array({}) of {}", items.len(), at(first, depth - 1)),
            None => format!("array({})", items.len()),
        },
        Value::Object(members) if depth == 0 => format!("object({})", members.len()),
        Value::Object(members) => {
            let named =
                members.iter().take(MEMBERS).map(|(key, value)| format!("{}: {}", short(key), at(value, depth - 1)));
            let more = members.len().checked_sub(MEMBERS + 1).map(|more| format!("… {} more", more + 1));
            format!("{{{}}}", named.chain(more).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Keys come from the caller, like values: they are limited, and control characters are escaped.
fn short(key: &str) -> String {
    let mut short: String = key.chars().take(KEY).flat_map(char::escape_debug).collect();
    if key.chars().count() > KEY {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_left_out() {
        let value =
            json!({ "city": "Oslo", "days": 3, "tags": ["red"], "deep": [[[[[1]]]]], "none": null, "a\nb": true });
        let expected = "{a\\nb: boolean, city: string(4), days: number, \
                        deep: array(1) of array(1) of array(1) of array(1), none: null, tags: array(1) of string(3)}";
        assert_eq!(shape(&value), expected);
        let many: Value = (0..25).map(|n| (n.to_string(), json!(0))).collect::<serde_json::Map<_, _>>().into();
        assert!(shape(&many).ends_with("… 5 more}"), "{}", shape(&many));
        assert!(shape(&json!({ "x".repeat(1000): 1 })).len() < 100);
    }
}
