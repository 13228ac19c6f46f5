//! Forms for clients that know only plain ones.

use couplet_types::{RawJson, RpcError};
use serde_json::{Map, Value};

/// A form without titled and multiple choices, and without defaults but of booleans.
///
/// # Errors
/// When something has to be filled in that such a form cannot have.
pub(super) fn plain(schema: &RawJson) -> Result<RawJson, RpcError> {
    let broken = |e: serde_json::Error| RpcError::internal(format!("the form is not valid: {e}"));
    let mut schema: Map<String, Value> = schema.parse().map_err(broken)?;
    schema.remove("$schema");
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| required.as_array().is_some_and(|names| names.iter().any(|n| n == name));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        if let Some((name, _)) = properties.iter().find(|(name, field)| is_several(field) && is_required(name)) {
            return Err(RpcError::internal(format!("the client's revision cannot ask for several of `{name}`")));
        }
        // What need not be filled in is not asked.
        properties.retain(|_, field| !is_several(field));
        properties.values_mut().filter_map(Value::as_object_mut).for_each(plain_field);
    }
    Ok(Value::Object(schema).into())
}

fn is_several(field: &Value) -> bool {
    field.get("type").is_some_and(|kind| kind == "array")
}

fn plain_field(field: &mut Map<String, Value>) {
    if field.get("type").is_some_and(|kind| kind != "boolean") {
        field.remove("default");
    }
    if let Some(Value::Array(choices)) = field.remove("oneOf") {
        let column = |key: &str| choices.iter().filter_map(|c| c.get(key).cloned()).collect::<Vec<_>>();
        field.insert("enum".into(), column("const").into());
        field.insert("enumNames".into(), column("title").into());
    }
}
