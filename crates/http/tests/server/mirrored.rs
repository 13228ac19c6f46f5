//! Headers that say once more what the body says, in the shape without sessions.

use couplet_core::http::headers::ParamHeader;
use couplet_server::{Server, extract::Args, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Case, Session, alone, call, check, endpoint, request, send};

fn hello() -> Value {
    json!({ "name": "hello" })
}

fn region(arguments: &Value) -> Value {
    json!({ "name": "region", "arguments": arguments })
}

#[tokio::test]
async fn line_209_names_in_any_case_and_values_as_they_are() {
    check(
        "tools/call",
        &[
            (hello(), &[("MCP-METHOD", "tools/call"), ("mcp-method", "")], 200, None),
            (hello(), &[("Mcp-Name", "hello"), ("mcp-name", "")], 200, None),
            (hello(), &[("mcp-method", "TOOLS/CALL")], 400, Some(-32020)),
            (hello(), &[("mcp-name", "Hello")], 400, Some(-32020)),
            (region(&json!({ "region": "west" })), &[("Mcp-Param-REGION", "west")], 200, None),
            (region(&json!({ "region": "west" })), &[("mcp-param-region", "West")], 400, Some(-32020)),
        ],
    )
    .await;
}

#[tokio::test]
async fn line_210_headers_say_what_the_body_says() {
    let twice = [("mcp-method", "tools/call"), ("mcp-method", "tools/call")];
    let unreadable = request("POST", &[("mcp-name", "hell\u{f6}")], "");
    assert!(unreadable.headers()["mcp-name"].to_str().is_err(), "it is not plain text");
    check(
        "tools/call",
        &[
            (hello(), &[("mcp-method", "")], 400, Some(-32020)),
            (hello(), &[("mcp-method", "tools/list")], 400, Some(-32020)),
            (hello(), &[("mcp-name", "")], 400, Some(-32020)),
            (hello(), &[("mcp-name", "other")], 400, Some(-32020)),
            (hello(), &[("mcp-name", "hell\u{f6}")], 400, Some(-32020)),
            (hello(), &[("mcp-name", "  hello  ")], 200, None),
            (hello(), &twice, 400, Some(-32020)),
            // An unknown tool is an error of the method, and the headers are right.
            (json!({ "name": "missing" }), &[], 200, Some(-32602)),
        ],
    )
    .await;
    let read = json!({ "uri": "test://a" });
    check("resources/read", &[(read.clone(), &[], 200, None), (read, &[("mcp-name", "test://b")], 400, Some(-32020))])
        .await;
}

#[tokio::test]
async fn line_211_base64_is_decoded_and_strict() {
    let name = |value: &'static str| [("mcp-name", value)];
    let west = |text: &str| region(&json!({ "region": text }));
    let cases: [Case<'_>; 9] = [
        (hello(), &name("=?base64?aGVsbG8=?="), 200, None),
        (hello(), &name("=?base64?aGVsbG8?="), 400, Some(-32020)),
        (hello(), &name("=?base64?aGVs!!!bG8=?="), 400, Some(-32020)),
        (hello(), &name("=?BASE64?aGVsbG8=?="), 400, Some(-32020)),
        (west("Hello"), &[("mcp-param-region", "=?base64?SGVsbG8=?=")], 200, None),
        (west("SGVsbG8="), &[("mcp-param-region", "SGVsbG8=")], 200, None),
        (west("=?base64?SGVsbG8="), &[("mcp-param-region", "=?base64?SGVsbG8=")], 200, None),
        (west("Hello"), &[("mcp-param-region", "=?base64?SGVsbG8?=")], 400, Some(-32020)),
        (west("Hello"), &[("mcp-param-region", "=?base64?SGV!bG8=?=")], 400, Some(-32020)),
    ];
    check("tools/call", &cases).await;
}

#[tokio::test]
async fn line_212_integers_are_compared_as_numbers() {
    check(
        "tools/call",
        &[
            (region(&json!({ "count": 42 })), &[("mcp-param-count", "42")], 200, None),
            (region(&json!({ "count": 42 })), &[("mcp-param-count", "42.0")], 200, None),
            (region(&json!({ "count": 42.0 })), &[("mcp-param-count", "42")], 200, None),
            (region(&json!({ "count": 42 })), &[("mcp-param-count", "43")], 400, Some(-32020)),
            (region(&json!({ "count": 42 })), &[("mcp-param-count", "many")], 400, Some(-32020)),
        ],
    )
    .await;
}

#[tokio::test]
async fn line_215_nothing_needs_no_header() {
    check(
        "tools/call",
        &[
            (hello(), &[], 200, None),
            (region(&json!({})), &[], 200, None),
            (region(&json!({ "region": null, "count": null })), &[], 200, None),
            (region(&json!({ "where": {} })), &[], 200, None),
        ],
    )
    .await;
}

#[tokio::test]
async fn line_216_a_value_needs_its_header() {
    let dry = region(&json!({ "where": { "dry": true } }));
    check(
        "tools/call",
        &[
            (region(&json!({ "region": "west" })), &[], 400, Some(-32020)),
            (region(&json!({ "region": "west" })), &[("mcp-param-region", "west")], 200, None),
            (dry.clone(), &[], 400, Some(-32020)),
            (dry.clone(), &[("mcp-param-dry-run", "true")], 200, None),
            (dry, &[("mcp-param-dry-run", "false")], 400, Some(-32020)),
            (region(&json!({ "where": 5 })), &[], 200, None),
            (region(&json!({ "where": null })), &[], 200, None),
        ],
    )
    .await;
}

/// Checks which schemas are good. A tool with one that is not cannot be registered.
fn annotations(cases: &[(Value, bool)]) {
    for (schema, is_good) in cases {
        assert_eq!(ParamHeader::all(schema).is_ok(), *is_good, "{schema}");
        let registered = std::panic::catch_unwind(|| {
            let tool = tool("annotated", || "yes").input_schema(schema.clone());
            Server::<()>::new("annotated", "1.0.0").tool(tool).build()
        });
        assert_eq!(registered.is_ok(), *is_good, "{schema}");
    }
}

fn object(property: &Value) -> Value {
    json!({ "type": "object", "properties": { "a": property } })
}

#[test]
fn line_218_an_annotation_is_the_name_of_a_header() {
    let named = |name: Value| object(&json!({ "type": "string", "x-mcp-header": name }));
    annotations(&[
        (named(json!("A-1")), true),
        (named(json!("Method")), true),
        (named(json!("")), false),
        (named(json!("a b")), false),
        (named(json!("a:b")), false),
        (named(json!("é")), false),
        (named(json!("a\u{1}")), false),
        (named(json!(1)), false),
    ]);
}

#[test]
fn line_219_annotations_are_unique_in_any_case() {
    let two = |a: &str, b: &str| {
        let property = |name: &str| json!({ "type": "string", "x-mcp-header": name });
        json!({ "type": "object", "properties": { "a": property(a), "b": object(&property(b)) } })
    };
    annotations(&[(two("A", "B"), true), (two("A", "A"), false), (two("A", "a"), false)]);
}

#[test]
fn line_220_only_simple_values_are_annotated() {
    let of = |kind: &str| object(&json!({ "type": kind, "x-mcp-header": "A" }));
    annotations(&[
        (of("string"), true),
        (of("integer"), true),
        (of("boolean"), true),
        (of("number"), false),
        (of("array"), false),
        (of("object"), false),
        (of("null"), false),
        (object(&json!({ "x-mcp-header": "A" })), false),
    ]);
}

#[tokio::test]
async fn line_221_integers_stay_where_every_peer_can_read_them() {
    let most = 9_007_199_254_740_991_i64;
    let count = |count: i64| region(&json!({ "count": count }));
    check(
        "tools/call",
        &[
            (count(most), &[("mcp-param-count", "9007199254740991")], 200, None),
            (count(-most), &[("mcp-param-count", "-9007199254740991")], 200, None),
            (count(most + 1), &[("mcp-param-count", "9007199254740992")], 400, Some(-32020)),
            (count(-most - 1), &[("mcp-param-count", "-9007199254740992")], 400, Some(-32020)),
        ],
    )
    .await;
}

#[test]
fn line_222_annotations_are_reached_through_properties_alone() {
    let leaf = json!({ "type": "string", "x-mcp-header": "A" });
    annotations(&[
        (object(&object(&leaf)), true),
        (object(&json!({ "type": "array", "items": leaf })), false),
        (object(&json!({ "anyOf": [leaf] })), false),
        (object(&json!({ "oneOf": [leaf] })), false),
        (object(&json!({ "allOf": [leaf] })), false),
        (json!({ "type": "object", "$defs": { "a": leaf } }), false),
        (json!({ "type": "object", "then": object(&leaf) }), false),
        // An example is not a schema, and a property may be called so.
        (object(&json!({ "type": "object", "default": { "x-mcp-header": "A" } })), true),
        (json!({ "type": "object", "properties": { "x-mcp-header": { "type": "string" } } }), true),
    ]);
}

#[derive(Deserialize, JsonSchema)]
struct Secret {
    #[expect(dead_code, reason = "it is only described")]
    password: String,
}

#[tokio::test]
async fn line_225_nothing_is_mirrored_unasked_and_no_header_is_believed() {
    let login = tool("login", |Args(_): Args<Secret>| "in");
    let server = Server::<()>::new("secrets", "1.0.0").tool(login).build();
    let secrets = couplet_http::server::Endpoint::new(server);
    let list = send(&secrets, alone("tools/list", json!({}), &[])).await.json().await;
    assert!(list.to_string().contains("password") && !list.to_string().contains("x-mcp-header"), "{list}");
    // The handler sees the body, whatever a header says, also where headers are not compared.
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut headers = session.headers();
    headers.push(("mcp-param-region", "east"));
    let echo = call(1, "tools/call", &json!({ "name": "echo", "arguments": { "region": "west" } }));
    let reply = send(&endpoint, request("POST", &headers, echo.to_string())).await;
    assert_eq!(reply.json().await["result"]["content"][0]["text"], "west");
}

#[tokio::test]
async fn line_226_what_is_not_known_passes() {
    check(
        "tools/call",
        &[
            (hello(), &[("mcp-param-unknown", "x")], 200, None),
            (region(&json!({})), &[("mcp-param-unknown", "=?base64?!?=")], 200, None),
            (region(&json!({ "region": "west" })), &[("mcp-param-region", "west"), ("mcp-param-b", "x")], 200, None),
        ],
    )
    .await;
}
