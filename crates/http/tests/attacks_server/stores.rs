//! Stores that hang.

use std::{sync::Arc, time::Duration};

use couplet_http::server::Endpoint;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    store::{Fault, TestStore},
    support::{POLLING, Reply, Session, call, endpoint, initialize, limits, request, send},
};

fn hanging() -> (Endpoint, Arc<TestStore>) {
    let store = Arc::new(TestStore::default());
    (endpoint().0.sessions(store.clone()).events(store.clone()), store)
}

/// Checks that a response is a refusal that says when to come back.
async fn check_busy(reply: Reply, words: &str) {
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, Some("1")), "{words}");
    let message = reply.json().await;
    assert!(message["error"]["message"].as_str().unwrap().contains(words), "{message}");
}

#[tokio::test(start_paused = true)]
async fn attack_11_a_store_that_hangs_is_not_waited_for() {
    let (endpoint, store) = hanging();
    let endpoint = endpoint.limits(limits(|l| l.session_lease = Duration::from_secs(60)));
    let session = Session::open(&endpoint, POLLING).await;
    let elsewhere = Session { endpoint: crate::support::endpoint().0.sessions(store.clone()), ..session };
    let session = Session { endpoint: endpoint.clone(), id: elsewhere.id.clone(), version: POLLING.to_owned() };
    let mut reply = session.tool(1, "slow").await;
    let prime = reply.body.event().await.unwrap().id.unwrap();
    reply.body.messages().await;
    store.break_all(Fault::Hangs);
    let began = Instant::now();
    let opening = request("POST", &[], initialize(POLLING).to_string());
    check_busy(send(&endpoint, opening).await, "the session cannot be stored").await;
    assert_eq!(began.elapsed().as_secs(), 5);
    check_busy(elsewhere.tool(1, "hello").await, "the session cannot be looked for").await;
    check_busy(session.get(Some(&prime)).await, "the events cannot be looked for").await;
    assert_eq!(began.elapsed().as_secs(), 15);
    // What needs no store is not touched by it.
    assert_eq!(session.tool(2, "hello").await.status, 200);
    assert_eq!(began.elapsed().as_secs(), 15);
    // Settings that no other replica will know of are not confirmed.
    let level = call(3, "logging/setLevel", &json!({ "level": "debug" }));
    check_busy(session.post(&level).await, "the settings of the session cannot be stored").await;
    check_busy(session.delete().await, "the session cannot be removed").await;
    assert_eq!(endpoint.session_count(), 0);
    store.mend();
    assert_eq!(session.delete().await.status, 204, "it can be tried again");
    assert_eq!(elsewhere.tool(4, "hello").await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn attack_11_a_stream_goes_on_without_its_store_and_cannot_be_taken_up_again() {
    let (endpoint, store) = hanging();
    let session = Session::open(&endpoint, POLLING).await;
    let mut reply = session.tool(1, "slow").await;
    let prime = reply.body.event().await.unwrap().id.unwrap();
    reply.body.message().await.unwrap();
    store.break_all(Fault::Hangs);
    let began = Instant::now();
    let messages = reply.body.messages().await;
    assert_eq!((messages.len(), &messages[9]["id"]), (10, &json!(1)), "everything comes");
    assert!(began.elapsed() < Duration::from_secs(7), "only the first event is waited for: {:?}", began.elapsed());
    store.mend();
    // A part would be taken for all of it.
    assert_eq!(session.get(Some(&prime)).await.status, 400);
    let mut reply = session.tool(2, "slow").await;
    let prime = reply.body.event().await.unwrap().id.unwrap();
    drop(reply);
    assert_eq!(session.get(Some(&prime)).await.body.messages().await.len(), 11, "others can");
}

#[tokio::test(start_paused = true)]
async fn attack_11_sessions_that_expire_do_not_wait_for_the_store() {
    let (endpoint, store) = hanging();
    let endpoint = endpoint.limits(limits(|l| l.sessions = 2));
    let one = Session::open(&endpoint, POLLING).await;
    let _two = Session::open(&endpoint, POLLING).await;
    store.break_all(Fault::Hangs);
    tokio::time::sleep(Duration::from_secs(31 * 60)).await;
    assert_eq!(endpoint.session_count(), 0);
    store.mend();
    assert_eq!(one.tool(1, "hello").await.status, 200, "the store was not told, so it still knows of it");
}
