//! Schemas that are too much, or not what they should be.

use couplet_generate::{Definitions, Generator, Language};
use couplet_types::{RawJson, Tool};
use serde_json::{Value, json};

fn client(schema: Value) -> [String; 3] {
    let tool = Tool::new("tool", RawJson::from(schema.clone())).output_schema(RawJson::from(schema));
    let generator = Generator::new(&Definitions::new().tools(vec![tool]));
    Language::ALL.map(|language| generator.code(language) + &generator.tests(language, "module"))
}

#[test]
fn broken_schemas_are_any_value() {
    for schema in [
        json!(true),
        json!("text"),
        json!([]),
        json!({ "type": 5 }),
        json!({ "type": [] }),
        json!({ "properties": [], "required": 1 }),
        json!({ "anyOf": "x", "allOf": {} }),
        json!({ "allOf": [true] }),
        json!({ "allOf": [{ "$ref": "#" }, { "type": "object" }] }),
        json!({ "$ref": "#" }),
        json!({ "$ref": "#/a%ff" }),
        json!({ "enum": [] }),
        json!({ "enum": [{}, []] }),
        json!({ "oneOf": [] }),
        json!({ "anyOf": [{ "type": "null" }] }),
    ] {
        let [rust, typescript, python] = client(schema.clone());
        syn::parse_file(&rust).unwrap_or_else(|e| panic!("{schema}: {e}: {rust}"));
        assert!(typescript.contains("async tool(") && python.contains("async def tool("), "{schema}");
    }
}

#[test]
fn work_is_bounded() {
    // Each definition contains the next one twice: without a name for each, there would be 2^60 types.
    let doubled = |n: usize| json!({ "type": "object", "properties": { "a": { "$ref": format!("#/$defs/d{}", n + 1) }, "b": { "$ref": format!("#/$defs/d{}", n + 1) } } });
    let defs: serde_json::Map<String, Value> = (0..60).map(|n| (format!("d{n}"), doubled(n))).collect();
    let [rust, ..] = client(json!({ "$ref": "#/$defs/d0", "$defs": defs }));
    assert!(rust.len() < 100_000);

    let chained = |n: usize| json!({ "allOf": [{ "$ref": format!("#/$defs/d{}", n + 1) }, { "$ref": format!("#/$defs/d{}", n + 1) }, { "type": "object" }] });
    let defs: serde_json::Map<String, Value> = (0..60).map(|n| (format!("d{n}"), chained(n))).collect();
    client(json!({ "$ref": "#/$defs/d0", "$defs": defs }));

    let long = |n: usize| json!({ "type": "array", "items": { "$ref": format!("#/$defs/d{}", (n + 1) % 2000) } });
    let defs: serde_json::Map<String, Value> = (0..2000).map(|n| (format!("d{n}"), long(n))).collect();
    client(json!({ "$ref": "#/$defs/d0", "$defs": defs }));

    let deep = (0..100).fold(json!({ "type": "string" }), |inner, _| json!({ "type": "array", "items": inner }));
    client(deep);
}

#[test]
fn equal_definitions_of_tools_are_one_type() {
    let schema = |extra: &str| {
        json!({
            "type": "object", "properties": { "at": { "$ref": "#/$defs/Point" }, extra: { "type": "string" } },
            "$defs": { "Point": { "type": "object", "properties": { "x": { "type": extra } } } },
        })
    };
    let tools = [("a", "number"), ("b", "number"), ("c", "integer")];
    let tools = tools.map(|(name, extra)| Tool::new(name, RawJson::from(schema(extra))));
    let code = Generator::new(&Definitions::new().tools(tools.to_vec())).code(Language::TypeScript);
    let points: Vec<_> =
        code.lines().filter(|line| line.starts_with("export interface") && line.contains("Point")).collect();
    assert_eq!(points, ["export interface Point {", "export interface CPoint {"]);
}
