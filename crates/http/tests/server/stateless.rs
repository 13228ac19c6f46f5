//! The shape without sessions.

use couplet_core::http::headers::ParamHeader;
use serde_json::{Value, json};

use crate::support::{Seen, alone, call, endpoint, eventually, initialize, meta, request, send, server};

/// A tool call, the headers that differ from the right ones, and the status and code of the answer.
type Case<'a> = (Value, &'a [(&'a str, &'a str)], u16, Option<i64>);

async fn check(method: &str, cases: &[Case<'_>]) {
    let (endpoint, _) = endpoint();
    for (params, headers, status, code) in cases {
        let reply = send(&endpoint, alone(method, params.clone(), headers)).await;
        let what = format!("{method} {params} with {headers:?}");
        assert_eq!(reply.status.as_u16(), *status, "{what}");
        let message = reply.json().await;
        assert_eq!(message["error"]["code"].as_i64(), *code, "{what}: {message}");
        assert_eq!(message["id"], 1, "{what}: {message}");
    }
}

#[tokio::test]
async fn line_192_197_post_is_answered_with_a_message() {
    let (endpoint, _) = endpoint();
    let reply = send(&endpoint, alone("tools/call", json!({ "name": "hello" }), &[])).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("mcp-session-id"), None);
    assert_eq!(reply.json().await["result"]["content"][0]["text"], "Hello!");
}

#[tokio::test]
async fn line_196_notifications_are_accepted_and_responses_are_not() {
    let (endpoint, _) = endpoint();
    let version = [("mcp-protocol-version", "2026-07-28")];
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    let mut reply = send(&endpoint, request("POST", &version, note.to_string())).await;
    assert_eq!(reply.status, 202);
    assert!(reply.body.text().await.is_empty());
    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    let reply = send(&endpoint, request("POST", &version, response.to_string())).await;
    assert_eq!((reply.status.as_u16(), reply.code().await), (400, -32600));
    let batch = json!([call(1, "tools/list", &json!({ "_meta": meta() }))]);
    let reply = send(&endpoint, request("POST", &version, batch.to_string())).await;
    assert_eq!((reply.status.as_u16(), reply.code().await), (400, -32600));
}

#[tokio::test]
async fn line_199_201_a_stream_has_the_notifications_and_ends_with_the_answer() {
    let (endpoint, seen) = endpoint();
    let mut reply = send(&endpoint, alone("tools/call", json!({ "name": "slow" }), &[])).await;
    assert_eq!(reply.status, 200);
    assert!(reply.is_stream());
    assert_eq!(reply.header("x-accel-buffering"), Some("no"));
    let first = reply.body.event().await.expect("there is progress");
    assert_eq!(first.id, None);
    let messages = reply.body.messages().await;
    let (answer, notes) = messages.split_last().expect("there is an answer");
    assert!(notes.iter().all(|n| n["method"] == "notifications/progress" && n["params"]["progressToken"] == "token"));
    assert_eq!((answer["id"].as_i64(), seen.finished()), (Some(1), 1));
    assert_eq!(endpoint.stream_count(), 1);
    drop(reply);
    assert_eq!(endpoint.stream_count(), 0);
}

#[tokio::test]
async fn line_200_a_question_is_an_answer_and_not_a_request() {
    let (endpoint, _) = endpoint();
    let reply = send(&endpoint, alone("tools/call", json!({ "name": "ask" }), &[])).await;
    assert!(!reply.is_stream());
    assert_eq!(reply.json().await["result"]["resultType"], "input_required");
}

#[tokio::test]
async fn line_205_206_208_the_version_is_in_the_header_and_in_the_body() {
    let without = |key: &str| {
        let mut meta = meta();
        meta.as_object_mut().unwrap().remove(&format!("io.modelcontextprotocol/{key}"));
        json!({ "_meta": meta })
    };
    let with = |version: &str| {
        let mut meta = meta();
        meta["io.modelcontextprotocol/protocolVersion"] = json!(version);
        json!({ "_meta": meta })
    };
    let version = "mcp-protocol-version";
    check(
        "tools/list",
        &[
            (json!({}), &[], 200, None),
            (with("2025-11-25"), &[], 400, Some(-32020)),
            (with("v999.0.0"), &[], 400, Some(-32020)),
            (with("v999.0.0"), &[(version, "v999.0.0")], 400, Some(-32022)),
            (with("2025-11-25"), &[(version, "2025-11-25")], 400, Some(-32022)),
            (json!({}), &[(version, "")], 400, Some(-32020)),
            (without("protocolVersion"), &[], 400, Some(-32602)),
            (without("clientCapabilities"), &[], 400, Some(-32602)),
            (json!({ "_meta": {} }), &[], 400, Some(-32602)),
            (json!({ "_meta": {} }), &[(version, "v999.0.0")], 400, Some(-32022)),
        ],
    )
    .await;
}

#[tokio::test]
async fn line_206_the_error_names_the_versions() {
    let (endpoint, _) = endpoint();
    let mut meta = meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("v9");
    let headers = [("mcp-protocol-version", "v9")];
    let reply = send(&endpoint, alone("tools/list", json!({ "_meta": meta }), &headers)).await;
    let data = reply.json().await["error"]["data"].clone();
    assert_eq!(data["requested"], "v9");
    assert!(data["supported"].as_array().unwrap().contains(&json!("2026-07-28")));
}

#[tokio::test]
async fn line_207_methods_that_are_not_served_are_not_found() {
    for method in ["unknown/method", "initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/list"] {
        check(method, &[(json!({}), &[], 404, Some(-32601))]).await;
    }
}

#[tokio::test]
async fn line_209_210_headers_say_what_the_body_says() {
    let hello = || json!({ "name": "hello" });
    check(
        "tools/call",
        &[
            (hello(), &[("MCP-METHOD", "tools/call"), ("mcp-method", "")], 200, None),
            (hello(), &[("mcp-method", "")], 400, Some(-32020)),
            (hello(), &[("mcp-method", "tools/list")], 400, Some(-32020)),
            (hello(), &[("mcp-method", "TOOLS/CALL")], 400, Some(-32020)),
            (hello(), &[("mcp-name", "")], 400, Some(-32020)),
            (hello(), &[("mcp-name", "other")], 400, Some(-32020)),
            (hello(), &[("mcp-name", "Hello")], 400, Some(-32020)),
            (hello(), &[("mcp-name", "  hello  ")], 200, None),
            // An unknown tool is an error of the method, and the headers are right.
            (json!({ "name": "missing" }), &[], 200, Some(-32602)),
        ],
    )
    .await;
    let twice = [("mcp-method", "tools/call"), ("mcp-method", "tools/call")];
    check("tools/call", &[(hello(), &twice, 400, Some(-32020))]).await;
}

#[tokio::test]
async fn line_211_base64_is_strict() {
    let name = |value: &'static str| [("mcp-name", value)];
    check(
        "tools/call",
        &[
            (json!({ "name": "hello" }), &name("=?base64?aGVsbG8=?="), 200, None),
            (json!({ "name": "hello" }), &name("=?base64?aGVsbG8?="), 400, Some(-32020)),
            (json!({ "name": "hello" }), &name("=?base64?aGVs!!!bG8=?="), 400, Some(-32020)),
            (json!({ "name": "hello" }), &name("=?BASE64?aGVsbG8=?="), 400, Some(-32020)),
        ],
    )
    .await;
}

#[tokio::test]
async fn line_211_212_215_216_arguments_are_mirrored() {
    let region = |arguments: Value| json!({ "name": "region", "arguments": arguments });
    let none: &[(&str, &str)] = &[];
    check(
        "tools/call",
        &[
            (region(json!({})), none, 200, None),
            (region(json!({ "region": null })), none, 200, None),
            (region(json!({ "region": "west" })), none, 400, Some(-32020)),
            (region(json!({ "region": "west" })), &[("mcp-param-region", "west")], 200, None),
            (region(json!({ "region": "west" })), &[("Mcp-Param-REGION", "west")], 200, None),
            (region(json!({ "region": "west" })), &[("mcp-param-region", "West")], 400, Some(-32020)),
            (region(json!({ "region": "Hello" })), &[("mcp-param-region", "=?base64?SGVsbG8=?=")], 200, None),
            (region(json!({ "region": "SGVsbG8=" })), &[("mcp-param-region", "SGVsbG8=")], 200, None),
            (region(json!({ "region": "=?base64?SGVsbG8=" })), &[("mcp-param-region", "=?base64?SGVsbG8=")], 200, None),
            (region(json!({ "region": "Hello" })), &[("mcp-param-region", "=?base64?SGVsbG8?=")], 400, Some(-32020)),
            (region(json!({ "region": "Hello" })), &[("mcp-param-region", "=?base64?SGV!bG8=?=")], 400, Some(-32020)),
            (region(json!({ "count": 42 })), &[("mcp-param-count", "42.0")], 200, None),
            (region(json!({ "count": 42.0 })), &[("mcp-param-count", "42")], 200, None),
            (region(json!({ "count": 42 })), &[("mcp-param-count", "43")], 400, Some(-32020)),
            (
                region(json!({ "count": 9_007_199_254_740_993_i64 })),
                &[("mcp-param-count", "9007199254740993")],
                400,
                Some(-32020),
            ),
            (region(json!({ "where": { "dry": true } })), &[("mcp-param-dry-run", "true")], 200, None),
            (region(json!({ "where": { "dry": true } })), &[("mcp-param-dry-run", "false")], 400, Some(-32020)),
            (region(json!({ "where": { "dry": true } })), none, 400, Some(-32020)),
            (region(json!({})), &[("mcp-param-unknown", "x")], 200, None),
        ],
    )
    .await;
}

#[test]
fn line_218_to_222_annotations_that_break_the_rules() {
    let good = |property: Value| json!({ "type": "object", "properties": { "a": property } });
    let named = |name: Value| good(json!({ "type": "string", "x-mcp-header": name }));
    let two = |a: &str, b: &str| {
        let property = |name: &str| json!({ "type": "string", "x-mcp-header": name });
        json!({ "type": "object", "properties": { "a": property(a), "b": property(b) } })
    };
    let leaf = json!({ "type": "string", "x-mcp-header": "A" });
    let cases = [
        (named(json!("A-1")), true),
        (named(json!("Method")), true),
        (named(json!("")), false),
        (named(json!("a b")), false),
        (named(json!("a:b")), false),
        (named(json!("é")), false),
        (named(json!("a\u{1}")), false),
        (named(json!(1)), false),
        (two("A", "B"), true),
        (two("A", "a"), false),
        (good(json!({ "type": "integer", "x-mcp-header": "A" })), true),
        (good(json!({ "type": "boolean", "x-mcp-header": "A" })), true),
        (good(json!({ "type": "number", "x-mcp-header": "A" })), false),
        (good(json!({ "type": "array", "x-mcp-header": "A" })), false),
        (good(json!({ "type": "object", "x-mcp-header": "A" })), false),
        (good(json!({ "type": "null", "x-mcp-header": "A" })), false),
        (good(json!({ "x-mcp-header": "A" })), false),
        (good(good(leaf.clone())), true),
        (good(json!({ "type": "array", "items": leaf })), false),
        (good(json!({ "anyOf": [leaf] })), false),
        (json!({ "type": "object", "$defs": { "a": leaf } }), false),
        (json!({ "type": "object", "then": good(leaf) }), false),
        (good(json!({ "type": "object", "default": { "x-mcp-header": "A" } })), true),
        (json!({ "type": "object", "properties": { "x-mcp-header": { "type": "string" } } }), true),
    ];
    for (schema, is_good) in cases {
        assert_eq!(ParamHeader::all(&schema).is_ok(), is_good, "{schema}");
    }
}

#[test]
#[should_panic(expected = "x-mcp-header")]
fn line_218_a_wrong_annotation_is_found_at_registration() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "number", "x-mcp-header": "A" } } });
    let tool = couplet_server::tool("bad", || "no").input_schema(schema);
    let _ = couplet_server::Server::<()>::new("bad", "1.0.0").tool(tool).build();
}

#[tokio::test]
async fn line_227_sessions_are_ignored() {
    let (endpoint, _) = endpoint();
    let headers = [("mcp-session-id", "nonsense"), ("last-event-id", "7")];
    let reply = send(&endpoint, alone("tools/list", json!({}), &headers)).await;
    assert_eq!((reply.status.as_u16(), reply.header("mcp-session-id")), (200, None));
    for method in ["GET", "DELETE"] {
        let reply = send(&endpoint, request(method, &[("mcp-protocol-version", "2026-07-28")], "")).await;
        assert_eq!(reply.status, 405);
    }
}

#[tokio::test]
async fn line_228_hanging_up_cancels() {
    let (endpoint, seen) = endpoint();
    for _ in 0..100 {
        let mut reply = send(&endpoint, alone("tools/call", json!({ "name": "slow" }), &[])).await;
        reply.body.message().await.expect("there is progress");
    }
    assert_eq!((seen.finished(), seen.dropped()), (0, 100));
    assert_eq!(endpoint.stream_count(), 0);
}

#[tokio::test]
async fn line_228_hanging_up_before_the_response_cancels() {
    let (endpoint, seen) = endpoint();
    let mut call = alone("tools/call", json!({ "name": "slow" }), &[]);
    // Without a token there is no progress, and nothing to open a stream for.
    let body = call.body().replace("progressToken", "nothing");
    *call.body_mut() = body;
    let answer = send(&endpoint, call);
    assert!(tokio::time::timeout(std::time::Duration::from_millis(150), answer).await.is_err());
    assert_eq!((seen.finished(), seen.dropped()), (0, 1));
}

#[tokio::test]
async fn subscriptions_stream_from_the_acknowledgement_to_the_result() {
    let seen = Seen::default();
    let server = server(&seen);
    let endpoint = couplet_http::server::Endpoint::new(server.clone());
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let mut reply = send(&endpoint, alone("subscriptions/listen", listen, &[])).await;
    assert!(reply.is_stream());
    let first = reply.body.message().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    server.remove_tool("hello");
    let change = reply.body.message().await.unwrap();
    assert_eq!(change["method"], "notifications/tools/list_changed");
    assert_eq!(change["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    endpoint.shut_down();
    let rest = reply.body.messages().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(rest[0]["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    let reply = send(&endpoint, alone("tools/list", json!({}), &[])).await;
    assert_eq!(reply.status, 503);
    eventually(|| endpoint.stream_count() == 1).await;
}

#[tokio::test]
async fn what_cannot_be_read_is_refused() {
    let (endpoint, _) = endpoint();
    let deep = "[".repeat(100_000);
    let cases = [
        ("", 400, -32700),
        ("{", 400, -32700),
        (&deep, 400, -32700),
        ("7", 400, -32600),
        ("[]", 400, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, 400, -32600),
    ];
    for (body, status, code) in cases {
        let reply = send(&endpoint, request("POST", &[], body)).await;
        assert_eq!(reply.status, status);
        assert_eq!(reply.code().await, code);
    }
}

#[tokio::test]
async fn a_server_without_sessions_has_only_post() {
    let versions = [couplet_types::ProtocolVersion::V2026_07_28];
    let server = couplet_server::Server::<()>::new("modern", "1.0.0").versions(versions).build();
    let endpoint = couplet_http::server::Endpoint::new(server);
    for method in ["GET", "DELETE", "OPTIONS", "PUT"] {
        let reply = send(&endpoint, request(method, &[], "")).await;
        assert_eq!((reply.status.as_u16(), reply.header("allow")), (405, Some("POST")));
    }
    let reply = send(&endpoint, request("POST", &[], initialize("2025-11-25").to_string())).await;
    assert_eq!((reply.status.as_u16(), reply.header("mcp-session-id")), (400, None));
    let error = reply.json().await;
    assert_eq!(error["error"]["data"]["supported"], json!(["2026-07-28"]));
}
