//! `null` in schemas of arguments: calls may contain it, but hosts and model APIs reject schemas that have it.

use serde_json::{Map, Value, json};

/// Allows `null` in a schema; false if it was allowed before.
pub(crate) fn allow_null(schema: &mut Map<String, Value>) -> bool {
    let mut changed = false;
    if let Some(kind @ Value::String(_)) = schema.get_mut("type") {
        *kind = json!([kind, "null"]);
        changed = true;
    }
    let null = json!({ "type": "null" });
    for (keyword, value) in [("enum", Value::Null), ("anyOf", null)] {
        if let Some(Value::Array(values)) = schema.get_mut(keyword)
            && !values.contains(&value)
        {
            values.push(value);
            changed = true;
        }
    }
    changed
}

/// Removes each `null` that [`allow_null`] has written, in a schema of the rewriter.
pub(crate) fn without_null(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            ("type", kind @ Value::Array(_)) => *kind = kind[0].take(),
            ("enum", Value::Array(values)) => values.retain(|value| !value.is_null()),
            ("anyOf", Value::Array(schemas)) => {
                schemas.retain(|schema| schema["type"] != "null");
                schemas.iter_mut().for_each(without_null);
            }
            ("properties", Value::Object(schemas)) => schemas.values_mut().for_each(without_null),
            ("items" | "additionalProperties", schema) => without_null(schema),
            _ => {}
        }
    }
}
