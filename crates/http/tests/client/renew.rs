//! Sessions that a server has lost.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::{Client, Filter};
use couplet_http::client::Body;
use couplet_types::LoggingLevel;
use http::Response;
use serde_json::json;
use tokio::time::timeout;

use crate::mock::{Mock, Seen, Step, empty, initialized, reply, says, stream, tools, with};

/// A server that knows one session, which can be taken from it. The script answers the handshake, or does not.
fn losing(greet: impl Fn(usize, &Seen) -> Option<Response<Body>> + Send + Sync + 'static) -> (Mock, Arc<AtomicUsize>) {
    let current = Arc::new(AtomicUsize::new(0));
    let (session, greeted) = (current.clone(), AtomicUsize::new(0));
    let mock = Mock::new(move |seen| {
        if seen.what() == "server/discover" {
            return empty(400);
        }
        if seen.what() == "initialize" {
            let answer = greet(greeted.fetch_add(1, Ordering::SeqCst), seen).unwrap_or_else(|| {
                let mut result = initialized();
                result["capabilities"] = json!({ "tools": {}, "logging": {}, "resources": { "subscribe": true } });
                reply(200, &seen.result(result))
            });
            let id = format!("s{}", session.fetch_add(1, Ordering::SeqCst) + 1);
            return with(answer, "mcp-session-id", &id);
        }
        if seen.header("mcp-session-id") != Some(&*format!("s{}", session.load(Ordering::SeqCst))) {
            return empty(404);
        }
        match seen.what() {
            "GET" => stream([Step::Hang]),
            "tools/list" => reply(200, &seen.result(tools(&[]))),
            "tools/call" => reply(200, &seen.result(says("done"))),
            "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => reply(200, &seen.result(json!({}))),
            "notifications/initialized" if session.load(Ordering::SeqCst) > 1 => with(empty(202), "x-delay", "1000"),
            _ => empty(202),
        }
    });
    (mock, current)
}

/// What came to a session, in its order.
fn told(mock: &Mock, session: &str) -> Vec<String> {
    let here: Vec<_> = mock.seen().into_iter().filter(|s| s.header("mcp-session-id") == Some(session)).collect();
    here.iter().map(|s| s.what().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_the_client_wanted_to_hear_it_hears_again() {
    let (mock, session) = losing(|_, _| None);
    let client = mock.connect().await;
    client.set_log_level(LoggingLevel::Info).await.unwrap();
    client.set_log_level(LoggingLevel::Error).await.unwrap();
    let kept = client.listen(Filter::new().resource("file:///a").resource("file:///b")).await.unwrap();
    let left = client.listen(Filter::new().resource("file:///c")).await.unwrap();
    drop(left);
    client.tools().await.unwrap();
    assert_eq!(mock.count("resources/unsubscribe"), 1);
    session.fetch_add(1, Ordering::SeqCst);
    client.tools().await.unwrap();
    let subscribe = "resources/subscribe";
    let expected = ["notifications/initialized", "GET", "logging/setLevel", subscribe, subscribe, "tools/list"];
    assert_eq!(told(&mock, "s3"), expected);
    assert_eq!(mock.last("logging/setLevel").body["params"]["level"], "error");
    let seen = mock.seen();
    let again: Vec<_> = seen.iter().rev().filter(|s| s.what() == subscribe).take(2).collect();
    assert_eq!(again[0].body["params"]["uri"], "file:///b");
    assert_eq!(again[1].body["params"]["uri"], "file:///a");
    let mut ids: Vec<_> = seen.iter().filter_map(|s| s.body["id"].as_i64()).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|w| w[0] < w[1]), "{ids:?}");
    drop(kept);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_whole_even_if_nobody_waited_for_it() {
    // The second handshake takes its time.
    let (mock, session) =
        losing(|n, seen| (n == 1).then(|| with(reply(200, &seen.result(initialized())), "x-delay", "5000")));
    let client = mock.connect().await;
    client.tools().await.unwrap();
    session.fetch_add(1, Ordering::SeqCst);
    assert!(timeout(Duration::from_secs(1), client.tools()).await.is_err());
    client.tools().await.unwrap();
    assert_eq!(told(&mock, "s3"), ["notifications/initialized", "GET", "tools/list"]);
    assert_eq!(mock.count("initialize"), 2);
}

#[tokio::test(start_paused = true)]
async fn nothing_comes_before_the_new_session_is_open() {
    let (mock, session) =
        losing(|n, seen| (n == 1).then(|| with(reply(200, &seen.result(initialized())), "x-delay", "1000")));
    let client = mock.connect().await;
    client.tools().await.unwrap();
    session.fetch_add(1, Ordering::SeqCst);
    let first = tokio::spawn({
        let client = client.clone();
        async move { client.tools().await }
    });
    // The handshake is answered, and the server is being told that the session is open.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(told(&mock, "s3"), ["notifications/initialized"]);
    client.tools().await.unwrap();
    first.await.unwrap().unwrap();
    let opened = mock.last("notifications/initialized").at;
    let lists =
        mock.seen().into_iter().filter(|s| s.what() == "tools/list" && s.header("mcp-session-id") == Some("s3"));
    assert!(lists.map(|s| (s.at - opened).as_millis()).all(|after| after >= 1000));
}

#[tokio::test(start_paused = true)]
async fn half_a_session_is_none() {
    // The second handshake fails, the third has an id but no end, the fourth works.
    let (mock, session) = losing(|n, _| match n {
        1 => Some(empty(503)),
        2 => Some(stream([Step::Hang])),
        _ => None,
    });
    let client = Client::new("test", "1").timeout(None).max_timeout(None).connect(mock.target()).await.unwrap();
    client.tools().await.unwrap();
    session.fetch_add(1, Ordering::SeqCst);
    for _ in 0..2 {
        let error = client.tools().await.unwrap_err();
        assert!(error.is_closed() && error.to_string().contains("lost the session"), "{error}");
    }
    client.tools().await.unwrap();
    let last = format!("s{}", session.load(Ordering::SeqCst));
    assert_eq!(told(&mock, &last), ["notifications/initialized", "GET", "tools/list"]);
}
