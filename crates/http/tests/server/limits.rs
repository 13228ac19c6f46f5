//! What the endpoint costs at most.

use std::time::Duration;

use couplet_http::server::HttpLimits;
use serde_json::{Value, json};

use crate::support::{POLLING, Session, alone, by_user, call, endpoint, eventually, initialize, limits, request, send};

#[tokio::test]
async fn a_body_is_not_too_long() {
    let (endpoint, _) = endpoint();
    let reply = send(&endpoint, request("POST", &[], " ".repeat((4 << 20) + 1))).await;
    assert_eq!((reply.status.as_u16(), reply.code().await), (413, -32600));
    let endpoint = endpoint.limits(limits(|l| l.body = 10));
    assert_eq!(send(&endpoint, request("POST", &[], call(1, "ping", &json!({})).to_string())).await.status, 413);
}

#[tokio::test]
async fn a_message_has_not_too_many_values() {
    let (endpoint, _) = endpoint();
    let arguments = "0,".repeat(1_000_001);
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":[{arguments}0]}}}}"#);
    let reply = send(&endpoint, request("POST", &[], body)).await;
    assert_eq!((reply.status.as_u16(), reply.code().await), (400, -32700));
}

#[tokio::test]
async fn what_opens_a_session_is_not_too_long() {
    let (endpoint, _) = endpoint();
    let opening = |length: usize| {
        let mut opening = initialize(POLLING);
        opening["params"]["clientInfo"]["name"] = json!("x".repeat(length));
        request("POST", &[], opening.to_string())
    };
    let reply = send(&endpoint, opening(64 << 10)).await;
    assert_eq!((reply.status.as_u16(), reply.code().await), (413, -32600));
    // All together they have a limit as well. A busy session does not give way; one that ends makes room.
    let endpoint = endpoint.limits(limits(|l| l.openings = 100 << 10));
    let reply = send(&endpoint, opening(60 << 10)).await;
    let id = reply.header("mcp-session-id").unwrap().to_owned();
    let ping = call(1, "ping", &json!({})).to_string();
    assert_eq!(send(&endpoint, request("POST", &[("mcp-session-id", &id)], ping)).await.status, 200);
    let stream = send(&endpoint, request("GET", &[("mcp-session-id", &id)], "")).await;
    assert!(stream.is_stream());
    let refused = send(&endpoint, opening(60 << 10)).await;
    assert!(refused.header("retry-after").is_some());
    let status = refused.status.as_u16();
    let error = &refused.json().await["error"];
    // A client may send it again, whatever it was.
    assert_eq!((status, &error["code"], &error["data"]), (503, &json!(-32603), &json!({ "carriedOut": false })));
    assert_eq!(send(&endpoint, request("DELETE", &[("mcp-session-id", &id)], "")).await.status, 204);
    assert_eq!(send(&endpoint, opening(60 << 10)).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn no_call_runs_for_ever() {
    let (endpoint, seen) = endpoint();
    // A client that never answers keeps the handler's own clock from running.
    let session = Session::open(&endpoint, POLLING).await;
    let mut reply = session.tool(1, "ask").await;
    reply.body.message().await.unwrap();
    let before = tokio::time::Instant::now();
    let messages = reply.body.messages().await;
    assert_eq!((&messages[0]["id"], &messages[0]["error"]["code"]), (&json!(1), &json!(-32603)), "{messages:?}");
    assert_eq!(before.elapsed().as_secs() / 60, 60);
    // The same for all kinds of calls.
    let endpoint = endpoint.limits(limits(|l| l.request_time = Duration::from_millis(550)));
    let mut quiet = alone("tools/call", json!({ "name": "slow" }), &[]);
    *quiet.body_mut() = quiet.body().replace("progressToken", "nothing");
    let reply = send(&endpoint, quiet).await;
    assert_eq!((reply.status.as_u16(), reply.code().await), (200, -32603));
    let mut reply = send(&endpoint, alone("tools/call", json!({ "name": "slow" }), &[])).await;
    let messages = reply.body.messages().await;
    assert_eq!((messages.len(), &messages[6]["error"]["code"]), (7, &json!(-32603)), "{messages:?}");
    let session = Session::open(&endpoint, "2025-06-18").await;
    let reply = session.post(&call(1, "tools/call", &json!({ "name": "slow" }))).await;
    assert_eq!((reply.status.as_u16(), reply.code().await), (200, -32603));
    assert_eq!((seen.finished(), seen.dropped()), (0, 3));
}

#[tokio::test]
async fn types_are_checked() {
    let (endpoint, _) = endpoint();
    let ping = call(1, "ping", &json!({})).to_string();
    let cases = [
        ("content-type", "application/json; charset=utf-8", 200),
        ("content-type", "", 200),
        ("content-type", "text/plain", 415),
        ("accept", "*/*", 200),
        ("accept", "", 200),
        ("accept", "application/json", 406),
        ("accept", "text/event-stream", 406),
        ("accept", "text/html", 406),
    ];
    for (name, value, status) in cases {
        let reply = send(&endpoint, request("POST", &[(name, value)], &*ping)).await;
        assert_eq!(reply.status.as_u16(), status, "{name}: {value}");
    }
}

#[tokio::test]
async fn sessions_are_counted() {
    let (endpoint, _) = endpoint();
    let endpoint = by_user(endpoint.limits(limits(|l| (l.sessions, l.sessions_per_principal) = (3, 2))));
    let open =
        async |user| send(&endpoint, request("POST", &[("x-user", user)], initialize(POLLING).to_string())).await;
    let mut streams = Vec::new();
    let rows = [("alice", 200), ("alice", 200), ("alice", 429), ("", 200), ("bob", 503), ("alice", 429)];
    for (user, status) in rows {
        let reply = open(user).await;
        assert_eq!(reply.status.as_u16(), status, "{user}");
        assert_eq!(reply.header("retry-after").is_some(), status != 200);
        // All are in use.
        if let Some(id) = reply.header("mcp-session-id") {
            let headers = [("x-user", user), ("mcp-session-id", id)];
            let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            assert_eq!(send(&endpoint, request("POST", &headers, ready.to_string())).await.status, 202);
            streams.push(send(&endpoint, request("GET", &headers, "")).await);
        }
    }
    assert_eq!(endpoint.session_count(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_longest_idle_session_makes_room() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.limits(limits(|l| l.sessions = 2));
    let one = Session::open(&endpoint, POLLING).await;
    let two = Session::open(&endpoint, POLLING).await;
    let _busy = one.get(None).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    let _three = Session::open(&endpoint, POLLING).await;
    assert_eq!(two.tool(1, "hello").await.status, 404);
    assert_eq!(one.tool(1, "hello").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn sessions_do_not_live_for_ever() {
    let (endpoint, _) = endpoint();
    // One that does not go on after the handshake.
    send(&endpoint, request("POST", &[], initialize(POLLING).to_string())).await;
    let session = Session::open(&endpoint, POLLING).await;
    tokio::time::sleep(Duration::from_secs(70)).await;
    assert_eq!(endpoint.session_count(), 1);
    tokio::time::sleep(Duration::from_secs(28 * 60)).await;
    assert_eq!(session.tool(1, "hello").await.status, 200);
    tokio::time::sleep(Duration::from_secs(29 * 60)).await;
    assert_eq!(endpoint.session_count(), 1, "it was used");
    tokio::time::sleep(Duration::from_secs(2 * 60)).await;
    assert_eq!(endpoint.session_count(), 0);
    let session = Session::open(&endpoint, POLLING).await;
    for _ in 0..49 {
        session.tool(1, "hello").await;
        tokio::time::sleep(Duration::from_secs(29 * 60)).await;
    }
    tokio::time::sleep(Duration::from_secs(29 * 60)).await;
    assert_eq!(endpoint.session_count(), 0, "a day is enough");
}

#[tokio::test(start_paused = true)]
async fn silence_is_broken() {
    let (endpoint, _) = endpoint();
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let mut stream = send(&endpoint, alone("subscriptions/listen", listen, &[])).await;
    stream.body.message().await.unwrap();
    let session = Session::open(&endpoint, "2025-06-18").await;
    let mut get = session.get(None).await;
    let before = tokio::time::Instant::now();
    for body in [&mut stream.body, &mut get.body] {
        assert_eq!(body.piece().await.unwrap(), ":\n\n");
        assert!(before.elapsed() >= Duration::from_secs(14));
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_has_to_read_but_the_server_does_not_wait_for_ever() {
    let (endpoint, seen) = endpoint();
    let mut alone = send(&endpoint, alone("tools/call", json!({ "name": "slow" }), &[])).await;
    alone.body.message().await.unwrap();
    let session = Session::open(&endpoint, POLLING).await;
    let mut get = session.get(None).await;
    get.body.event().await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((seen.dropped(), seen.finished()), (1, 0), "what is in the response is dropped");
    assert!(alone.body.messages().await.is_empty());
    assert_eq!(get.body.event().await, None);
}

#[tokio::test]
async fn a_slow_reader_slows_the_handler_down() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let mut reply = session.tool(1, "flood").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    // Meanwhile another session goes on as if nothing were.
    let other = Session::open(&endpoint, POLLING).await;
    assert_eq!(other.tool(1, "hello").await.status, 200);
    let messages = reply.body.messages().await;
    assert_eq!(messages.len(), 5001);
    assert_eq!(messages[5000]["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_is_gone_does_not_hold_the_session_up() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let reply = session.tool(1, "flood").await;
    // It is there, and does not read: until it is let go, the session waits.
    assert_eq!(session.tool(2, "hello").await.status, 200);
    drop(reply);
    assert_eq!(session.tool(3, "hello").await.status, 200);
}

#[tokio::test]
async fn streams_are_counted() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.limits(limits(|l| l.streams = 2));
    let session = Session::open(&endpoint, POLLING).await;
    let one = session.get(None).await;
    let _two = session.get(None).await;
    assert_eq!(session.get(None).await.status, 503);
    drop(one);
    assert_eq!(session.get(None).await.status, 200);
}

#[tokio::test]
async fn requests_are_counted() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.limits(limits(|l| (l.requests, l.requests_per_session) = (2, 1)));
    let session = Session::open(&endpoint, "2025-06-18").await;
    let slow = call(1, "tools/call", &json!({ "name": "slow" }));
    let late = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let own = session.tool(2, "hello").await.status;
        let other = alone("tools/call", json!({ "name": "hello" }), &[]);
        (own, send(&endpoint, other).await.status)
    };
    let (reply, (own, other)) = tokio::join!(session.post(&slow), late);
    assert_eq!((reply.status.as_u16(), own.as_u16(), other.as_u16()), (200, 429, 200));
    let mut slow = alone("tools/call", json!({ "name": "slow" }), &[]);
    *slow.body_mut() = slow.body().replace("progressToken", "nothing");
    let again = || {
        let mut copy = http::Request::new(slow.body().clone());
        *copy.method_mut() = slow.method().clone();
        *copy.uri_mut() = slow.uri().clone();
        *copy.headers_mut() = slow.headers().clone();
        copy
    };
    let (one, two, three) = tokio::join!(send(&endpoint, again()), send(&endpoint, again()), send(&endpoint, again()));
    let mut all = [one.status.as_u16(), two.status.as_u16(), three.status.as_u16()];
    all.sort_unstable();
    assert_eq!(all, [200, 200, 503]);
}

#[tokio::test]
async fn as_many_sessions_as_there_may_be_come_and_go() {
    let (endpoint, _) = endpoint();
    let opening = initialize("2025-06-18").to_string();
    let mut ids: Vec<String> = Vec::new();
    let most = HttpLimits::default().sessions;
    for _ in 0..most + 100 {
        let reply = send(&endpoint, request("POST", &[], &*opening)).await;
        ids.push(reply.header("mcp-session-id").unwrap().to_owned());
    }
    assert_eq!(endpoint.session_count(), most);
    for (at, id) in ids.iter().enumerate() {
        let reply = send(&endpoint, request("DELETE", &[("mcp-session-id", id)], "")).await;
        assert_eq!(reply.status, if at < 100 { 404 } else { 204 }, "the oldest have given way");
    }
    eventually(|| endpoint.session_count() == 0).await;
    let reply: Value = send(&endpoint, request("POST", &[], opening)).await.json().await;
    assert_eq!(reply["id"], 0);
}
