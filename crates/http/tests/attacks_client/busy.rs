//! Servers that are too busy, and say when to come back.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use couplet_core::ErrorKind;
use couplet_http::client::{Body, Busy};
use http::Response;
use serde_json::json;
use tokio::time::Instant;

use crate::mock::{Mock, Seen, discovered, empty, initialized, reply, says, tools, with};

fn busy(status: u16, after: &str) -> Response<Body> {
    with(empty(status), "retry-after", after)
}

/// What our own server says when it has no room: nothing was carried out.
fn untouched(status: u16, after: &str) -> Response<Body> {
    let error = json!({ "code": -32600, "message": "no room; try again later", "data": { "carriedOut": false } });
    with(reply(status, &json!({ "jsonrpc": "2.0", "id": null, "error": error })), "retry-after", after)
}

fn fine(seen: &Seen) -> Response<Body> {
    match seen.what() {
        "server/discover" => reply(200, &seen.result(discovered())),
        "initialize" => with(reply(200, &seen.result(initialized())), "mcp-session-id", "s1"),
        "tools/list" => reply(200, &seen.result(tools(&[]))),
        "GET" => empty(405),
        "notifications/initialized" => empty(202),
        _ => reply(200, &seen.result(says("done"))),
    }
}

/// A server that refuses a method so many times before it is fine; `legacy` servers know no probe.
fn refusing(method: &'static str, times: usize, legacy: bool, how: fn() -> Response<Body>) -> Mock {
    let count = AtomicUsize::new(0);
    Mock::new(move |seen| match seen.what() {
        "server/discover" if legacy => empty(400),
        what if what == method && count.fetch_add(1, Ordering::SeqCst) < times => how(),
        _ => fine(seen),
    })
}

#[tokio::test(start_paused = true)]
async fn attack_06_what_may_be_repeated_is_repeated_when_the_server_says() {
    let ways: [fn() -> Response<Body>; 3] = [|| busy(503, "3"), || busy(429, "3"), || untouched(503, "3")];
    for how in ways {
        for (method, legacy) in [
            ("server/discover", false),
            ("initialize", true),
            ("notifications/initialized", true),
            ("tools/list", false),
            ("tools/list", true),
        ] {
            let mock = refusing(method, 2, legacy, how);
            let began = Instant::now();
            let client = mock.connect().await;
            client.tools().await.unwrap_or_else(|e| panic!("{method}: {e}"));
            let waited = began.elapsed();
            assert!((6..=12).contains(&waited.as_secs()), "{method}: {waited:?}");
            assert_eq!(mock.count(method), 3, "{method}");
            let ids: Vec<_> = mock.seen().iter().map(|s| s.body["id"].to_string()).filter(|id| id != "null").collect();
            let mut unique = ids.clone();
            unique.sort();
            unique.dedup();
            assert_eq!(unique.len(), ids.len(), "{method}: an id was used twice");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn attack_06_a_call_is_repeated_only_if_nothing_was_carried_out() {
    for legacy in [false, true] {
        for status in [429, 503] {
            let (unknown, known): (fn() -> _, fn() -> _) = match status {
                429 => (|| busy(429, "1"), || untouched(429, "1")),
                _ => (|| busy(503, "1"), || untouched(503, "1")),
            };
            let mock = refusing("tools/call", 1, legacy, unknown);
            let error = mock.connect().await.call("pay", ()).await.unwrap_err();
            assert_eq!((mock.count("tools/call"), error.kind()), (1, ErrorKind::Transport), "{error}");
            let told = Busy::of(&error).unwrap();
            assert_eq!((told.status, told.retry_after), (status, Some(Duration::from_secs(1))));

            let mock = refusing("tools/call", 2, legacy, known);
            assert_eq!(mock.connect().await.call("pay", ()).await.unwrap().text(), "done");
            assert_eq!(mock.count("tools/call"), 3);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn attack_06_a_server_that_is_always_busy_is_left_alone() {
    for legacy in [false, true] {
        let mock = refusing("tools/list", usize::MAX, legacy, || untouched(503, "1"));
        let error = mock.connect().await.tools().await.unwrap_err();
        assert!(error.to_string().contains("no room") && error.to_string().contains("503"), "{error}");
        assert_eq!(mock.count("tools/list"), 4);
        // Longer than anyone waits: it is said at once.
        let mock = refusing("tools/list", usize::MAX, legacy, || busy(429, "86400"));
        let began = Instant::now();
        let error = mock.connect().await.tools().await.unwrap_err();
        assert_eq!((mock.count("tools/list"), began.elapsed().as_secs()), (1, 0));
        assert!(error.to_string().contains("86400 s"), "{error}");
        // Without a word about when, nothing is repeated.
        let mock = refusing("tools/list", usize::MAX, legacy, || empty(503));
        mock.connect().await.tools().await.unwrap_err();
        assert_eq!(mock.count("tools/list"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn attack_06_a_zero_is_not_taken_at_its_word() {
    let mock = refusing("tools/list", usize::MAX, false, || busy(503, "0"));
    let client = mock.connect().await;
    let began = Instant::now();
    client.tools().await.unwrap_err();
    assert!(mock.count("tools/list") <= 4 && began.elapsed() >= Duration::from_millis(750), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn attack_06_a_busy_stream_is_opened_when_the_server_says() {
    let times = AtomicUsize::new(0);
    let mock = Mock::legacy(move |seen| match seen.what() {
        "GET" if times.fetch_add(1, Ordering::SeqCst) == 0 => busy(429, "90"),
        "GET" => empty(405),
        _ => empty(202),
    });
    let client = mock.connect().await;
    tokio::time::sleep(Duration::from_secs(89)).await;
    assert_eq!(mock.count("GET"), 1);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(mock.count("GET"), 2);
    drop(client);
}
