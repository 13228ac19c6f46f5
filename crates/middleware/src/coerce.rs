//! Arguments of almost the right type.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use couplet_core::{BoxFuture, Call, JsonText, Reply, sync::lock};
use couplet_server::{ListedTool, Middleware, Next};
use couplet_types::{RequestMethod, is_json_type};
use serde_json::Value;

/// Converts arguments of tools to the types in the input schema: some hosts and models send numbers and JSON in strings.
///
/// A value is converted only if its type is not allowed and the converted one is: `"3"` to `3`, `"true"` to `true`, `"[1]"`
/// and `"{}"` to the array and the object, and `"a"` to `["a"]` where an array is expected. Everything else stays as it is,
/// and is checked by the tool. Tools of mounted servers have the schema that is listed for the caller.
///
/// ```
/// use couplet_middleware::Coercion;
/// use couplet_server::Server;
///
/// let server: Server = Server::new("app", "1.0.0").middleware(Coercion::new());
/// # drop(server);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Coercion(Arc<Mutex<HashMap<String, Parsed>>>);

/// The parsed schema of a tool.
#[derive(Clone, Debug)]
struct Parsed {
    tool: ListedTool,
    schema: Arc<Value>,
}

/// The depth of references and nested values that is followed.
const DEPTH: usize = 16;

/// The most parsed schemas. Tools may come and go while the server runs.
const MAX_SCHEMAS: usize = 10_000;

impl Coercion {
    /// Creates middleware for all tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the parsed schema of a tool.
    fn schema(&self, tool: &ListedTool) -> Arc<Value> {
        let mut all = lock(&self.0);
        if let Some(known) = all.get(&tool.name).filter(|known| known.tool.is_same(tool)) {
            return known.schema.clone();
        }
        if all.len() >= MAX_SCHEMAS {
            all.clear();
        }
        let schema = Arc::new(tool.input_schema.parse().unwrap_or_default());
        all.insert(tool.name.clone(), Parsed { tool: tool.clone(), schema: Arc::clone(&schema) });
        schema
    }

    /// Returns the call with converted arguments, if any is converted.
    async fn converted(&self, call: &Call, next: &Next) -> Option<Call> {
        let tool = next.tool(call).await?;
        let mut arguments: Value = call.params.get("arguments")?.parse().ok()?;
        let schema = self.schema(&tool);
        // Some models send all arguments as one string.
        let mut changed = convert_text(&mut arguments, &["object"]);
        changed |= convert(&mut arguments, &schema, &schema, DEPTH);
        if !changed {
            return None;
        }
        let mut call = call.clone();
        call.params = call.params.with("arguments", &JsonText::new(arguments.to_string()).ok()?).ok()?;
        Some(call)
    }
}

impl Middleware for Coercion {
    fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply> {
        if call.known() != Some(RequestMethod::CallTool) || !call.params.has("arguments") {
            return next.run(call);
        }
        let coercion = self.clone();
        Box::pin(async move {
            match coercion.converted(&call, &next).await {
                Some(converted) => next.run(converted).await,
                None => next.run(call).await,
            }
        })
    }
}

/// Converts a value and what is inside of it. Returns whether anything changed.
fn convert(value: &mut Value, schema: &Value, root: &Value, depth: usize) -> bool {
    let Some(schema) = resolved(schema, root, depth) else { return false };
    let Some(types) = types(schema, root, depth) else { return false };
    let mut changed = false;
    if !types.iter().any(|name| is_json_type(value, name)) {
        changed = convert_text(value, &types);
        if !changed && types.contains(&"array") && !value.is_null() && fits_items(value, schema, root, depth) {
            *value = Value::Array(vec![value.take()]);
            changed = true;
        }
    }
    if depth == 0 {
        return changed;
    }
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                if let Some(inner) = schema.get("properties").and_then(|properties| properties.get(key)) {
                    changed |= convert(member, inner, root, depth - 1);
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = schema.get("items") {
                for item in items {
                    changed |= convert(item, inner, root, depth - 1);
                }
            }
        }
        _ => {}
    }
    changed
}

/// Converts a string to one of the types, if it is the text of one.
fn convert_text(value: &mut Value, types: &[&str]) -> bool {
    let Value::String(text) = &*value else { return false };
    let Ok(parsed) = serde_json::from_str::<Value>(text.trim()) else { return false };
    // `"null"` is more often a word than a value.
    let fits = !parsed.is_null() && !parsed.is_string() && types.iter().any(|name| is_json_type(&parsed, name));
    if fits {
        *value = parsed;
    }
    fits
}

/// Whether a value can be the only item of an array: its type fits, or it can be converted.
fn fits_items(value: &Value, schema: &Value, root: &Value, depth: usize) -> bool {
    let Some(items) = schema.get("items").and_then(|items| resolved(items, root, depth)) else { return true };
    let Some(types) = types(items, root, depth) else { return true };
    let mut copy = value.clone();
    types.iter().any(|name| is_json_type(value, name)) || convert_text(&mut copy, &types)
}

/// Follows references within the schema.
fn resolved<'a>(schema: &'a Value, root: &'a Value, depth: usize) -> Option<&'a Value> {
    let mut schema = schema;
    for _ in 0..=depth {
        match schema.get("$ref").and_then(Value::as_str) {
            None => return Some(schema),
            Some(reference) => schema = root.pointer(reference.strip_prefix('#')?)?,
        }
    }
    None
}

/// Returns the allowed types; `None` if every type may be allowed.
fn types<'a>(schema: &'a Value, root: &'a Value, depth: usize) -> Option<Vec<&'a str>> {
    let named = match schema.get("type") {
        Some(Value::String(name)) => Some(vec![name.as_str()]),
        Some(Value::Array(names)) => Some(names.iter().filter_map(Value::as_str).collect()),
        _ => None,
    };
    let choices = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)).and_then(Value::as_array);
    match (named, choices) {
        (Some(named), _) => Some(named),
        (None, Some(choices)) if depth > 0 => {
            let all = choices.iter().map(|choice| types(resolved(choice, root, depth)?, root, depth - 1));
            all.collect::<Option<Vec<_>>>().map(|all| all.concat())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, given: Value, expected: Value) {
        let mut value = given.clone();
        let changed = convert(&mut value, &schema, &schema, DEPTH);
        assert_eq!(value, expected);
        assert_eq!(changed, given != expected);
    }

    #[test]
    fn only_what_does_not_fit_is_converted() {
        check(json!({ "type": "integer" }), json!("3"), json!(3));
        check(json!({ "type": "integer" }), json!("3.5"), json!("3.5"));
        check(json!({ "type": "number" }), json!(" 3.5 "), json!(3.5));
        check(json!({ "type": "boolean" }), json!("true"), json!(true));
        check(json!({ "type": "string" }), json!("3"), json!("3"));
        check(json!({ "type": ["integer", "string"] }), json!("3"), json!("3"));
        check(json!({ "type": ["integer", "null"] }), json!("3"), json!(3));
        check(json!({ "type": ["integer", "null"] }), json!("null"), json!("null"));
        check(json!({}), json!("3"), json!("3"));
        check(json!({ "type": "string" }), json!(3), json!(3));
        check(json!({ "type": "array", "items": { "type": "string" } }), json!("a"), json!(["a"]));
        check(json!({ "type": "array", "items": { "type": "integer" } }), json!("[1,\"2\"]"), json!([1, 2]));
        check(json!({ "type": "array", "items": { "type": "integer" } }), json!("3"), json!([3]));
        check(json!({ "type": "array", "items": { "type": "integer" } }), json!("x"), json!("x"));
        check(json!({ "type": "array" }), json!(null), json!(null));
        check(
            json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
            json!("{\"n\":\"1\"}"),
            json!({ "n": 1 }),
        );
        check(json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }), json!("4"), json!(4));
        check(json!({ "anyOf": [{ "type": "integer" }, {}] }), json!("4"), json!("4"));
        let nested = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/n" } }, "$defs": { "n": { "type": "number" } } });
        check(nested, json!({ "a": "1", "b": "2" }), json!({ "a": 1, "b": "2" }));
        check(json!({ "$ref": "#" }), json!("1"), json!("1"));
    }
}
