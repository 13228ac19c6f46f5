//! Event streams of a session that another replica owns.

use std::time::Duration;

use couplet_http::server::Replica;
use serde_json::json;

use crate::{
    member::{KEY, Member, store},
    support::{POLLING, Session, call, eventually, limits},
};

#[tokio::test]
async fn a_stream_is_passed_on_as_it_comes() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let mut reply = session.at(&two.endpoint).tool(1, "forever").await;
    assert!(reply.is_stream());
    assert_eq!(reply.header("cache-control"), Some("no-cache, no-transform"));
    // The call goes on, so what is here has not waited for its end.
    assert_eq!(reply.body.message().await.unwrap()["method"], "notifications/progress");
    assert_eq!((one.endpoint.stream_count(), two.endpoint.stream_count()), (1, 1));
    drop(reply);
    eventually(|| one.endpoint.stream_count() == 0 && two.endpoint.stream_count() == 0).await;
    assert_eq!(one.seen.dropped(), 0, "in this revision that is no cancellation");
    let large = session.at(&two.endpoint).tool(2, "large").await.json().await;
    assert_eq!(large["result"]["content"][0]["text"].as_str().unwrap().len(), 3 << 20);
}

#[tokio::test]
async fn a_stream_is_resumed_elsewhere_while_its_call_runs() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let mut reply = session.tool(1, "slow").await;
    let prime = reply.body.event().await.unwrap().id.unwrap();
    reply.body.message().await.unwrap();
    drop(reply);
    let messages = session.at(&two.endpoint).get(Some(&prime)).await.body.messages().await;
    assert_eq!((messages.len(), &messages[10]["id"]), (11, &json!(1)), "all of it, and once");
    assert_eq!(one.seen.finished(), 1);
}

#[tokio::test]
async fn a_stream_is_resumed_elsewhere_before_anything_was_sent() {
    let store = store();
    let quick = |endpoint: couplet_http::server::Endpoint, url: String| {
        let endpoint = endpoint.replica(Replica::new(url, KEY).unwrap());
        endpoint.limits(limits(|l| l.keep_alive = Duration::from_millis(20)))
    };
    let (one, two) = (Member::with(&store, quick).await, Member::with(&store, quick).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let mut reply = session.tool(1, "gate").await;
    let prime = reply.body.event().await.unwrap().id.unwrap();
    drop(reply);
    let mut reply = session.at(&two.endpoint).get(Some(&prime)).await;
    assert_eq!(reply.status, 200);
    one.seen.gate.0.add_permits(1);
    let messages = reply.body.messages().await;
    assert_eq!((messages.len(), &messages[0]["id"]), (1, &json!(1)), "{messages:?}");
}

#[tokio::test]
async fn a_listener_hears_of_changes_at_the_owner() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await.at(&two.endpoint);
    let subscribe = call(1, "resources/subscribe", &json!({ "uri": "test://a" }));
    assert_eq!(session.post(&subscribe).await.json().await["result"], json!({}));
    let mut stream = session.get(None).await;
    assert!(stream.body.event().await.unwrap().id.is_some());
    one.handle.updated("test://a");
    let message = stream.body.message().await.unwrap();
    assert_eq!(
        (&message["method"], &message["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!("test://a"))
    );
    // A replica that shuts down ends its streams, also those of others.
    two.endpoint.shut_down();
    assert_eq!(stream.body.message().await, None);
    assert_eq!(one.endpoint.session_count(), 1);
}
