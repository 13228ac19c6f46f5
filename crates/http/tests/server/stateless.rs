//! The shape without sessions.

use serde_json::{Value, json};

use crate::support::{Seen, alone, call, check, endpoint, eventually, initialize, meta, request, send, server};

#[tokio::test]
async fn line_192_one_address_takes_posts() {
    let (endpoint, _) = endpoint();
    let reply = send(&endpoint, alone("tools/call", json!({ "name": "hello" }), &[])).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json().await["result"]["content"][0]["text"], "Hello!");
}

#[tokio::test(start_paused = true)]
async fn line_197_an_answer_is_a_message_or_a_stream() {
    let (endpoint, _) = endpoint();
    for (tool, kind) in [("hello", "application/json"), ("slow", "text/event-stream")] {
        let reply = send(&endpoint, alone("tools/call", json!({ "name": tool }), &[])).await;
        assert_eq!((reply.status.as_u16(), reply.header("content-type")), (200, Some(kind)));
    }
}

#[tokio::test(start_paused = true)]
async fn line_199_a_stream_is_about_its_request_and_ends_with_the_answer() {
    let seen = Seen::default();
    let server = server(&seen);
    let endpoint = couplet_http::server::Endpoint::new(server.clone());
    let mut reply = send(&endpoint, alone("tools/call", json!({ "name": "slow" }), &[])).await;
    assert!(reply.is_stream());
    // A change is nothing that this request is about.
    server.remove_tool("hello");
    let first = reply.body.event().await.expect("there is progress");
    assert_eq!(first.id, None, "nobody can come back to it");
    let messages = reply.body.messages().await;
    let (answer, notes) = messages.split_last().expect("there is an answer");
    assert_eq!(notes.len(), 9);
    assert!(notes.iter().all(|n| n["method"] == "notifications/progress" && n["params"]["progressToken"] == "token"));
    assert_eq!((answer["id"].as_i64(), seen.finished()), (Some(1), 1));
    assert_eq!(endpoint.stream_count(), 1);
    drop(reply);
    assert_eq!(endpoint.stream_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn line_200_no_stream_carries_a_request() {
    let (endpoint, _) = endpoint();
    // A question is an answer.
    let reply = send(&endpoint, alone("tools/call", json!({ "name": "ask" }), &[])).await;
    assert!(!reply.is_stream());
    assert_eq!(reply.json().await["result"]["resultType"], "input_required");
    // Also when there was something before it.
    let mut reply = send(&endpoint, alone("tools/call", json!({ "name": "slow_ask" }), &[])).await;
    assert!(reply.is_stream());
    let messages = reply.body.messages().await;
    assert!(messages.iter().all(|m| m.get("method").is_none() || m.get("id").is_none()), "{messages:?}");
    assert_eq!(messages.last().unwrap()["result"]["resultType"], "input_required");
}

#[tokio::test(start_paused = true)]
async fn line_201_streams_are_not_to_be_buffered() {
    let (endpoint, _) = endpoint();
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    for request in [alone("tools/call", json!({ "name": "slow" }), &[]), alone("subscriptions/listen", listen, &[])] {
        let reply = send(&endpoint, request).await;
        assert_eq!((reply.is_stream(), reply.header("x-accel-buffering")), (true, Some("no")));
    }
}

fn with_version(version: &str) -> Value {
    let mut meta = meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!(version);
    json!({ "_meta": meta })
}

const VERSION: &str = "mcp-protocol-version";

#[tokio::test]
async fn line_205_the_header_and_the_body_name_the_same_version() {
    check(
        "tools/list",
        &[
            (json!({}), &[], 200, None),
            (with_version("2025-11-25"), &[], 400, Some(-32020)),
            (with_version("v999.0.0"), &[], 400, Some(-32020)),
            (json!({}), &[(VERSION, "v999.0.0")], 400, Some(-32020)),
        ],
    )
    .await;
}

#[tokio::test]
async fn line_206_a_version_that_is_not_spoken_is_an_error_that_names_those_that_are() {
    check(
        "tools/list",
        &[
            (with_version("v999.0.0"), &[(VERSION, "v999.0.0")], 400, Some(-32022)),
            (with_version("2025-11-25"), &[(VERSION, "2025-11-25")], 400, Some(-32022)),
            (json!({ "_meta": {} }), &[(VERSION, "v999.0.0")], 400, Some(-32022)),
        ],
    )
    .await;
    let (endpoint, _) = endpoint();
    let reply = send(&endpoint, alone("tools/list", with_version("v9"), &[(VERSION, "v9")])).await;
    let data = reply.json().await["error"]["data"].clone();
    assert_eq!(data["requested"], "v9");
    assert!(data["supported"].as_array().unwrap().contains(&json!("2026-07-28")));
}

#[tokio::test]
async fn line_208_a_version_header_that_is_missing_is_an_error() {
    check("tools/list", &[(json!({}), &[(VERSION, "")], 400, Some(-32020))]).await;
    check("tools/call", &[(json!({ "name": "hello" }), &[(VERSION, "")], 400, Some(-32020))]).await;
}

#[tokio::test]
async fn keys_that_are_missing_are_an_error() {
    let without = |key: &str| {
        let mut meta = meta();
        meta.as_object_mut().unwrap().remove(&format!("io.modelcontextprotocol/{key}"));
        json!({ "_meta": meta })
    };
    check(
        "tools/list",
        &[
            (without("protocolVersion"), &[], 400, Some(-32602)),
            (without("clientCapabilities"), &[], 400, Some(-32602)),
            (json!({ "_meta": {} }), &[], 400, Some(-32602)),
        ],
    )
    .await;
}

#[tokio::test]
async fn line_227_there_are_no_sessions() {
    let (endpoint, _) = endpoint();
    let headers = [("mcp-session-id", "nonsense"), ("last-event-id", "7")];
    let reply = send(&endpoint, alone("tools/list", json!({}), &headers)).await;
    assert_eq!((reply.status.as_u16(), reply.header("mcp-session-id")), (200, None));
    for method in ["GET", "DELETE"] {
        let reply = send(&endpoint, request(method, &[(VERSION, "2026-07-28")], "")).await;
        assert_eq!((reply.status.as_u16(), reply.header("allow")), (405, Some("POST")));
    }
    assert_eq!(endpoint.session_count(), 0);
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
async fn line_207_methods_that_are_not_served_are_not_found() {
    for method in ["unknown/method", "initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/list"] {
        check(method, &[(json!({}), &[], 404, Some(-32601))]).await;
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
