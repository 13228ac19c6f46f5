//! A client that is killed in the middle of many calls.

use http::Method;
use serde_json::Value;

use crate::peer::{
    Peer,
    http::{Http, in_session, request, text_of},
};

const CALLS: usize = 100;

#[tokio::test]
async fn line_228_a_killed_client_of_the_stateless_era_has_cancelled() {
    let server = Peer::server(&[]).await;
    let mut http = Http::connect(&server.address).await;
    let mut caller = Peer::start("caller", &[("address", &server.address), ("calls", &CALLS)]);
    let ids = caller.says("open").await;
    assert_eq!(ids, ",".repeat(CALLS - 1), "nothing can be taken up again here");
    let stats = http.stats().await;
    assert_eq!((&stats["running"], &stats["streams"]), (&CALLS.into(), &CALLS.into()), "{stats}");
    caller.kill().await;
    // Nobody let them go on: they were dropped where they stood.
    let stats = http.until(|stats| stats["running"] == 0 && stats["streams"] == 0).await;
    assert_eq!((&stats["dropped"], &stats["finished"]), (&CALLS.into(), &0.into()), "{stats}");
    assert_eq!(http.tool("hello").await, "Hello!");
}

#[tokio::test]
async fn a_killed_client_of_a_session_finds_everything_when_it_comes_back() {
    let server = Peer::server(&[]).await;
    let mut http = Http::connect(&server.address).await;
    // Two sessions, since one runs 64 calls at a time.
    let sessions = [http.open_session().await, http.open_session().await];
    let named = sessions.join(",");
    let mut caller = Peer::start("caller", &[("address", &server.address), ("calls", &CALLS), ("sessions", &named)]);
    let last = caller.says("open").await;
    let last: Vec<_> = last.split(',').map(place).collect();
    assert_eq!(last.len(), CALLS);
    caller.kill().await;
    // The server knows that nobody reads, and goes on all the same.
    let stats = http.until(|stats| stats["streams"] == 0).await;
    assert_eq!((&stats["running"], &stats["dropped"]), (&CALLS.into(), &0.into()), "{stats}");
    assert_eq!(http.tool("release").await, "released");
    let stats = http.until(|stats| stats["running"] == 0).await;
    assert_eq!((&stats["finished"], &stats["dropped"]), (&CALLS.into(), &0.into()), "{stats}");
    let mut found: Vec<(usize, u64)> = Vec::new();
    for (session, id) in last {
        let headers = [&in_session(&sessions[session])[..], &[("last-event-id", id)]].concat();
        let reply = http.send(request(Method::GET, &headers, &Value::Null)).await;
        let messages = reply.events().messages().await;
        let parts: Vec<_> = messages.iter().map(|m| m["params"]["message"].as_str()).collect();
        assert_eq!(parts, [Some("halfway"), Some("nearly"), None], "{id}");
        let answer = messages.last().expect("there is an answer");
        assert_eq!(text_of(answer), "done");
        found.push((session, answer["id"].as_u64().expect("an answer has an id")));
    }
    found.sort_unstable_by_key(|(_, id)| *id);
    let expected: Vec<_> = (0..CALLS).map(|id| (id % 2, id as u64)).collect();
    assert_eq!(found, expected, "each answer comes once, where it was asked for");
}

/// A session and an event in it: the ids of events are unique in their session only.
fn place(text: &str) -> (usize, &str) {
    let (session, id) = text.split_once('/').expect("an event of a session has an id");
    (session.parse().expect("a number"), id)
}
