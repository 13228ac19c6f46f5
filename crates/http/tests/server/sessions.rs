//! The shape with sessions.

use std::{sync::Arc, time::Duration};

use couplet_http::server::{Endpoint, MemorySessions};
use serde_json::{Value, json};

use crate::support::{BATCHES, POLLING, Seen, Session, call, endpoint, eventually, initialize, request, send, server};

const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

#[tokio::test]
async fn line_157_162_every_revision_calls_a_tool() {
    let (endpoint, _) = endpoint();
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        let reply = session.tool(1, "hello").await;
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert_eq!(reply.json().await["result"]["content"][0]["text"], "Hello!");
        let reply = session.get(None).await;
        assert_eq!((reply.status.as_u16(), reply.is_stream()), (200, true));
    }
}

#[tokio::test]
async fn line_155_158_hosts_and_origins() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.allow_host("mcp.example.com").allow_origin("https://app.example.com");
    let host = |host: &'static str| vec![("host", host)];
    let origin = |origin: &'static str| vec![("origin", origin)];
    let cases = [
        (host("localhost"), 200),
        (host("LOCALHOST:1"), 200),
        (host("127.0.0.1:65535"), 200),
        (host("[::1]:80"), 200),
        (host("[::1]"), 200),
        (host("mcp.example.com"), 200),
        (host("mcp.example.com:8443"), 200),
        (host("evil.example.com"), 403),
        (host("localhost.evil.com"), 403),
        (host("127.0.0.1.evil.com:80"), 403),
        (host("[::1"), 403),
        (host(""), 403),
        (vec![("host", "localhost"), ("host", "evil.com")], 403),
        (origin("http://localhost:3000"), 200),
        (origin("https://127.0.0.1"), 200),
        (origin("http://[::1]:80"), 200),
        (origin("https://app.example.com"), 200),
        (origin("https://mcp.example.com"), 403),
        (origin("http://evil.example.com"), 403),
        (origin("http://localhost.evil.com"), 403),
        (origin("http://localhost:80@evil.com"), 403),
        (origin("http://evil.com/localhost"), 403),
        (origin("null"), 403),
        (origin("file://"), 403),
        (vec![("origin", "http://localhost"), ("origin", "http://evil.com")], 403),
    ];
    for (headers, status) in cases {
        let reply = send(&endpoint, request("POST", &headers, initialize(POLLING).to_string())).await;
        assert_eq!(reply.status.as_u16(), status, "{headers:?}");
        if status == 403 {
            let error = reply.json().await;
            assert!(error.get("id").is_none() && error["error"]["code"].is_i64(), "{error}");
        }
    }
    for method in ["GET", "DELETE"] {
        let reply = send(&endpoint, request(method, &[("origin", "http://evil.com")], "")).await;
        assert_eq!(reply.status, 403);
    }
}

#[tokio::test]
async fn line_161_notifications_and_responses_are_accepted() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    for message in [
        json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }),
        json!({ "jsonrpc": "2.0", "id": 77, "result": {} }),
    ] {
        let mut reply = session.post(&message).await;
        assert_eq!(reply.status, 202);
        assert!(reply.body.text().await.is_empty());
    }
}

#[tokio::test]
async fn line_164_166_167_176_a_stream_is_primed_and_ends_with_the_answer() {
    let (endpoint, _) = endpoint();
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        let (mut one, mut two) = tokio::join!(session.tool(1, "slow"), session.tool(2, "slow"));
        let mut ids = Vec::new();
        for (id, reply) in [(1, &mut one), (2, &mut two)] {
            let first = reply.body.event().await.unwrap();
            assert_eq!(first.data.is_empty(), version == POLLING, "{first:?}");
            assert_eq!(first.retry.is_some(), version == POLLING, "{first:?}");
            ids.extend(first.id);
            let mut messages = Vec::new();
            while let Some(event) = reply.body.event().await {
                ids.push(event.id.expect("every event has an id"));
                messages.push(serde_json::from_slice::<Value>(&event.data).unwrap());
            }
            let (answer, notes) = messages.split_last().unwrap();
            assert_eq!(answer["id"], id);
            assert!(notes.iter().all(|n| n["params"]["progressToken"] == id));
        }
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "ids are unique in the session");
    }
}

#[tokio::test]
async fn questions_are_asked_on_the_stream_of_the_request() {
    let (endpoint, _) = endpoint();
    for version in ["2025-06-18", "2025-11-25"] {
        let session = Session::open(&endpoint, version).await;
        let mut get = session.get(None).await;
        let mut reply = session.tool(1, "ask").await;
        let question = reply.body.message().await.unwrap();
        assert_eq!(question["method"], "elicitation/create");
        let result = json!({ "action": "accept", "content": { "yes": true } });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
        assert_eq!(session.post(&answer).await.status, 202);
        assert_eq!(reply.body.messages().await[0]["result"]["content"][0]["text"], "yes: true");
        let nothing = tokio::time::timeout(Duration::from_millis(50), get.body.message()).await;
        assert!(nothing.is_err(), "nothing of it is on the other stream");
    }
}

#[tokio::test]
async fn line_168_178_a_call_may_leave_its_stream() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let mut reply = session.tool(1, "polled").await;
    assert!(reply.is_stream());
    let first = reply.body.event().await.unwrap();
    assert_eq!((first.data.len(), first.retry), (0, Some(250)));
    assert_eq!(reply.body.event().await, None, "it is over before the answer");
    drop(reply);
    let mut reply = session.get(first.id.as_deref()).await;
    assert_eq!(reply.status, 200);
    let messages = reply.body.messages().await;
    assert_eq!(messages.len(), 1);
    assert_eq!(
        (messages[0]["id"].as_i64(), &messages[0]["result"]["content"][0]["text"]),
        (Some(1), &json!("at last"))
    );
    // Where streams are not taken up, nothing happens.
    let session = Session::open(&endpoint, "2025-06-18").await;
    let reply = session.tool(1, "polled").await;
    assert_eq!(reply.json().await["id"], 1);
}

#[tokio::test]
async fn a_disconnect_does_not_cancel_and_the_rest_can_be_had_later() {
    let (endpoint, seen) = endpoint();
    let mut lost = Vec::new();
    let session = Session::open(&endpoint, POLLING).await;
    for id in 0..100 {
        let mut reply = session.tool(id, "slow").await;
        let prime = reply.body.event().await.unwrap();
        let first = reply.body.event().await.unwrap();
        assert!(prime.data.is_empty() && !first.data.is_empty());
        lost.push((id, first.id.unwrap()));
    }
    // The first half comes back while the calls run, the others when all is over.
    let (early, late) = lost.split_at(50);
    for (id, last) in early {
        let messages = session.get(Some(last)).await.body.messages().await;
        assert_eq!(messages.last().unwrap()["id"], *id);
        assert_eq!(messages.len(), 10, "nine more notifications and the answer");
    }
    eventually(|| seen.finished() == 100).await;
    for (id, last) in late {
        let mut reply = session.get(Some(last)).await;
        let messages = reply.body.messages().await;
        assert_eq!((messages.len(), &messages[9]["id"]), (10, &json!(id)));
    }
    assert_eq!((seen.finished(), seen.dropped()), (100, 0));
}

#[tokio::test]
async fn line_172_get_needs_an_event_stream() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let mut headers = session.headers();
    headers.push(("accept", "application/json"));
    assert_eq!(send(&endpoint, request("GET", &headers, "")).await.status, 406);
    assert_eq!(send(&endpoint, request("PUT", &session.headers(), "")).await.status, 405);
    assert_eq!(send(&endpoint, request("OPTIONS", &[], "")).await.status, 405);
}

#[tokio::test]
async fn line_173_174_175_changes_go_to_one_get_stream() {
    let seen = Seen::default();
    let server = server(&seen);
    let endpoint = Endpoint::new(server.clone());
    let session = Session::open(&endpoint, "2025-06-18").await;
    let subscribe = call(1, "resources/subscribe", &json!({ "uri": "test://a" }));
    assert_eq!(session.post(&subscribe).await.json().await["result"], json!({}));
    // What happens before somebody listens is told when somebody does.
    server.updated("test://a");
    assert_eq!(session.tool(2, "hello").await.json().await["id"], 2);
    let mut one = session.get(None).await;
    assert_eq!(one.body.message().await.unwrap()["method"], "notifications/resources/updated");
    let mut two = session.get(None).await;
    server.remove_tool("hello");
    assert_eq!(two.body.message().await.unwrap()["method"], "notifications/tools/list_changed");
    assert!(tokio::time::timeout(Duration::from_millis(50), one.body.message()).await.is_err());
    drop(two);
    server.updated("test://a");
    assert_eq!(one.body.message().await.unwrap()["method"], "notifications/resources/updated");
}

#[tokio::test]
async fn line_178_a_get_stream_is_taken_up_again() {
    let seen = Seen::default();
    let server = server(&seen);
    let endpoint = Endpoint::new(server.clone());
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut get = session.get(None).await;
    let prime = get.body.event().await.unwrap();
    assert!(prime.data.is_empty() && prime.id.is_some());
    server.remove_tool("hello");
    let change = get.body.event().await.unwrap();
    drop(get);
    let mut get = session.get(prime.id.as_deref()).await;
    assert_eq!(get.body.message().await.unwrap()["method"], "notifications/tools/list_changed");
    drop(get);
    let mut get = session.get(change.id.as_deref()).await;
    let more = tokio::time::timeout(Duration::from_millis(50), get.body.message()).await;
    assert!(more.is_err(), "{more:?} after {change:?} and {prime:?}");
    for id in ["nonsense", "r99-1", "g99-7", "r1", "x1-1", "r1-1-1", "é"] {
        assert_eq!(session.get(Some(id)).await.status, 400, "{id}");
    }
    // Another session's streams are not there.
    let other = Session::open(&endpoint, "2025-11-25").await;
    assert_eq!(other.get(change.id.as_deref()).await.status, 400);
}

#[tokio::test]
async fn line_179_190_session_ids_are_visible_and_random() {
    let (endpoint, _) = endpoint();
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.push(Session::open(&endpoint, POLLING).await.id);
    }
    assert!(ids.iter().all(|id| id.len() >= 32 && id.bytes().all(|b| matches!(b, 0x21..=0x7e))));
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), endpoint.session_count()), (50, 50));
}

#[tokio::test]
async fn line_181_182_185_sessions_that_are_missing_or_over() {
    let (endpoint, _) = endpoint();
    let list = call(1, "tools/list", &json!({})).to_string();
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    for body in [&*list, note] {
        assert_eq!(send(&endpoint, request("POST", &[], body)).await.status, 400);
        let unknown = [("mcp-session-id", "unknown")];
        assert_eq!(send(&endpoint, request("POST", &unknown, body)).await.status, 404);
    }
    assert_eq!(send(&endpoint, request("GET", &[], "")).await.status, 400);
    assert_eq!(send(&endpoint, request("DELETE", &[], "")).await.status, 400);
    let session = Session::open(&endpoint, POLLING).await;
    let mut get = session.get(None).await;
    assert!(get.body.event().await.is_some());
    assert!(session.delete().await.status.is_success());
    assert_eq!(get.body.event().await, None, "its streams end");
    for reply in [session.tool(1, "hello").await, session.get(None).await, session.delete().await] {
        assert_eq!(reply.status, 404);
    }
    assert_eq!(endpoint.session_count(), 0);
}

#[tokio::test]
async fn line_186_187_the_version_header() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let list = call(1, "tools/list", &json!({})).to_string();
    for (version, status) in [("", 200), ("2025-11-25", 200), ("2025-03-26", 200), ("1999-01-01", 400), ("x", 400)] {
        let headers = [("mcp-session-id", &*session.id), ("mcp-protocol-version", version)];
        let reply = send(&endpoint, request("POST", &headers, &*list)).await;
        assert_eq!(reply.status.as_u16(), status, "{version}");
    }
    for method in ["GET", "DELETE"] {
        let headers = [("mcp-session-id", &*session.id), ("mcp-protocol-version", "x")];
        assert_eq!(send(&endpoint, request(method, &headers, "")).await.status, 400);
    }
    // Headers of the other era do not make a handshake one of it.
    let headers = [("mcp-protocol-version", "2025-11-25"), ("mcp-method", "initialize")];
    assert_eq!(send(&endpoint, request("POST", &headers, initialize(POLLING).to_string())).await.status, 200);
    // Nor does a handshake agree on a revision that has none.
    let reply = send(&endpoint, request("POST", &[], initialize("2026-07-28").to_string())).await;
    assert_eq!(reply.json().await["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn line_189_190_a_session_belongs_to_who_opened_it() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned()));
    let headers = [("x-user", "alice")];
    let reply = send(&endpoint, request("POST", &headers, initialize(POLLING).to_string())).await;
    let id = reply.header("mcp-session-id").unwrap().to_owned();
    let ping = call(1, "ping", &json!({})).to_string();
    for (user, status) in [("alice", 200), ("bob", 404), ("", 404)] {
        let headers = [("x-user", user), ("mcp-session-id", &*id)];
        assert_eq!(send(&endpoint, request("POST", &headers, &*ping)).await.status.as_u16(), status);
        if status == 404 {
            assert_eq!(send(&endpoint, request("GET", &headers, "")).await.status, 404);
            assert_eq!(send(&endpoint, request("DELETE", &headers, "")).await.status, 404);
        }
    }
}

#[tokio::test]
async fn batches_are_answered_where_they_exist() {
    let (endpoint, _) = endpoint();
    let ping = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
    let session = Session::open(&endpoint, BATCHES).await;
    let reply = session.post(&json!([ping(1), note, ping(2), { "jsonrpc": "2.0" }])).await;
    assert_eq!(reply.status, 200);
    let answers = reply.json().await;
    assert_eq!(answers.as_array().unwrap().len(), 3, "{answers}");
    assert_eq!(session.post(&json!([note, note])).await.status, 202);
    assert_eq!(session.post(&json!([ping(1), ping(1)])).await.status, 400);
    assert_eq!(session.post(&json!([{}])).await.status, 400);
    let slow = call(5, "tools/call", &json!({ "name": "slow", "_meta": { "progressToken": 5 } }));
    let mut reply = session.post(&json!([slow, ping(6)])).await;
    assert!(reply.is_stream());
    let messages = reply.body.messages().await;
    assert_eq!((messages.len(), messages[10].as_array().unwrap().len()), (11, 2));
    let other = Session::open(&endpoint, POLLING).await;
    assert_eq!(other.post(&json!([ping(1)])).await.status, 400);
}

#[tokio::test]
async fn a_cancelled_request_ends_its_stream() {
    let (endpoint, seen) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let mut reply = session.tool(1, "slow").await;
    reply.body.message().await.unwrap();
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(session.post(&cancel).await.status, 202);
    let rest = reply.body.messages().await;
    assert!(rest.iter().all(|m| m.get("id").is_none()), "{rest:?}");
    assert_eq!((seen.finished(), seen.dropped()), (0, 1));
    // The same for all of a batch, before anything was sent.
    let session = Session::open(&endpoint, BATCHES).await;
    let slow = |id| call(id, "tools/call", &json!({ "name": "slow" }));
    let batch = json!([slow(1), slow(2)]);
    let cancels = async {
        for id in [2, 1] {
            tokio::time::sleep(Duration::from_millis(30)).await;
            let params = json!({ "requestId": id });
            session.post(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
        }
    };
    let (mut reply, ()) = tokio::join!(session.post(&batch), cancels);
    assert!(reply.body.messages().await.is_empty());
    assert_eq!(seen.dropped(), 3);
}

#[tokio::test]
async fn an_id_is_used_once_at_a_time() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let _first = session.tool(1, "slow").await;
    assert_eq!(session.tool(1, "hello").await.status, 400);
    assert_eq!(session.tool(2, "hello").await.status, 200);
}

#[tokio::test]
async fn a_bare_ping_needs_no_session() {
    let (endpoint, _) = endpoint();
    let reply = send(&endpoint, request("POST", &[], call(1, "ping", &json!({})).to_string())).await;
    assert_eq!(reply.json().await["result"], json!({}));
}

#[tokio::test]
async fn a_session_is_taken_over_from_a_shared_store() {
    let store = Arc::new(MemorySessions::new());
    let (one, _) = endpoint();
    let (two, _) = endpoint();
    let session = Session::open(&one.sessions(store.clone()), POLLING).await;
    let two = two.sessions(store);
    let session = Session { endpoint: two.clone(), ..session };
    assert_eq!(session.tool(1, "hello").await.json().await["result"]["content"][0]["text"], "Hello!");
    assert_eq!(two.session_count(), 1);
    assert!(session.delete().await.status.is_success());
    assert_eq!(session.tool(2, "hello").await.status, 404);
}
