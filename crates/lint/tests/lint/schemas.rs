//! The JSON Schemas of arguments and results.

use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

use crate::{Case, case, draft::Draft};

fn output(draft: &mut Draft, schema: Value) {
    draft.tool()["outputSchema"] = schema;
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!({ "type": "string" }), |inner, _| json!({ "type": "object", "properties": { "a": inner } }))
}

pub(crate) const CASES: &[Case] = &[
    case(
        "schema-missing",
        |d| d.tool()["inputSchema"] = json!(null),
        |d| d.tool()["inputSchema"] = json!({ "type": "object", "properties": {} }),
    ),
    case(
        "schema-root-type",
        |d| {
            d.schema().as_object_mut().unwrap().remove("type");
        },
        |d| d.schema()["additionalProperties"] = json!(false),
    ),
    case(
        "schema-root-combination",
        |d| d.schema()["anyOf"] = json!([{ "required": ["city"] }, { "required": ["days"] }]),
        |d| d.argument(json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }] })),
    ),
    case(
        "schema-root-combination",
        |d| d.schema()["if"] = json!({ "required": ["days"] }),
        |d| d.argument(json!({ "type": "string", "not": { "maxLength": 3 } })),
    ),
    case(
        "schema-root-properties",
        |d| *d.schema() = json!({ "type": "object", "additionalProperties": false }),
        |d| *d.schema() = json!({ "type": "object", "properties": {}, "additionalProperties": false }),
    ),
    case(
        "schema-property-name",
        |d| d.schema()["properties"]["filter[city]"] = json!({ "type": "string", "description": "Which." }),
        |d| d.schema()["properties"]["filter.city-1_A"] = json!({ "type": "string", "description": "Which." }),
    ),
    case(
        "schema-property-name",
        |d| d.schema()["properties"]["a".repeat(65)] = json!({ "type": "string", "description": "Which." }),
        // Only the arguments themselves are looked at by the API.
        |d| d.argument(json!({ "type": "object", "properties": { "$top": { "type": "string" } } })),
    ),
    case(
        "schema-additional-object",
        |d| d.schema()["additionalProperties"] = json!({ "type": "string" }),
        |d| d.argument(json!({ "type": "object", "additionalProperties": { "type": "string" } })),
    ),
    case(
        "output-root-type",
        |d| output(d, json!({ "type": "array", "items": { "type": "string" } })),
        // Where every request stands alone, results may be anything.
        |d| {
            d.revisions = vec![ProtocolVersion::V2026_07_28];
            output(d, json!({ "type": "array", "items": { "type": "string" } }));
        },
    ),
    case("schema-boolean", |d| d.argument(json!(true)), |d| d.schema()["additionalProperties"] = json!(true)),
    case(
        "schema-boolean",
        |d| output(d, json!({ "type": "object", "properties": { "any": true } })),
        |d| output(d, json!({ "type": "object", "properties": { "any": {} } })),
    ),
    case("schema-type-missing", |d| d.argument(json!({})), |d| d.argument(json!({ "type": "string" }))),
    case(
        "schema-type-array",
        |d| d.argument(json!({ "type": ["string", "integer"] })),
        |d| d.argument(json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] })),
    ),
    case(
        "schema-nullable",
        |d| d.argument(json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] })),
        |d| d.argument(json!({ "anyOf": [{ "type": "string" }, { "type": "boolean" }] })),
    ),
    case(
        "schema-array-items",
        |d| d.argument(json!({ "type": "array" })),
        |d| d.argument(json!({ "type": "array", "items": { "type": "string" } })),
    ),
    case(
        "schema-object-empty",
        |d| d.argument(json!({ "type": "object", "properties": {} })),
        |d| d.argument(json!({ "type": "object", "additionalProperties": { "type": "string" } })),
    ),
    case(
        "schema-open",
        |_| {},
        |d| {
            for tool in &mut d.tools {
                tool["inputSchema"]["additionalProperties"] = json!(false);
            }
        },
    ),
    case(
        "schema-ref",
        |d| {
            d.argument(json!({ "$ref": "#/$defs/day" }));
            d.schema()["$defs"] = json!({ "day": { "type": "string" } });
        },
        |d| {
            output(
                d,
                json!({
                    "type": "object",
                    "properties": { "day": { "$ref": "#/$defs/day" } },
                    "$defs": { "day": { "type": "string" } },
                }),
            );
        },
    ),
    case(
        "schema-ref-remote",
        |d| d.argument(json!({ "$ref": "https://example.com/day.json" })),
        |d| d.argument(json!({ "type": "string", "title": "$ref" })),
    ),
    case(
        "schema-ref-dangling",
        |d| d.argument(json!({ "$ref": "#/$defs/day" })),
        |d| d.argument(json!({ "type": "string", "default": "#/$defs/day" })),
    ),
    case(
        "schema-recursive",
        |d| {
            output(
                d,
                json!({
                    "type": "object",
                    "properties": { "root": { "$ref": "#/$defs/node" } },
                    "$defs": { "node": {
                        "type": "object",
                        "properties": { "below": { "type": "array", "items": { "$ref": "#/$defs/node" } } },
                    } },
                }),
            );
        },
        |d| {
            output(
                d,
                json!({
                    "type": "object",
                    "properties": { "a": { "$ref": "#/$defs/node" }, "b": { "$ref": "#/$defs/node" } },
                    "$defs": { "node": { "type": "object", "properties": { "name": { "type": "string" } } } },
                }),
            );
        },
    ),
];

pub(crate) const MORE_CASES: &[Case] = &[
    case(
        "schema-enum-type",
        |d| d.argument(json!({ "enum": ["a", "b"] })),
        |d| d.argument(json!({ "type": "string", "enum": ["a", "b"] })),
    ),
    case(
        "schema-enum-values",
        |d| d.argument(json!({ "type": "integer", "enum": [1, 2] })),
        |d| d.argument(json!({ "type": "string", "enum": ["1", " "] })),
    ),
    case(
        "schema-enum-values",
        |d| d.argument(json!({ "type": "string", "enum": ["a", ""] })),
        |d| output(d, json!({ "type": "object", "properties": { "a": { "type": "integer", "enum": [1] } } })),
    ),
    case(
        "schema-const",
        |d| d.argument(json!({ "type": "string", "const": "a" })),
        |d| d.argument(json!({ "type": "string", "enum": ["a"] })),
    ),
    case(
        "schema-format-number",
        |d| output(d, json!({ "type": "object", "properties": { "n": { "type": "integer", "format": "uint32" } } })),
        |d| output(d, json!({ "type": "object", "properties": { "n": { "type": "integer", "format": "int64" } } })),
    ),
    case(
        "schema-format-text",
        |d| d.argument(json!({ "type": "string", "format": "uri" })),
        |d| d.argument(json!({ "type": "string", "format": "date-time" })),
    ),
    case(
        "schema-default",
        |d| d.argument(json!({ "type": "string", "default": null })),
        |d| d.argument(json!({ "type": "string", "default": "" })),
    ),
    case(
        "schema-default",
        |d| d.schema()["properties"]["days"]["default"] = json!(15),
        |d| d.schema()["properties"]["days"]["default"] = json!(14),
    ),
    case(
        "schema-example",
        |d| d.argument(json!({ "type": "string", "pattern": "^[a-z]+$", "examples": ["abc", "123"] })),
        |d| d.argument(json!({ "type": "string", "pattern": "^[a-z]+$", "examples": ["abc"] })),
    ),
    case(
        "schema-required-unknown",
        |d| d.schema()["required"] = json!(["city", "country"]),
        |d| d.schema()["required"] = json!(["city", "days"]),
    ),
    case(
        "schema-pattern-lookaround",
        |d| d.argument(json!({ "type": "string", "pattern": "^(?!\\.)[a-z.]+@" })),
        |d| d.argument(json!({ "type": "string", "pattern": "^(?:a|b)\\(?=" })),
    ),
    case(
        "schema-pattern",
        |d| d.argument(json!({ "type": "string", "pattern": "[z-a]" })),
        |d| d.argument(json!({ "type": "string", "pattern": "[a-z]\\d\\w\\/\\p{L}(?<name>x)" })),
    ),
    case(
        "schema-dialect",
        |d| d.schema()["$schema"] = json!("http://json-schema.org/draft-07/schema#"),
        |d| d.schema()["$comment"] = json!("draft-07"),
    ),
    case(
        "schema-dialect-named",
        |d| d.schema()["$schema"] = json!("https://json-schema.org/draft/2020-12/schema"),
        |d| d.argument(json!({ "type": "string", "title": "$schema" })),
    ),
    case(
        "schema-old-keyword",
        |d| d.schema()["definitions"] = json!({ "day": { "type": "string" } }),
        |d| d.schema()["$defs"] = json!({ "day": { "type": "string" } }),
    ),
    case(
        "schema-old-keyword",
        |d| d.argument(json!({ "type": "integer", "minimum": 0, "exclusiveMinimum": true })),
        |d| d.argument(json!({ "type": "integer", "exclusiveMinimum": 0 })),
    )
    .also(&["schema-invalid"]),
    case(
        "schema-invalid",
        |d| output(d, json!({ "type": "object", "properties": { "a": { "type": "text" } } })),
        |d| output(d, json!({ "type": "object", "properties": { "a": { "type": "string", "kind": "text" } } })),
    ),
    case(
        "schema-costly",
        |d| {
            // References that double.
            let all: serde_json::Map<String, Value> = (0..30)
                .map(|at| {
                    (format!("d{at}"), json!({ "allOf": vec![json!({ "$ref": format!("#/$defs/d{}", at + 1) }); 2] }))
                })
                .chain([("d30".to_owned(), json!({ "type": "string" }))])
                .collect();
            output(d, json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": all }));
        },
        |d| output(d, nested(5)),
    ),
    case("schema-deep", |d| output(d, nested(11)), |d| output(d, nested(10))),
    case(
        "schema-header",
        |d| d.argument(json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "City" } })),
        |d| d.argument(json!({ "type": "string", "x-mcp-header": "City" })),
    ),
];
