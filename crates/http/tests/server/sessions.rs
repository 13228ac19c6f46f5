//! The shape with sessions.

use std::time::Duration;

use serde_json::json;

use crate::support::{
    BATCHES, POLLING, Session, VERSIONS, by_user, call, endpoint, eventually, initialize, request, send,
};

#[tokio::test]
async fn line_158_hosts_and_origins_are_checked() {
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
async fn line_157_one_address_takes_posts_and_gets() {
    let (endpoint, _) = endpoint();
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        assert_eq!(session.tool(1, "hello").await.json().await["result"]["content"][0]["text"], "Hello!");
        let reply = session.get(None).await;
        assert_eq!((reply.status.as_u16(), reply.is_stream()), (200, true));
    }
}

#[tokio::test]
async fn line_161_notifications_and_responses_are_accepted_or_an_error() {
    let (endpoint, _) = endpoint();
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        let over = Session::open(&endpoint, version).await;
        over.delete().await;
        for message in [
            json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }),
            json!({ "jsonrpc": "2.0", "id": 77, "result": {} }),
            json!({ "jsonrpc": "2.0", "id": 78, "error": { "code": -1, "message": "no" } }),
        ] {
            let mut reply = session.post(&message).await;
            assert_eq!(reply.status, 202);
            assert!(reply.body.text().await.is_empty());
            assert_eq!(over.post(&message).await.status, 404);
        }
        assert_eq!(session.post(&json!({ "jsonrpc": "2.0", "method": 7 })).await.status, 400);
    }
}

#[tokio::test(start_paused = true)]
async fn line_162_an_answer_is_a_message_or_a_stream() {
    let (endpoint, _) = endpoint();
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        for (tool, kind) in [("hello", "application/json"), ("slow", "text/event-stream")] {
            let reply = session.tool(1, tool).await;
            assert_eq!((reply.status.as_u16(), reply.header("content-type")), (200, Some(kind)), "{version} {tool}");
            drop(reply);
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    }
}

#[tokio::test]
async fn line_172_a_get_is_an_event_stream_or_not_allowed() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    assert!(session.get(None).await.is_stream());
    let mut headers = session.headers();
    headers.push(("accept", "application/json"));
    assert_eq!(send(&endpoint, request("GET", &headers, "")).await.status, 406);
    // Where there is no stream to get, the methods that there are are named.
    let bare = endpoint.clone().without_sessions();
    let modern = [("mcp-protocol-version", "2026-07-28")];
    for (endpoint, method, headers, allow) in [
        (&endpoint, "PUT", &[][..], "POST, GET, DELETE"),
        (&endpoint, "OPTIONS", &[], "POST, GET, DELETE"),
        (&endpoint, "GET", &modern, "POST"),
        (&bare, "GET", &[], "POST"),
        (&bare, "DELETE", &[], "POST"),
        (&bare.clone().http_sse(), "DELETE", &[], "POST, GET"),
    ] {
        let reply = send(endpoint, request(method, headers, "")).await;
        assert_eq!((reply.status.as_u16(), reply.header("allow")), (405, Some(allow)), "{method} {headers:?}");
        assert_eq!(reply.code().await, -32600);
    }
}

#[tokio::test]
async fn line_179_session_ids_are_visible_ascii() {
    for id in fifty_ids().await {
        assert!(id.len() >= 32 && id.bytes().all(|b| matches!(b, 0x21..=0x7e)), "{id}");
    }
}

async fn fifty_ids() -> Vec<String> {
    let (endpoint, _) = endpoint();
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.push(Session::open(&endpoint, POLLING).await.id);
    }
    assert_eq!(endpoint.session_count(), 50);
    ids
}

#[tokio::test]
async fn line_181_a_missing_session_is_a_bad_request() {
    let (endpoint, _) = endpoint();
    let list = call(1, "tools/list", &json!({})).to_string();
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let batch = format!("[{list}]");
    for (body, code) in [(&*list, -32602), (note, -32602), (answer, -32600), (&*batch, -32600)] {
        let reply = send(&endpoint, request("POST", &[], body)).await;
        assert_eq!((reply.status.as_u16(), reply.code().await), (400, code), "{body}");
    }
    for method in ["GET", "DELETE"] {
        assert_eq!(send(&endpoint, request(method, &[], "")).await.status, 400, "{method}");
    }
}

#[tokio::test]
async fn line_182_a_session_that_is_over_is_not_found() {
    let (endpoint, _) = endpoint();
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        assert_eq!(session.tool(1, "hello").await.status, 200);
        session.delete().await;
        for reply in [session.tool(2, "hello").await, session.get(None).await, session.delete().await] {
            assert_eq!((reply.status.as_u16(), reply.code().await), (404, -32600));
        }
    }
    let unknown = [("mcp-session-id", "unknown")];
    let ping = call(1, "ping", &json!({})).to_string();
    assert_eq!(send(&endpoint, request("POST", &unknown, ping)).await.status, 404);
}

#[tokio::test]
async fn line_185_a_session_is_deleted() {
    let (endpoint, seen) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let mut get = session.get(None).await;
    assert!(get.body.event().await.is_some());
    let mut slow = session.tool(1, "slow").await;
    slow.body.message().await.unwrap();
    let reply = session.delete().await;
    assert!(reply.status.is_success());
    assert_eq!(get.body.event().await, None, "its streams end");
    assert!(slow.body.messages().await.iter().all(|m| m.get("id").is_none()), "without an answer");
    eventually(|| seen.dropped() == 1).await;
    assert_eq!((session.delete().await.status.as_u16(), endpoint.session_count()), (404, 0));
}

#[tokio::test]
async fn line_186_without_a_version_it_is_the_first_with_this_transport() {
    // Where there is a session, it tells.
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let list = call(1, "tools/list", &json!({})).to_string();
    let headers = [("mcp-session-id", &*session.id)];
    assert_eq!(send(&endpoint, request("POST", &headers, &*list)).await.status, 200);
    // Where there is none, nothing does. That revision, and no other, has batches.
    let endpoint = endpoint.without_sessions();
    let batch = format!("[{list}]");
    for (version, status) in [("", 200), ("2025-03-26", 200), ("2025-06-18", 400), ("2024-11-05", 400)] {
        let reply = send(&endpoint, request("POST", &[("mcp-protocol-version", version)], &*batch)).await;
        assert_eq!(reply.status.as_u16(), status, "{version}");
    }
}

#[tokio::test]
async fn line_187_a_version_that_is_not_one_is_a_bad_request() {
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
async fn line_189_a_session_id_alone_lets_nobody_in() {
    let (endpoint, _) = endpoint();
    let endpoint = by_user(endpoint);
    let headers = [("x-user", "alice")];
    let reply = send(&endpoint, request("POST", &headers, initialize(POLLING).to_string())).await;
    let id = reply.header("mcp-session-id").unwrap().to_owned();
    let ping = call(1, "ping", &json!({})).to_string();
    // Every single request is looked at, whoever came before.
    for (user, status) in [("alice", 200), ("bob", 404), ("", 404), ("alice", 200), ("Alice", 404)] {
        let headers = [("x-user", user), ("mcp-session-id", &*id)];
        assert_eq!(send(&endpoint, request("POST", &headers, &*ping)).await.status.as_u16(), status, "{user}");
        if status == 404 {
            assert_eq!(send(&endpoint, request("GET", &headers, "")).await.status, 404);
            assert_eq!(send(&endpoint, request("DELETE", &headers, "")).await.status, 404);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn line_190_session_ids_are_random_and_expire() {
    let mut ids = fifty_ids().await;
    // Nothing of one can be told from another: each half of each is there once.
    let mut halves: Vec<String> = ids.iter().flat_map(|id| [id[..24].to_owned(), id[24..].to_owned()]).collect();
    ids.sort();
    ids.dedup();
    halves.sort();
    halves.dedup();
    assert_eq!((ids.len(), halves.len()), (50, 100));
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    tokio::time::sleep(Duration::from_secs(31 * 60)).await;
    assert_eq!(session.tool(1, "hello").await.status, 404);
}
