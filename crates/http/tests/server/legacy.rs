//! The transport of 2024-11-05.

use couplet_http::server::Endpoint;
use serde_json::{Value, json};

use crate::support::{OLDEST, Reply, by_user, call, endpoint, eventually, initialize, request, send};

pub(crate) async fn post(endpoint: &Endpoint, address: &str, message: &Value) -> Reply {
    let mut request = request("POST", &[("accept", "")], message.to_string());
    *request.uri_mut() = format!("/mcp{address}").parse().unwrap();
    send(endpoint, request).await
}

/// The stream of a new session, and the address that it names.
pub(crate) async fn open(endpoint: &Endpoint) -> (Reply, String) {
    let mut stream = send(endpoint, request("GET", &[], "")).await;
    assert_eq!((stream.status.as_u16(), stream.is_stream()), (200, true));
    let first = stream.body.event().await.unwrap();
    (stream, String::from_utf8(first.data.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn line_151_a_stream_and_an_address() {
    let (endpoint, seen) = endpoint();
    let endpoint = endpoint.http_sse();
    let (mut stream, address) = open(&endpoint).await;
    let mut accepted = post(&endpoint, &address, &initialize(OLDEST)).await;
    assert_eq!(accepted.status, 202);
    assert!(accepted.body.text().await.is_empty());
    assert_eq!(stream.body.message().await.unwrap()["result"]["protocolVersion"], OLDEST);
    post(&endpoint, &address, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    for id in [1, 2] {
        post(&endpoint, &address, &call(id, "tools/call", &json!({ "name": "slow" }))).await;
    }
    let done = [stream.body.message().await.unwrap(), stream.body.message().await.unwrap()];
    assert!(done.iter().all(|m| m["result"]["content"][0]["text"] == "done"));
    // The session ends with the stream.
    post(&endpoint, &address, &call(3, "tools/call", &json!({ "name": "slow" }))).await;
    let _ = tokio::time::timeout(std::time::Duration::from_millis(50), stream.body.message()).await;
    drop(stream);
    eventually(|| seen.dropped() == 1).await;
    assert_eq!(post(&endpoint, &address, &call(4, "ping", &json!({}))).await.status, 404);
}

#[tokio::test]
async fn line_152_the_first_event_is_the_address() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.http_sse();
    let mut stream = send(&endpoint, request("GET", &[], "")).await;
    let first = stream.body.event().await.unwrap();
    assert_eq!(first.event.as_deref(), Some("endpoint"));
    let address = String::from_utf8(first.data.to_vec()).unwrap();
    // It is relative, so that it holds wherever the endpoint is mounted.
    assert!(address.starts_with("?sessionId=") && address.len() > 40, "{address}");
    assert_ne!(open(&endpoint).await.1, address);
    assert_eq!(post(&endpoint, &address, &call(1, "ping", &json!({}))).await.status, 202);
    assert_eq!(post(&endpoint, "?sessionId=other", &call(1, "ping", &json!({}))).await.status, 404);
}

#[tokio::test]
async fn line_154_messages_are_message_events() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.http_sse();
    let (mut stream, address) = open(&endpoint).await;
    for message in [initialize(OLDEST), call(1, "tools/call", &json!({ "name": "hello" })), json!("nonsense")] {
        post(&endpoint, &address, &message).await;
        let event = stream.body.event().await.unwrap();
        assert_eq!((event.event.as_deref(), event.id), (Some("message"), None));
        let answer: Value = serde_json::from_slice(&event.data).unwrap();
        assert_eq!(answer["jsonrpc"], "2.0");
    }
}

#[tokio::test]
async fn line_155_origins_and_users_are_checked_here_as_well() {
    let (endpoint, _) = endpoint();
    let endpoint = by_user(endpoint.http_sse());
    let reply = send(&endpoint, request("GET", &[("origin", "http://evil.com")], "")).await;
    assert_eq!(reply.status, 403);
    let reply = send(&endpoint, request("GET", &[("host", "evil.com")], "")).await;
    assert_eq!(reply.status, 403);
    let mut stream = send(&endpoint, request("GET", &[("x-user", "alice")], "")).await;
    let address = String::from_utf8(stream.body.event().await.unwrap().data.to_vec()).unwrap();
    assert_eq!(post(&endpoint, &address, &initialize(OLDEST)).await.status, 404, "it belongs to who opened it");
}

#[tokio::test]
async fn line_156_it_is_off_unless_somebody_wants_it() {
    let (endpoint, _) = endpoint();
    assert_eq!(send(&endpoint, request("GET", &[], "")).await.status, 400);
}
