//! Calls that say nothing for long: load balancers cut connections on which nothing is sent.

use std::time::Duration;

use couplet_core::http::sse::Event;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    site::{Site, post},
    support::{BATCHES, POLLING, Reply, STATELESS, Session, VERSIONS, alone, call, endpoint, eventually, limits, send},
};

/// Checks that a response begins after the keep-alive time, goes on with signs of life, and ends with the answer; what
/// came first.
async fn check(mut reply: Reply, began: Instant, what: &str) -> Option<Event> {
    assert_eq!(began.elapsed().as_secs(), 15, "{what}");
    assert!(reply.is_stream() && reply.status == 200, "{what}");
    let first = reply.body.piece().await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 15, "{what}: the first bytes come at once");
    let mut parser = couplet_core::http::sse::Parser::new(1000);
    parser.push(&first);
    let first = parser.next().unwrap();
    assert_eq!(reply.body.piece().await.unwrap(), ":\n\n", "{what}");
    assert_eq!(began.elapsed().as_secs(), 30, "{what}");
    let messages = reply.body.messages().await;
    assert_eq!(began.elapsed().as_secs(), 40, "{what}");
    assert_eq!((messages.len(), &messages[0]["result"]["content"][0]["text"]), (1, &json!("done quietly")), "{what}");
    first
}

#[tokio::test(start_paused = true)]
async fn attack_09_a_quiet_call_without_a_session() {
    let (endpoint, seen) = endpoint();
    let began = Instant::now();
    let reply = send(&endpoint, alone("tools/call", json!({ "name": "quiet" }), &[])).await;
    assert_eq!(check(reply, began, STATELESS).await, None, "a comment");
    // Where sessions are not kept there is nothing to come back to.
    let stateless = endpoint.without_sessions();
    let session = Session { endpoint: stateless, id: "none".to_owned(), version: POLLING.to_owned() };
    let began = Instant::now();
    assert_eq!(check(session.tool(1, "quiet").await, began, "without a session").await, None);
    assert_eq!((seen.finished(), seen.dropped()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn attack_09_a_quiet_call_in_a_session() {
    let (endpoint, _) = endpoint();
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        let began = Instant::now();
        let first = check(session.tool(1, "quiet").await, began, version).await;
        let primes = first.is_some_and(|event| event.id.is_some() && event.retry.is_some() && event.data.is_empty());
        assert_eq!(primes, version == POLLING, "{version}");
        // What is quick needs no stream.
        let reply = session.tool(2, "hello").await;
        assert!(!reply.is_stream());
    }
    let session = Session::open(&endpoint, BATCHES).await;
    let one = call(1, "tools/call", &json!({ "name": "quiet" }));
    let began = Instant::now();
    let mut reply = session.post(&json!([one, call(2, "ping", &json!({}))])).await;
    assert_eq!((began.elapsed().as_secs(), reply.is_stream()), (15, true));
    let answers: Value = reply.body.message().await.unwrap();
    assert_eq!(answers.as_array().map(Vec::len), Some(2), "{answers}");
}

#[tokio::test(start_paused = true)]
async fn attack_09_the_answer_can_be_had_after_the_connection_was_cut() {
    let (endpoint, seen) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    for (number, pause) in [(1, 1), (2, 60)] {
        let mut reply = session.tool(number, "quiet").await;
        let prime = reply.body.event().await.unwrap().id.unwrap();
        drop(reply);
        // While the call runs, and when it is over.
        tokio::time::sleep(Duration::from_secs(pause)).await;
        let messages = session.get(Some(&prime)).await.body.messages().await;
        assert_eq!((messages.len(), &messages[0]["id"]), (1, &json!(number)), "{messages:?}");
        assert_eq!(messages[0]["result"]["content"][0]["text"], "done quietly");
    }
    assert_eq!((seen.finished(), seen.dropped()), (2, 0), "each was carried out once");
}

#[tokio::test(start_paused = true)]
async fn attack_09_without_room_for_streams_a_quiet_call_is_answered_all_the_same() {
    let (endpoint, seen) = endpoint();
    let endpoint = endpoint.limits(limits(|l| l.streams = 0));
    let reply = send(&endpoint, alone("tools/call", json!({ "name": "quiet" }), &[])).await;
    assert!(!reply.is_stream());
    assert_eq!(reply.json().await["result"]["content"][0]["text"], "done quietly");
    let session = Session::open(&endpoint, POLLING).await;
    let reply = session.tool(1, "quiet").await;
    assert!(!reply.is_stream());
    assert_eq!(reply.json().await["result"]["content"][0]["text"], "done quietly");
    assert_eq!((seen.finished(), seen.dropped()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn attack_09_who_hangs_up_on_a_quiet_call_cancels_it_where_there_is_no_session() {
    let (endpoint, seen) = endpoint();
    let reply = send(&endpoint, alone("tools/call", json!({ "name": "quiet" }), &[])).await;
    drop(reply);
    assert_eq!((seen.finished(), seen.dropped()), (0, 1));
}

#[tokio::test]
async fn attack_09_a_cut_socket_resumes_with_the_result() {
    let site = Site::start(|t| t.limits(limits(|l| l.keep_alive = Duration::from_millis(50)))).await;
    let session = site.open().await;
    let headers = format!("mcp-session-id: {session}\r\nmcp-protocol-version: {POLLING}\r\n");
    let mut socket = site.send(&post(&call(1, "tools/call", &json!({ "name": "gate" })), &headers)).await;
    let text = socket.until("\ndata:").await;
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("content-type: text/event-stream"), "{text}");
    let prime = text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    drop(socket);
    site.seen.gate.0.add_permits(1);
    eventually(|| site.seen.finished() == 1).await;
    let get = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nconnection: close\r\n{headers}last-event-id: {prime}\r\n\r\n"
    );
    let text = site.send(&get).await.all().await;
    assert!(text.contains("through the gate") && text.contains(r#""id":1"#), "{text}");
    assert_eq!((site.seen.finished(), site.seen.dropped()), (1, 0));
}
