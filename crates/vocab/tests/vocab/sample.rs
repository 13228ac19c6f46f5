//! Makes values that fit a JSON Schema, with every alternative at least once, and values that nearly do.

use serde_json::{Map, Value, json};

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
    match path.rsplit('/').next().unwrap_or_default() {
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
        "string" => vec![json!("https://example.com/{a}")],
        "boolean" => vec![json!(true), json!(false)],
        "null" => vec![Value::Null],
        "integer" => vec![json!(7), json!(0), json!(2.0)],
        "number" => vec![json!(0.25), json!(1)],
        "array" => vec![Value::Array(samples(&schema["items"], root)), json!([])],
        "object" => object(schema, root),
        other => panic!("no samples for the type `{other}`"),
    }
}

/// As many objects as the richest member has alternatives, and one with the required members only.
fn object(schema: &Value, root: &Value) -> Vec<Value> {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let members: Vec<(&String, Vec<Value>)> = properties.iter().map(|(k, v)| (k, samples(v, root))).collect();
    let count = members.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
    let extra = match schema.get("additionalProperties") {
        Some(Value::Bool(false)) | None => Vec::new(),
        Some(extra) => samples(extra, root),
    };
    let full = |i: usize| {
        let named = members.iter().map(|(k, values)| ((*k).clone(), values[i % values.len()].clone()));
        let more = extra.iter().enumerate().map(|(i, value)| (format!("x-{i}"), value.clone()));
        Value::Object(named.chain(more).collect())
    };
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let least = members.iter().filter(|(k, _)| required.contains(&json!(k)));
    let least = least.map(|(k, values)| ((*k).clone(), values[0].clone())).collect();
    (0..count).map(full).chain([Value::Object(least)]).collect()
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
}

/// The value with one thing changed somewhere: a member left out, or a value replaced by another one.
pub(crate) fn mutation(value: &Value, dice: &mut Dice) -> Value {
    let mut changed = value.clone();
    change(&mut changed, dice);
    changed
}

fn change(value: &mut Value, dice: &mut Dice) {
    let stop = dice.roll(5) == 0;
    match value {
        Value::Object(members) if !members.is_empty() && !stop => {
            let key = members.keys().nth(dice.roll(members.len())).cloned().unwrap();
            match dice.roll(4) {
                0 => drop(members.remove(&key)),
                _ => change(&mut members[&key], dice),
            }
        }
        Value::Array(items) if !items.is_empty() && !stop => {
            let at = dice.roll(items.len());
            match dice.roll(10) {
                0 => *items = items.iter().cycle().take(items.len() * 101).cloned().collect(),
                _ => change(&mut items[at], dice),
            }
        }
        _ => *value = other(dice),
    }
}

fn other(dice: &mut Dice) -> Value {
    match dice.roll(10) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(0.5),
        4 => json!(101.0),
        5 => json!("?"),
        6 => json!([]),
        7 => json!([null]),
        8 => json!({}),
        _ => json!({ "type": "text", "text": 1 }),
    }
}
