//! Forms for elicitation: flat objects of plain fields.

use serde_json::{Map, Value, json};

use super::{Enums, Nulls, Pass, alternatives, choices, kind};

/// A form, of what elicitation permits (`PrimitiveSchemaDefinition` in the specification).
pub(super) fn form(plain: &Value, type_name: &str) -> Result<Value, String> {
    let root = Pass::over(plain, Nulls::Drop, Enums::Keep).schema(plain);
    if root.get("type") != Some(&json!("object")) || alternatives(&root).is_some() {
        return Err(format!("an elicitation form must be a struct with plain fields; `{type_name}` is not"));
    }
    let mut fields = Map::new();
    for (name, field) in root.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let written = form_field(field).ok_or_else(|| {
            let kind = field.as_object().map(kind).unwrap_or_default();
            let allowed = "a form holds strings, numbers, booleans, unit enums and lists of unit enums";
            format!("elicitation form `{type_name}`: field `{name}` is of type {kind}; {allowed}")
        })?;
        fields.insert(name.clone(), written.into());
    }
    let mut form = json!({ "type": "object", "properties": fields });
    if let Some(required) = root.get("required") {
        form["required"] = required.clone();
    }
    Ok(form)
}

fn form_field(field: &Value) -> Option<Map<String, Value>> {
    let keep = |keys: &[&str]| -> Map<String, Value> {
        let keys = keys.iter().chain(&["type", "title", "description", "default"]);
        keys.filter_map(|key| Some(((*key).to_owned(), field.get(*key)?.clone()))).collect()
    };
    if let Some(choices) = field.get("oneOf").and_then(choices) {
        let mut written = keep(&[]);
        written.insert("type".into(), "string".into());
        written.insert("oneOf".into(), titled(choices));
        return Some(written);
    }
    match field.get("type")?.as_str()? {
        "string" if field.get("enum").is_some() => Some(keep(&["enum"])),
        "string" => {
            let mut written = keep(&["minLength", "maxLength", "format"]);
            if !["email", "uri", "date", "date-time"].iter().any(|format| field["format"] == *format) {
                written.remove("format");
            }
            Some(written)
        }
        "number" | "integer" => Some(keep(&["minimum", "maximum"])),
        "boolean" => Some(keep(&[])),
        "array" => {
            let mut written = keep(&["minItems", "maxItems"]);
            let items = field.get("items")?;
            let items = match items.get("oneOf").and_then(choices) {
                Some(choices) => json!({ "anyOf": titled(choices) }),
                None if items["type"] == "string" => json!({ "type": "string", "enum": items.get("enum")? }),
                None => return None,
            };
            written.insert("items".into(), items);
            Some(written)
        }
        _ => None,
    }
}

fn titled(choices: Vec<(String, Option<String>)>) -> Value {
    choices
        .into_iter()
        .map(|(value, label)| json!({ "const": value, "title": label.unwrap_or_else(|| value.clone()) }))
        .collect()
}
