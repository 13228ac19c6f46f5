//! Documents that are made to exhaust or to confuse: their costs are bounded, and their names are within limits.

use std::collections::BTreeSet;

use couplet_openapi::{Document, OpenApi, Operation, Skipped};
use serde_json::{Map, Value, json};

use crate::kit::document;

/// The operations of a document with these paths and components.
fn operations(paths: Value, components: Value) -> (Vec<Operation>, Vec<Skipped>) {
    let value = json!({
        "openapi": "3.1.0",
        "servers": [{ "url": "https://example.com" }],
        "paths": paths,
        "components": components,
    });
    OpenApi::new(document(value)).operations()
}

fn posting(schema: Value) -> Value {
    json!({ "post": { "requestBody": { "content": { "application/json": { "schema": schema } } } } })
}

fn size(operation: &Operation) -> usize {
    operation.input_schema.to_string().len()
}

#[test]
fn references_that_multiply_stay_within_the_budget() {
    // Each schema has ten members of the next one: 10^30 in the end.
    let mut schemas = Map::new();
    for level in 0..30 {
        let next = json!({ "$ref": format!("#/components/schemas/s{}", level + 1) });
        let members: Map<String, Value> = (0..10).map(|at| (format!("m{at}"), next.clone())).collect();
        schemas
            .insert(format!("s{level}"), json!({ "type": "object", "properties": members, "allOf": [next.clone()] }));
        schemas.insert(
            format!("a{level}"),
            json!({ "anyOf": vec![json!({ "$ref": format!("#/components/schemas/a{}", level + 1) }); 20] }),
        );
    }
    let reference = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    // In circles of one, two and three.
    schemas.insert(
        "me".into(),
        json!({ "type": "object", "properties": { "me": reference("me") }, "allOf": [reference("me")] }),
    );
    schemas.insert("ping".into(), json!({ "type": "array", "items": reference("pong") }));
    schemas.insert(
        "pong".into(),
        json!({ "oneOf": [reference("ping"), reference("me")], "$ref": "#/components/schemas/pong" }),
    );
    let all = ["s0", "a0", "me", "ping", "pong"];
    let paths: Map<String, Value> = all.iter().map(|name| (format!("/{name}"), posting(reference(name)))).collect();
    let (operations, skipped) = operations(Value::Object(paths), json!({ "schemas": schemas }));
    assert_eq!((operations.len(), skipped), (all.len(), vec![]));
    assert!(operations.iter().all(|operation| size(operation) <= 12 << 10));
}

#[test]
fn parts_that_many_operations_share_are_not_copied_whole() {
    let many = |count: usize| (0..count).map(|at| format!("value {at}"));
    let wide: Map<String, Value> = many(50_000).map(|name| (name, json!({ "type": "string" }))).collect();
    let schemas = json!({
        "wide": { "type": "object", "properties": wide, "required": many(50_000).collect::<Vec<_>>() },
        "choices": { "enum": many(50_000).collect::<Vec<_>>() },
        "long": { "type": "string", "default": "x".repeat(1 << 20), "pattern": "x".repeat(1 << 20), "enum": ["y".repeat(1 << 20)] },
        "parts": { "allOf": vec![json!({ "type": "object" }); 50_000] },
        "alternatives": { "oneOf": vec![json!({ "type": "string" }); 50_000] },
    });
    let mut paths = Map::new();
    for (name, _) in schemas.as_object().expect("it is an object") {
        let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
        for at in 0..20 {
            let mut item = posting(schema.clone());
            item["parameters"] = json!([{ "name": "p", "in": "query", "schema": schema }]);
            item["post"]["responses"] = json!({ "200": { "content": { "application/json": { "schema": schema } } } });
            paths.insert(format!("/{name}/{at}"), item);
        }
    }
    let (operations, skipped) = operations(Value::Object(paths), json!({ "schemas": schemas }));
    assert_eq!((operations.len(), skipped.len()), (100, 0));
    for operation in &operations {
        let output = operation.output_schema.as_ref().map_or(0, |schema| schema.to_string().len());
        assert!(size(operation) + output <= 68 << 10, "{}: {} and {output}", operation.path, size(operation));
    }
}

#[test]
fn operations_that_are_too_much_are_skipped_with_a_reason() {
    let parameters = |count: usize| -> Value {
        (0..count)
            .map(|at| json!({ "name": format!("p{at}"), "in": "query", "schema": { "type": "string" } }))
            .collect()
    };
    let long = "n".repeat(2_000);
    let (operations, skipped) = operations(
        json!({
            "/few": { "get": { "parameters": parameters(400) } },
            "/many": { "get": { "parameters": parameters(501) } },
            "/long": { "get": { "parameters": [{ "name": long, "in": "query" }] } },
            "/elsewhere": { "get": { "parameters": [{ "$ref": "other.yaml#/limit" }] } },
            "/circle": { "get": { "parameters": [{ "$ref": "#/components/parameters/a" }] } },
            "/body": { "post": { "requestBody": { "$ref": "#/components/requestBodies/gone" } } },
            "/\u{1b}[31mred\u{202e}": { "get": {} },
            format!("/{long}"): { "get": {} },
        }),
        json!({ "parameters": {
            "a": { "$ref": "#/components/parameters/b" },
            "b": { "$ref": "#/components/parameters/a" },
        } }),
    );
    assert_eq!(operations.iter().map(|operation| operation.path.as_str()).collect::<Vec<_>>(), ["/few"]);
    let reasons: Vec<String> = skipped.iter().map(|one| format!("{}: {}", one.path, one.reason)).collect();
    for expected in [
        "/many: it has more than 500 parameters",
        "/long: a parameter has a name of more than 1000 bytes",
        "/elsewhere: its parameter is at `other.yaml#/limit`, which is not in this document",
        "/circle: its parameter is at `#/components/parameters/a`, which is not in this document",
        "/body: its request body is at `#/components/requestBodies/gone`, which is not in this document",
        "/[31mred: its path is too long, or has control characters",
    ] {
        assert!(reasons.iter().any(|reason| reason == expected), "{expected}: {reasons:?}");
    }
    assert!(skipped.iter().all(|one| one.path.chars().count() <= 201), "{reasons:?}");
}

#[test]
fn names_are_within_limits_whatever_the_document_has() {
    let ids = ["x".repeat(500), "X".repeat(500), "获取用户".to_owned(), "получить".to_owned(), "🦀".to_owned()];
    let ids =
        ids.into_iter().chain(["list", "LIST", "list", "li st", "-", "9", "a/../b", "\u{202e}evil"].map(str::to_owned));
    let names = [
        "y".repeat(500),
        "名前".to_owned(),
        "住所".to_owned(),
        "".to_owned(),
        "a b".to_owned(),
        "a_b".to_owned(),
        "🦀".to_owned(),
    ];
    let parameters: Vec<Value> =
        names.iter().map(|name| json!({ "name": name, "in": "query", "schema": { "type": "string" } })).collect();
    let paths: Map<String, Value> = ids
        .enumerate()
        .map(|(at, id)| {
            (format!("/路径/{at}/{{名}}"), json!({ "get": { "operationId": id, "parameters": parameters } }))
        })
        .collect();
    let (operations, skipped) = operations(Value::Object(paths), json!({}));
    assert_eq!((operations.len(), skipped), (13, vec![]));
    let is_plain = |name: &str, most: usize, more: &str| {
        (1..=most).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    let unique: BTreeSet<String> = operations.iter().map(|operation| operation.name.to_ascii_lowercase()).collect();
    assert_eq!(unique.len(), operations.len());
    for operation in &operations {
        assert!(is_plain(&operation.name, 56, "_-"), "{}", operation.name);
        let arguments = operation.input_schema["properties"].as_object().expect("it has arguments");
        // One for each name but the empty one, and the variable of the path.
        assert_eq!(arguments.len(), 7, "{arguments:?}");
        assert!(arguments.keys().all(|name| is_plain(name, 64, "_-.")), "{arguments:?}");
        // The model sees what a name was that cannot be written.
        let described = |name: &str| arguments.values().any(|argument| argument["description"] == name);
        assert!(described("名前") && described("住所") && described("名"), "{arguments:?}");
    }
}

#[test]
fn large_and_deep_documents_are_refused() {
    let fails = |text: &[u8]| Document::parse(text).expect_err("it is too much").to_string();
    assert!(fails(&vec![b' '; 100 << 20]).contains("more than 64 MiB"));
    let deep = format!("{{\"openapi\":\"3.0.0\",\"x\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    assert!(fails(deep.as_bytes()).contains("invalid JSON"));
    let deep = format!("openapi: 3.0.0\nx: {}{}", "[".repeat(5_000), "]".repeat(5_000));
    assert!(fails(deep.as_bytes()).contains("invalid YAML"));
    // As deep as it may be.
    let nested =
        (0..25).fold(json!({ "type": "string" }), |inner, _| json!({ "type": "object", "properties": { "x": inner } }));
    let (operations, _) = operations(json!({ "/x": posting(nested) }), json!({}));
    assert_eq!(operations.len(), 1);
}

/// Swagger 2 has its schemas inside of parameters and responses, which are converted.
#[test]
fn swagger_2_does_not_grow_by_its_conversion() {
    let wide: Map<String, Value> = (0..2_000).map(|at| (format!("m{at}"), json!({ "type": "string" }))).collect();
    let schema = json!({ "type": "object", "properties": wide });
    let operation = json!({
        "parameters": [{ "$ref": "#/parameters/body" }, { "$ref": "#/parameters/long" }],
        "responses": { "200": { "$ref": "#/responses/wide" } },
    });
    let mut paths: Map<String, Value> = (0..100).map(|at| (format!("/{at}"), json!({ "post": operation }))).collect();
    paths.extend((100..200).map(|at| (format!("/{at}"), json!({ "$ref": "#/x-items/one" }))));
    let source = json!({
        "swagger": "2.0",
        "host": "example.com",
        "paths": paths,
        "x-items": { "one": { "post": { "summary": "z".repeat(100_000) } } },
        "parameters": {
            "body": { "name": "pet", "in": "body", "required": true, "schema": schema, "description": "d".repeat(100_000) },
            "long": { "name": "long", "in": "query", "type": "string", "enum": ["e".repeat(100_000)] },
        },
        "responses": { "wide": { "description": "r".repeat(100_000), "schema": schema } },
        "consumes": ["c".repeat(100_000)],
    });
    let length = source.to_string().len();
    let converted = document(source);
    let grown = format!("{converted:?}").len();
    // The format for debugging is longer by itself.
    assert!(grown < 10 * length, "{length} became {grown}");
    let (operations, skipped) = OpenApi::new(converted).operations();
    assert_eq!((operations.len(), skipped), (200, vec![]));
    let first = &operations[0];
    assert_eq!((first.input_schema["required"].clone(), first.output_schema.is_some()), (json!(["body"]), true));
    assert_eq!(first.input_schema["properties"]["long"]["type"], "string");
}
