//! Schemas with other arguments.

use couplet_types::{Map, RawJson};

use crate::{nested, tool::ToolTransform};

type Object = Map<RawJson>;

/// The keywords whose schemas are about the same object, as lists and alone.
const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const PARTS: [&str; 4] = ["if", "then", "else", "not"];

/// The maximum nesting of schemas about the same object.
const DEPTH: usize = 8;

/// Returns the schema of a tool's arguments as callers see it.
pub(crate) fn reshape(tool: &ToolTransform, schema: &RawJson) -> RawJson {
    reshaped(tool, schema, DEPTH).unwrap_or_else(|| schema.clone())
}

/// `None` if the schema is not an object, such as `true`.
fn reshaped(tool: &ToolTransform, schema: &RawJson, depth: usize) -> Option<RawJson> {
    let mut members: Object = schema.parse().ok()?;
    if let Some(properties) = parsed::<Object>(&members, "properties") {
        let properties: Object =
            properties.into_iter().filter_map(|(name, schema)| property(tool, name, schema)).collect();
        members.insert("properties", RawJson::new(&properties).ok()?);
    }
    if let Some(required) = parsed::<Vec<String>>(&members, "required") {
        let is_filled = |name: &String| tool.argument_of(name).is_some_and(|argument| argument.filled().is_some());
        let required: Vec<&str> =
            required.iter().filter(|name| !is_filled(name)).filter_map(|name| tool.exposed_argument(name)).collect();
        match required.is_empty() {
            true => drop(members.remove("required")),
            false => members.insert("required", RawJson::new(&required).ok()?),
        }
    }
    if let Some(dependent) = parsed::<Map<Vec<String>>>(&members, "dependentRequired") {
        let dependent: Map<Vec<&str>> = dependent
            .iter()
            .filter_map(|(name, needs)| {
                let needs = needs.iter().filter_map(|name| tool.exposed_argument(name)).collect();
                Some((tool.exposed_argument(name)?, needs))
            })
            .collect();
        members.insert("dependentRequired", RawJson::new(&dependent).ok()?);
    }
    if depth > 0 {
        parts(tool, &mut members, depth - 1)?;
    }
    RawJson::new(&members).ok()
}

/// Reshapes the schemas inside that are about the same object.
fn parts(tool: &ToolTransform, members: &mut Object, depth: usize) -> Option<()> {
    let again = |schema: &RawJson| reshaped(tool, schema, depth).unwrap_or_else(|| schema.clone());
    for key in PARTS {
        if let Some(schema) = members.get(key) {
            let schema = again(schema);
            members.insert(key, schema);
        }
    }
    for key in LISTS {
        if let Some(schemas) = parsed::<Vec<RawJson>>(members, key) {
            let schemas: Vec<RawJson> = schemas.iter().map(again).collect();
            members.insert(key, RawJson::new(&schemas).ok()?);
        }
    }
    Some(())
}

fn property(tool: &ToolTransform, name: String, schema: RawJson) -> Option<(String, RawJson)> {
    let exposed = tool.exposed_argument(&name)?.to_owned();
    let schema = tool.members_of(&name).fold(schema, |schema, (path, change)| {
        let changed = nested::applied(&schema, path, change);
        changed.unwrap_or(schema)
    });
    match tool.argument_of(&name) {
        Some(argument) => Some((exposed, argument.applied_to(&schema))),
        None => Some((exposed, schema)),
    }
}

fn parsed<T: serde::de::DeserializeOwned>(members: &Object, key: &str) -> Option<T> {
    members.get(key)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::ArgumentTransform;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn arguments_are_renamed_and_removed_wherever_the_schema_names_them() {
        let tool = ToolTransform::new()
            .argument("q", ArgumentTransform::new().name("query").description("Words."))
            .argument("n", ArgumentTransform::new().integer().maximum(5.0).default_value(json!(3)))
            .preset("tenant", json!("acme"))
            .hide_argument("debug");
        let schema = json!({
            "type": "object",
            "properties": {
                "q": { "type": "string", "x-mcp-header": "Query" },
                "n": { "type": "number" },
                "tenant": { "type": "string" },
                "debug": true,
                "page": { "type": "integer" }
            },
            "required": ["q", "n", "tenant", "page"],
            "dependentRequired": { "page": ["n", "debug"], "debug": ["q"] },
            "anyOf": [{ "required": ["q"] }, { "required": ["tenant"] }, true],
            "additionalProperties": false
        });
        let reshaped: Value = reshape(&tool, &schema.into()).parse().expect("it is JSON");
        assert_eq!(
            reshaped,
            json!({
                "type": "object",
                "properties": {
                    "query": { "type": "string", "x-mcp-header": "Query", "description": "Words." },
                    "n": { "type": "integer", "maximum": 5, "default": 3 },
                    "page": { "type": "integer" }
                },
                "required": ["query", "page"],
                "dependentRequired": { "page": ["n"] },
                "anyOf": [{ "required": ["query"] }, {}, true],
                "additionalProperties": false
            })
        );
        let ordered =
            RawJson::from_text(r#"{"properties":{"z":{},"q":{},"a":{}},"type":"object"}"#).expect("it is JSON");
        let expected = r#"{"properties":{"z":{},"query":{"description":"Words."},"a":{}},"type":"object"}"#;
        assert_eq!(reshape(&tool, &ordered).get(), expected, "the order is that of the tool");
        for strange in [json!(true), json!([1]), json!({ "properties": 1, "required": "all" })] {
            let strange = RawJson::from(strange);
            assert_eq!(reshape(&tool, &strange).get(), strange.get());
        }
    }
}
