//! Schemas as they are in documents, and as tools have them.

use serde_json::json;

use super::*;

fn rewritten(schemas: Value, direction: Direction, levels: usize) -> Value {
    let document = json!({ "openapi": "3.1.0", "components": { "schemas": schemas } });
    let document = Document::from_value(document).expect("it is a document");
    let root = &document.member("components")["schemas"]["Root"];
    Value::Object(Rewriter::new(&document, direction, levels, usize::MAX).rewrite(root))
}

fn request(schemas: Value) -> Value {
    rewritten(schemas, Direction::Request, 8)
}

#[test]
fn references_and_compositions_are_inlined() {
    let found = request(json!({
        "Root": { "allOf": [{ "$ref": "#/components/schemas/Base" }, { "properties": { "b": { "$ref": "#/components/schemas/B" } } }] },
        "Base": { "type": "object", "required": ["a", "gone"], "properties": { "a": { "type": ["string", "null"], "format": "int32" } } },
        "B": { "oneOf": [{ "type": "string" }, { "type": "integer" }, { "type": "null" }], "description": "<b>B</b>" },
    }));
    assert_eq!(
        found,
        json!({
            "type": "object",
            "required": ["a"],
            "properties": {
                "a": { "type": "string" },
                "b": { "description": "B", "anyOf": [{ "type": "string" }, { "type": "integer" }] },
            },
        })
    );
}

#[test]
fn only_keywords_that_hosts_accept_remain() {
    for (schema, expected) in [
        (json!({ "type": "array" }), json!({ "type": "array", "items": {} })),
        (json!({ "const": "x", "type": "string" }), json!({ "type": "string", "enum": ["x"] })),
        (json!({ "enum": ["a", "b", null] }), json!({ "type": "string", "enum": ["a", "b"] })),
        (json!({ "type": "integer", "enum": [1, 2] }), json!({ "type": "integer", "description": "One of `1`, `2`." })),
        (
            json!({ "type": "integer", "minimum": 1, "exclusiveMinimum": true, "maximum": "9" }),
            json!({ "type": "integer", "exclusiveMinimum": 1 }),
        ),
        (json!({ "type": "string", "pattern": "^(?=a)" }), json!({ "type": "string" })),
        (
            json!({ "type": "string", "pattern": "^[a-z]+\\d$" }),
            json!({ "type": "string", "description": "Matches `^[a-z]+\\d$`." }),
        ),
        (json!({ "type": "string", "pattern": "^[a-z" }), json!({ "type": "string" })),
        (json!({ "type": "string", "default": 5 }), json!({ "type": "string" })),
        (json!({ "type": "integer", "default": 5, "x-mcp-header": "a" }), json!({ "type": "integer", "default": 5 })),
        (json!({ "type": "string", "minLength": -1, "maxLength": 5 }), json!({ "type": "string", "maxLength": 5 })),
        (json!({ "type": ["string", "integer"] }), json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] })),
        (json!(true), json!({})),
        (json!("nonsense"), json!({})),
        (json!({ "type": "whatever", "not": 3, "if": [] }), json!({})),
    ] {
        assert_eq!(request(json!({ "Root": schema.clone() })), expected, "{schema}");
    }
}

#[test]
fn circles_end() {
    let tree = json!({
        "Root": { "type": "object", "properties": {
            "name": { "type": "string" },
            "children": { "type": "array", "items": { "$ref": "#/components/schemas/Root" } },
        } },
    });
    let found = request(tree);
    assert_eq!(found["properties"]["children"]["items"], json!({ "type": "object" }));
    // Through two schemas, through `allOf`, and to itself at once.
    for schemas in [
        json!({
            "Root": { "type": "object", "properties": { "b": { "$ref": "#/components/schemas/B" } } },
            "B": { "allOf": [{ "$ref": "#/components/schemas/Root" }], "properties": { "r": { "$ref": "#/components/schemas/Root" } } },
        }),
        json!({ "Root": { "$ref": "#/components/schemas/Root" } }),
        json!({ "Root": { "allOf": [{ "$ref": "#/components/schemas/Root" }] } }),
        json!({ "Root": { "oneOf": [{ "$ref": "#/components/schemas/Root" }] } }),
        json!({ "Root": { "additionalProperties": { "$ref": "#/components/schemas/Root" } } }),
    ] {
        let size = request(schemas.clone()).to_string().len();
        assert!(size < 1_000, "{schemas}");
    }
}

#[test]
fn growth_is_bounded() {
    // Each schema has ten properties of the next: a billion altogether.
    let level = |number: usize| {
        let property = json!({ "$ref": format!("#/components/schemas/{}", number + 1) });
        let properties: Map<String, Value> = (0..10).map(|at| (format!("p{at}"), property.clone())).collect();
        json!({ "type": "object", "properties": properties })
    };
    let mut schemas: Map<String, Value> = (0..9).map(|number| (number.to_string(), level(number))).collect();
    schemas.insert("Root".to_owned(), level(0));
    let document = json!({ "openapi": "3.0.0", "components": { "schemas": schemas } });
    let document = Document::from_value(document).expect("it is a document");
    let mut rewriter = Rewriter::new(&document, Direction::Request, 20, 10_000);
    let written = Value::Object(rewriter.rewrite(&document.member("components")["schemas"]["Root"]));
    assert!(rewriter.is_over_budget());
    assert!(written.to_string().len() < 100_000);
}

#[test]
fn deep_levels_have_a_type_only() {
    let schemas = json!({ "Root": { "type": "object", "properties": {
        "a": { "type": "object", "properties": { "b": { "type": "string" } } },
        "c": { "type": "array", "items": { "type": "string" } },
    } } });
    let expected =
        json!({ "type": "object", "properties": { "a": { "type": "object" }, "c": { "type": "array", "items": {} } } });
    assert_eq!(rewritten(schemas, Direction::Request, 1), expected);
}

#[test]
fn responses_have_types_and_allow_null() {
    let found = rewritten(
        json!({ "Root": { "type": "object", "required": ["id"], "properties": {
            "id": { "type": "string", "format": "uuid", "description": "The id.", "enum": ["a"] },
            "list": { "type": "array", "items": { "type": "integer" } },
            "secret": { "type": "string", "writeOnly": true },
            "either": { "oneOf": [{ "type": "string" }, { "type": "integer" }] },
        } } }),
        Direction::Response,
        5,
    );
    let expected = json!({ "type": "object", "properties": {
        "id": { "type": ["string", "null"] },
        "list": { "type": ["array", "null"], "items": { "type": ["integer", "null"] } },
        "either": {},
    } });
    assert_eq!(found, expected);
    for (value, place) in [
        (json!({ "id": null, "list": [1, 2.0, null], "more": true, "either": {} }), None),
        (json!({}), None),
        (json!({ "id": 5 }), Some("`/id` is not of the type `string`")),
        (json!({ "list": [1, "x"] }), Some("`/list/1` is not of the type `integer`")),
        (json!([]), Some("`/` is not of the type `object`")),
    ] {
        assert_eq!(mismatch(&found, &value).as_deref(), place, "{value}");
    }
}
