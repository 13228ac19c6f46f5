//! Clients of the revisions with sessions, served without any.

use couplet_http::server::Endpoint;
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

use crate::support::{Reply, Seen, VERSIONS, alone, call, endpoint, initialize, request, send, server};

async fn post(endpoint: &Endpoint, version: &str, message: &Value) -> Reply {
    send(endpoint, request("POST", &[("mcp-protocol-version", version)], message.to_string())).await
}

#[tokio::test(start_paused = true)]
async fn every_request_stands_for_itself() {
    for version in VERSIONS {
        // Each goes to another process.
        let fresh = || endpoint().0.without_sessions();
        let reply = post(&fresh(), "", &initialize(version)).await;
        assert_eq!((reply.status.as_u16(), reply.header("mcp-session-id")), (200, None));
        assert_eq!(reply.json().await["result"]["protocolVersion"], version);
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let mut reply = post(&fresh(), version, &ready).await;
        assert_eq!(reply.status, 202);
        assert!(reply.body.text().await.is_empty());
        let reply = post(&fresh(), version, &call(1, "tools/call", &json!({ "name": "hello" }))).await;
        assert_eq!((reply.status.as_u16(), reply.header("mcp-session-id")), (200, None));
        let answer = reply.json().await;
        assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(1), &json!("Hello!")));
        assert!(answer["result"].get("resultType").is_none(), "{answer}");
        let slow = call(2, "tools/call", &json!({ "name": "slow", "_meta": { "progressToken": 2 } }));
        let messages = post(&fresh(), version, &slow).await.body.messages().await;
        assert_eq!((messages.len(), &messages[10]["id"]), (11, &json!(2)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_answered_together() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.without_sessions();
    let slow = call(1, "tools/call", &json!({ "name": "slow", "_meta": { "progressToken": 1 } }));
    let ping = call(2, "ping", &json!({}));
    let answers = post(&endpoint, "2025-03-26", &json!([ping, call(3, "ping", &json!({}))])).await.json().await;
    assert_eq!(answers.as_array().unwrap().len(), 2);
    let mut reply = post(&endpoint, "2025-03-26", &json!([slow, ping])).await;
    let messages = tokio::time::timeout(std::time::Duration::from_secs(60), reply.body.messages()).await;
    let messages = messages.expect("the stream ends");
    assert_eq!((messages.len(), messages[10].as_array().unwrap().len()), (11, 2));
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
    assert_eq!(post(&endpoint, "2025-03-26", &json!([note, note])).await.status, 202);
    assert_eq!(post(&endpoint, "2025-03-26", &json!([{}])).await.status, 400);
}

#[tokio::test]
async fn an_error_has_the_status_of_an_answer() {
    // A client would take any other for the end of its session.
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.without_sessions();
    for (method, params, code) in
        [("unknown/method", json!({}), -32601), ("tools/call", json!({ "name": "missing" }), -32602)]
    {
        let reply = post(&endpoint, "2025-06-18", &call(1, method, &params)).await;
        assert_eq!((reply.status.as_u16(), reply.code().await), (200, code), "{method}");
    }
    let reply = post(&endpoint, "1999-01-01", &call(1, "tools/list", &json!({}))).await;
    assert_eq!(reply.status, 400);
}

#[tokio::test]
async fn nothing_is_kept() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.without_sessions();
    for id in 0..10 {
        post(&endpoint, "", &initialize("2025-11-25")).await;
        // An id that somebody else gave out is nothing to this server.
        let headers = [("mcp-session-id", "from another time"), ("mcp-protocol-version", "2025-11-25")];
        let list = call(id, "tools/list", &json!({})).to_string();
        assert_eq!(send(&endpoint, request("POST", &headers, list)).await.json().await["id"], id);
    }
    assert_eq!((endpoint.session_count(), endpoint.stream_count()), (0, 0));
    // The other era is as it was.
    assert_eq!(send(&endpoint, alone("tools/list", json!({}), &[])).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn the_client_can_be_asked_nothing_and_cancels_by_hanging_up() {
    let (endpoint, seen) = endpoint();
    let endpoint = endpoint.without_sessions();
    let reply = post(&endpoint, "2025-11-25", &call(1, "tools/call", &json!({ "name": "ask" }))).await;
    let answer = reply.json().await;
    assert!(answer["error"].is_object() || answer["result"]["isError"] == true, "{answer}");
    // Nobody could come back to a stream.
    let reply = post(&endpoint, "2025-11-25", &call(1, "tools/call", &json!({ "name": "polled" }))).await;
    assert_eq!(reply.json().await["result"]["content"][0]["text"], "at last");
    let slow = call(2, "tools/call", &json!({ "name": "slow", "_meta": { "progressToken": 2 } }));
    let mut reply = post(&endpoint, "2025-11-25", &slow).await;
    reply.body.message().await.unwrap();
    drop(reply);
    assert_eq!((seen.finished(), seen.dropped()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_about_its_request_alone() {
    let handle = server(&Seen::default());
    let endpoint = Endpoint::new(handle.clone()).without_sessions();
    let slow = call(2, "tools/call", &json!({ "name": "slow", "_meta": { "progressToken": 2 } }));
    let mut reply = post(&endpoint, "2025-06-18", &slow).await;
    handle.remove_tool("hello");
    let messages = reply.body.messages().await;
    assert!(messages.iter().all(|m| m["method"] != "notifications/tools/list_changed"), "{messages:?}");
    assert_eq!(messages.len(), 11);
}

#[tokio::test]
async fn a_server_without_these_revisions_has_none_to_offer() {
    let versions = [ProtocolVersion::V2026_07_28];
    let server = couplet_server::Server::<()>::new("modern", "1.0.0").versions(versions).build();
    let endpoint = Endpoint::new(server).without_sessions();
    for message in [initialize("2025-11-25"), call(1, "tools/list", &json!({}))] {
        assert_eq!(post(&endpoint, "", &message).await.status, 400);
    }
}
