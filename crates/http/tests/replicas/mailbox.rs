//! Messages for an owner that takes no requests any more.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::{
    member::{Member, expire, store},
    store::Fault,
    support::{POLLING, Session, VERSIONS, eventually},
};

fn cancel(id: usize) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })
}

#[tokio::test]
async fn a_cancellation_reaches_an_owner_that_shuts_down() {
    // Its connections may be open for longer than its listener.
    for is_closed in [true, false] {
        let store = store();
        let (mut one, two) = (Member::new(&store).await, Member::new(&store).await);
        let session = Session::open(&one.endpoint, POLLING).await;
        let mut reply = session.tool(1, "forever").await;
        one.endpoint.shut_down();
        if is_closed {
            one.stop_listening().await;
        }
        let elsewhere = session.at(&two.endpoint);
        assert_eq!(elsewhere.post(&cancel(1)).await.status, 202);
        eventually(|| one.seen.dropped() == 1).await;
        let rest = reply.body.messages().await;
        assert!(rest.iter().all(|message| message.get("id").is_none()), "{rest:?}");
        eventually(|| one.endpoint.session_count() == 0).await;
        assert_eq!(elsewhere.tool(2, "hello").await.status, 200, "nothing runs there, so the session has moved");
    }
}

#[tokio::test]
async fn an_answer_reaches_an_owner_that_shuts_down() {
    for version in &VERSIONS[2..] {
        let store = store();
        let (mut one, two) = (Member::new(&store).await, Member::new(&store).await);
        let session = Session::open(&one.endpoint, version).await;
        let mut reply = session.tool(1, "ask").await;
        let question = reply.body.message().await.unwrap();
        one.endpoint.shut_down();
        one.stop_listening().await;
        let answer = json!({ "action": "accept", "content": { "yes": true } });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer });
        assert_eq!(session.at(&two.endpoint).post(&answer).await.status, 202);
        let result = reply.body.message().await.unwrap();
        assert_eq!((&result["id"], &result["result"]["content"][0]["text"]), (&json!(1), &json!("yes: true")));
    }
}

/// The ids of requests to the client differ, whichever owner sends them.
#[tokio::test]
async fn an_answer_for_an_owner_that_is_gone_is_no_answer_to_the_next_one() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let mut lost = session.tool(1, "ask").await;
    let first = lost.body.message().await.unwrap();
    one.kill().await;
    let elsewhere = session.at(&two.endpoint);
    let answer = |question: &Value, text: &str| {
        let content = json!({ "action": "accept", "content": { "yes": text == "true" } });
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": content })
    };
    assert_eq!(elsewhere.post(&answer(&first, "true")).await.status, 202);
    expire(&store, &session.id, 1).await;
    let mut reply = elsewhere.tool(2, "ask").await;
    let second = reply.body.message().await.unwrap();
    assert_ne!(first["id"], second["id"]);
    assert_eq!(elsewhere.post(&answer(&first, "true")).await.status, 202);
    assert_eq!(elsewhere.post(&answer(&second, "false")).await.status, 202);
    let result = reply.body.message().await.unwrap();
    assert_eq!((&result["id"], &result["result"]["content"][0]["text"]), (&json!(2), &json!("yes: false")));
}

#[tokio::test]
async fn a_request_for_an_owner_that_shuts_down_is_refused() {
    let store = store();
    let (mut one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let running = session.tool(1, "forever").await;
    one.endpoint.shut_down();
    one.stop_listening().await;
    let refused = session.at(&two.endpoint).tool(2, "hello").await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, Some("1")), "its answer would get lost");
    drop(running);
}

/// It would never look for them.
#[tokio::test]
async fn nothing_is_left_for_an_owner_that_is_not_one_of_the_replicas() {
    let store = store();
    let (alone, two) = (Member::with(&store, |endpoint, _| endpoint).await, Member::new(&store).await);
    let session = Session::open(&alone.endpoint, POLLING).await;
    let running = session.tool(1, "forever").await;
    assert_eq!(session.at(&two.endpoint).post(&cancel(1)).await.status, 503);
    assert_eq!(store.calls("post"), 0);
    drop(running);
}

#[tokio::test]
async fn a_message_that_is_not_stored_is_refused() {
    let store = store();
    let (mut one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let running = session.tool(1, "forever").await;
    one.endpoint.shut_down();
    one.stop_listening().await;
    let elsewhere = session.at(&two.endpoint);
    for fault in [Fault::Fails, Fault::Hangs] {
        store.break_one("post", fault);
        let refused = elsewhere.post(&cancel(1)).await;
        assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, Some("1")), "{fault:?}");
    }
    store.mend();
    let large = "x".repeat(2 << 20);
    let large =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9, "reason": large } });
    assert_eq!(elsewhere.post(&large).await.status, 503, "there is a limit");
    assert_eq!((one.seen.dropped(), elsewhere.post(&cancel(1)).await.status.as_u16()), (0, 202));
    eventually(|| one.seen.dropped() == 1).await;
    drop(running);
}

/// Whichever replica owns the session next gets it.
#[tokio::test]
async fn a_message_for_an_owner_that_is_gone_is_left_to_the_next_one() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await.at(&two.endpoint);
    one.kill().await;
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
    assert_eq!(session.post(&changed).await.status, 202);
    expire(&store, &session.id, 1).await;
    assert_eq!(session.tool(2, "hello").await.status, 200);
    eventually(|| two.seen.notified.load(Ordering::SeqCst) == 1).await;
    assert_eq!(store.calls("take"), 1, "with the session");
}
