//! `null` in arguments: sent where the document allows it in JSON, and otherwise the same as an absent argument.

use couplet_openapi::OpenApi;
use serde_json::{Value, json};

use crate::kit::{Api, call, client, document, echoed};

/// An API that allows `null` in every way that documents have.
fn nullable() -> Value {
    let member =
        |schema: Value| json!({ "type": "object", "properties": { "a": schema, "other": { "type": "string" } } });
    let operation = |id: &str, media_type: &str, schema: Value| {
        let content = json!({ media_type: { "schema": schema } });
        json!({ "post": { "operationId": id, "requestBody": { "content": content } } })
    };
    let json = |id: &str, schema: Value| operation(id, "application/json", member(schema));
    let query = |name: &str, schema: Value| json!({ "name": name, "in": "query", "schema": schema });
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Null", "version": "1.0" },
        "components": { "schemas": { "Name": { "type": "string", "maxLength": 9 } } },
        "paths": {
            "/flag": json("flag", json!({ "type": "string", "nullable": true })),
            "/vendor": json("vendor", json!({ "type": "string", "x-nullable": true })),
            "/list": json("list", json!({ "type": ["string", "null"] })),
            "/several": json("several", json!({ "type": ["string", "integer", "null"] })),
            "/choice": json("choice", json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }, { "type": "null" }] })),
            "/either": json("either", json!({ "anyOf": [{ "$ref": "#/components/schemas/Name" }, { "type": "null" }] })),
            "/all": json("all", json!({ "allOf": [{ "$ref": "#/components/schemas/Name" }], "nullable": true })),
            "/enum": json("enum", json!({ "enum": ["x", null] })),
            "/typed": json("typed", json!({ "type": ["string", "null"], "enum": ["x", null] })),
            "/any": json("any", json!({})),
            "/object": json("object", json!({ "type": ["object", "null"], "properties": { "b": { "type": "string" } } })),
            "/below": json("below", member(json!({ "type": ["string", "null"] }))),
            "/items": json("items", json!({ "type": "array", "items": { "type": ["string", "null"] } })),
            "/never": json("never", json!({ "type": "string" })),
            "/never-below": json("never_below", member(json!({ "type": "string" }))),
            "/form": operation("form", "application/x-www-form-urlencoded", member(json!({ "type": ["string", "null"] }))),
            "/parts": operation("parts", "multipart/form-data", member(json!({ "type": ["string", "null"] }))),
            "/whole": operation("whole", "application/json", json!({ "type": ["array", "null"], "items": { "type": "string" } })),
            "/whole-never": operation("whole_never", "application/json", json!({ "type": "array", "items": { "type": "string" } })),
            "/required": { "post": { "operationId": "required", "requestBody": { "required": true, "content": { "application/json": {
                "schema": { "type": "object", "required": ["a", "b"], "properties": {
                    "a": { "type": ["string", "null"] },
                    "b": { "type": "string" },
                } },
            } } } } },
            "/query": { "get": { "operationId": "query", "parameters": [
                query("a", json!({ "type": ["string", "null"] })),
                query("b", json!({ "type": "string" })),
                { "name": "c", "in": "query", "content": { "application/json": { "schema": { "type": ["string", "null"] } } } },
                { "name": "d", "in": "query", "required": true, "schema": { "type": ["string", "null"] } },
            ] } },
        },
    })
}

#[tokio::test]
async fn null_is_sent_where_json_allows_it() {
    let api = Api::echo().await;
    let served = OpenApi::new(document(nullable())).base_url(&api.url()).expect("it is a URL");
    let client = client(served).await;
    for tool in ["flag", "vendor", "list", "several", "choice", "either", "all", "enum", "typed", "any", "object"] {
        let seen = echoed(&client, tool, json!({ "a": null })).await;
        assert_eq!(seen["body"], r#"{"a":null}"#, "{tool}");
    }
    for (tool, arguments, expected) in [
        ("below", json!({ "a": { "a": null } }), r#"{"a":{"a":null}}"#),
        ("items", json!({ "a": ["x", null] }), r#"{"a":["x",null]}"#),
        ("whole", json!({ "body": null }), "null"),
        ("required", json!({ "a": null, "b": "x" }), r#"{"a":null,"b":"x"}"#),
    ] {
        assert_eq!(echoed(&client, tool, arguments).await["body"], expected, "{tool}");
    }
}

#[tokio::test]
async fn elsewhere_null_is_an_absent_argument() {
    let api = Api::echo().await;
    let served = OpenApi::new(document(nullable())).base_url(&api.url()).expect("it is a URL");
    let client = client(served).await;
    for (tool, arguments, expected) in [
        ("never", json!({ "a": null }), ""),
        ("never", json!({ "a": null, "other": "x" }), r#"{"other":"x"}"#),
        ("form", json!({ "a": null }), ""),
        ("form", json!({ "a": null, "other": "x" }), "other=x"),
        ("parts", json!({ "a": null }), ""),
        ("whole_never", json!({ "body": null }), ""),
    ] {
        assert_eq!(echoed(&client, tool, arguments.clone()).await["body"], expected, "{tool} {arguments}");
    }
    let seen = echoed(&client, "query", json!({ "a": null, "b": null, "c": null, "d": "x" })).await;
    assert_eq!(seen["target"], "/query?c=null&d=x");
    let sent = api.seen().len();
    for (tool, arguments) in [
        ("required", json!({ "a": "x", "b": null })),
        ("query", json!({ "d": null })),
        ("never_below", json!({ "a": { "a": null } })),
        ("flag", json!({ "a": 5 })),
    ] {
        assert!(call(&client, tool, arguments.clone()).await.failed(), "{tool} {arguments}");
    }
    assert_eq!(api.seen().len(), sent, "nothing was sent");
}

/// Hosts and model APIs reject `null` in schemas, so models read of it.
#[test]
fn listed_schemas_describe_null() {
    let (operations, _) =
        OpenApi::new(document(nullable())).base_url("https://api.example.com").expect("it is a URL").operations();
    assert_eq!(operations.len(), 21);
    for operation in &operations {
        let listed = operation.input_schema.to_string();
        assert!(!listed.contains("\"null\"") && !listed.contains(":null") && !listed.contains("nullable"), "{listed}");
    }
    let argument = |tool: &str, name: &str| {
        let operation = operations.iter().find(|operation| operation.name == tool).expect("it is there");
        operation.input_schema["properties"][name].clone()
    };
    assert_eq!(argument("list", "a"), json!({ "type": "string", "description": "May be `null`." }));
    assert_eq!(argument("typed", "a"), json!({ "type": "string", "enum": ["x"], "description": "May be `null`." }));
    assert_eq!(argument("query", "a"), json!({ "type": "string" }));
    assert_eq!(argument("form", "a"), json!({ "type": "string" }));
}
