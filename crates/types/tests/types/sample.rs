//! Makes values that fit a JSON Schema: as full as it allows, with every alternative at least once.

use serde_json::{Map, Value, json};

/// The name of members that a schema allows without naming them.
pub(crate) const EXTRA: &str = "x-extra";

/// Values for a schema, with its references looked up in `root`.
pub(crate) fn samples(schema: &Value, root: &Value) -> Vec<Value> {
    if let Some(path) = schema["$ref"].as_str() {
        return referenced(path, root);
    }
    if let Some(value) = schema.get("const") {
        return vec![value.clone()];
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.clone();
    }
    if let Some(alternatives) = schema["anyOf"].as_array() {
        return alternatives.iter().flat_map(|alternative| samples(alternative, root)).collect();
    }
    if let Some(parts) = schema["allOf"].as_array() {
        return all_of(parts, root);
    }
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().flat_map(|kind| samples(&json!({ "type": kind }), root)).collect(),
        Value::String(kind) => of_kind(kind, schema, root),
        _ if schema.get("properties").is_some() => object(schema, root),
        _ => vec![json!({ "any": [1, null] }), json!("any"), json!(4.25), Value::Null],
    }
}

fn referenced(path: &str, root: &Value) -> Vec<Value> {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name {
        // These refer to themselves.
        "JSONValue" => vec![json!({ "deep": [1, "x"] }), json!([true, {}]), json!("text"), json!(3), json!(false)],
        "JSONObject" => vec![json!({}), json!({ "deep": { "er": [1, "x", true, {}] } })],
        "JSONArray" => vec![json!([]), json!([1, "x", true, {}])],
        _ => samples(root.pointer(&path[1..]).expect("the schema refers to itself only"), root),
    }
}

fn all_of(parts: &[Value], root: &Value) -> Vec<Value> {
    let parts: Vec<Vec<Value>> = parts.iter().map(|part| samples(part, root)).collect();
    let count = parts.iter().map(Vec::len).max().unwrap_or(0);
    let merge = |i: usize| {
        let members = parts.iter().flat_map(|part| part[i % part.len()].as_object().cloned().unwrap_or_default());
        Value::Object(members.collect())
    };
    (0..count).map(merge).collect()
}

fn of_kind(kind: &str, schema: &Value, root: &Value) -> Vec<Value> {
    match kind {
        "string" => vec![string(schema)],
        "boolean" => vec![json!(true), json!(false)],
        "null" => vec![Value::Null],
        "integer" => vec![json!(7), json!(0)],
        "number" => vec![json!(0.25), json!(1)],
        "array" => vec![Value::Array(samples(&schema["items"], root)), json!([])],
        "object" => object(schema, root),
        other => panic!("no samples for the type `{other}`"),
    }
}

fn string(schema: &Value) -> Value {
    match schema["format"].as_str() {
        Some("uri") => json!("https://example.com/a?b=c"),
        Some("uri-template") => json!("memo://{id}"),
        Some("byte") => json!("aGVsbG8="),
        Some(other) => panic!("no sample for the format `{other}`"),
        None => json!("text \"quoted\" \u{1f980}"),
    }
}

/// As many objects as the richest member has alternatives, and one with the required members only.
fn object(schema: &Value, root: &Value) -> Vec<Value> {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let members: Vec<(&String, Vec<Value>)> = properties.iter().map(|(k, v)| (k, samples(v, root))).collect();
    let count = members.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
    let extra = extra_members(schema, root);
    let full = |i: usize| {
        let named = members.iter().map(|(k, values)| ((*k).clone(), values[i % values.len()].clone()));
        Value::Object(named.chain(extra.clone()).collect())
    };
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let least = members.iter().filter(|(k, _)| required.contains(&json!(k)));
    let least = least.map(|(k, values)| ((*k).clone(), values[0].clone())).collect();
    (0..count).map(full).chain([Value::Object(least)]).collect()
}

/// Members without a name in the schema. Parameters and results are open too, but there such members are ignored.
fn extra_members(schema: &Value, root: &Value) -> Vec<(String, Value)> {
    let ignored = ["_meta", "elicitations"].iter().any(|name| schema["properties"].get(name).is_some());
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) | None => Vec::new(),
        Some(_) if ignored => Vec::new(),
        Some(extra) => {
            let values = samples(extra, root).into_iter().enumerate();
            values.map(|(i, value)| (format!("{EXTRA}-{i}"), value)).collect()
        }
    }
}
