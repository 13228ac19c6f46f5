//! Sessions that live in one process and then in another.

use std::sync::Arc;

use couplet_http::server::{Endpoint, MemorySessions};
use serde_json::{Value, json};

use crate::{
    store::{Fault, TestStore},
    support::{POLLING, Seen, Session, VERSIONS, by_user, call, endpoint, initialize, limits, request, send, server},
};

/// Another process, with the same store.
fn other(store: &Arc<MemorySessions>) -> Endpoint {
    endpoint().0.sessions(store.clone())
}

#[tokio::test]
async fn a_session_goes_on_elsewhere() {
    let store = Arc::new(MemorySessions::new());
    for version in VERSIONS {
        let session = Session::open(&other(&store), version).await;
        let two = other(&store);
        let session = session.move_to(&two).await;
        assert_eq!(session.tool(1, "hello").await.json().await["result"]["content"][0]["text"], "Hello!");
        assert_eq!(two.session_count(), 1);
        assert!(session.delete().await.status.is_success());
        assert_eq!(session.tool(2, "hello").await.status, 404);
    }
}

/// What a tool that logs tells its client.
async fn logged(session: &Session) -> Vec<Value> {
    let mut reply = session.tool(7, "log").await;
    if !reply.is_stream() {
        return Vec::new();
    }
    let mut messages = reply.body.messages().await;
    messages.pop();
    messages.iter().map(|m| m["params"]["level"].clone()).collect()
}

#[tokio::test]
async fn the_log_level_comes_along() {
    let store = Arc::new(MemorySessions::new());
    for version in VERSIONS {
        let mut session = Session::open(&other(&store), version).await;
        assert_eq!(logged(&session).await, [json!("info")]);
        for (level, heard) in [("debug", vec!["debug", "info"]), ("error", vec![])] {
            let set = call(1, "logging/setLevel", &json!({ "level": level }));
            assert_eq!(session.post(&set).await.json().await["result"], json!({}));
            session = session.move_to(&other(&store)).await;
            assert_eq!(logged(&session).await, heard, "{version} {level}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn subscriptions_come_along() {
    let store = Arc::new(MemorySessions::new());
    let mut session = Session::open(&other(&store), POLLING).await;
    let about = |method: &str| call(1, method, &json!({ "uri": "test://a" }));
    for (method, is_told) in [("resources/subscribe", true), ("resources/unsubscribe", false)] {
        assert_eq!(session.post(&about(method)).await.json().await["result"], json!({}));
        let handle = server(&Seen::default());
        let two = Endpoint::new(handle.clone()).sessions(store.clone());
        session = session.move_to(&two).await;
        let mut get = session.get(None).await;
        get.body.event().await.unwrap();
        handle.updated("test://a");
        let told = tokio::time::timeout(std::time::Duration::from_millis(50), get.body.message()).await;
        assert_eq!(told.is_ok(), is_told, "{method}: {told:?}");
    }
}

#[tokio::test]
async fn it_still_belongs_to_who_opened_it_and_still_counts() {
    let store = Arc::new(MemorySessions::new());
    let open = async || {
        let opening = request("POST", &[("x-user", "alice")], initialize(POLLING).to_string());
        let one = by_user(other(&store));
        let id = send(&one, opening).await.header("mcp-session-id").unwrap().to_owned();
        one.release_sessions().await;
        id
    };
    let (first, second) = (open().await, open().await);
    let two = by_user(other(&store).limits(limits(|l| l.sessions_per_principal = 1)));
    let ping = call(1, "ping", &json!({})).to_string();
    for (user, id, status) in [("bob", &first, 404), ("alice", &first, 200), ("alice", &second, 429)] {
        let headers = [("x-user", user), ("mcp-session-id", &**id)];
        assert_eq!(send(&two, request("POST", &headers, &*ping)).await.status.as_u16(), status, "{user}");
    }
    two.release_sessions().await;
    let full = by_user(other(&store).limits(limits(|l| l.sessions = 0)));
    let headers = [("x-user", "alice"), ("mcp-session-id", &*first)];
    assert_eq!(send(&full, request("POST", &headers, ping)).await.status, 503);
}

#[tokio::test]
async fn two_requests_at_once_find_the_same_session() {
    let store = Arc::new(TestStore::default());
    let all_one = |endpoint: Endpoint| endpoint.sessions(store.clone()).principal(|_| Some("alice".to_owned()));
    let session = Session::open(&all_one(endpoint().0), POLLING).await;
    let two = all_one(endpoint().0).limits(limits(|l| l.sessions_per_principal = 1));
    let session = session.move_to(&two).await;
    let (one, other) = tokio::join!(session.tool(1, "hello"), session.tool(2, "hello"));
    assert_eq!((one.status.as_u16(), other.status.as_u16(), two.session_count()), (200, 200, 1));
    // Both are in it: its end is the end for both.
    assert_eq!(session.delete().await.status, 204);
    assert_eq!((session.tool(3, "hello").await.status.as_u16(), two.session_count()), (404, 0));
}

#[tokio::test]
async fn many_at_once_do_not_get_past_the_limit() {
    let store = Arc::new(TestStore::default());
    let endpoint = endpoint().0.sessions(store.clone()).limits(limits(|l| l.sessions = 2));
    let open = || send(&endpoint, request("POST", &[], initialize(POLLING).to_string()));
    let replies = tokio::join!(open(), open(), open(), open());
    // Each that comes takes the place of one that was never used.
    let all = [replies.0, replies.1, replies.2, replies.3].map(|reply| reply.status.as_u16());
    assert_eq!((all, endpoint.session_count()), ([200; 4], 2));
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_not_the_end_of_a_session() {
    let store = Arc::new(TestStore::default());
    let session = Session::open(&endpoint().0.sessions(store.clone()), POLLING).await;
    let session = session.move_to(&endpoint().0.sessions(store.clone())).await;
    store.break_one("load", Fault::Fails);
    let reply = session.tool(1, "hello").await;
    assert!(reply.header("retry-after").is_some());
    assert_eq!((reply.status.as_u16(), reply.code().await), (503, -32603));
    store.mend();
    assert_eq!(session.tool(1, "hello").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn what_lies_idle_here_may_be_in_use_elsewhere() {
    let store = Arc::new(TestStore::default());
    let one = endpoint().0.sessions(store.clone());
    let session = Session::open(&one, POLLING).await;
    tokio::time::sleep(std::time::Duration::from_secs(31 * 60)).await;
    assert_eq!(one.session_count(), 0);
    let session = Session { endpoint: endpoint().0.sessions(store), ..session };
    assert_eq!(session.tool(1, "hello").await.status, 200);
}
