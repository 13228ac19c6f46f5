//! Changes, in both eras.

use std::{future::poll_fn, pin::Pin};

use couplet_client::{Change, Client, Ended, Filter};
use couplet_core::ErrorKind;
use couplet_types::ProtocolVersion;
use futures_core::Stream;
use serde_json::{Value, json};

use crate::script::{Script, error, notification, result, settle};

const STATELESS: ProtocolVersion = ProtocolVersion::V2026_07_28;

fn capabilities() -> Value {
    json!({ "tools": { "listChanged": true }, "prompts": {}, "resources": { "subscribe": true, "listChanged": true } })
}

fn of(id: &Value) -> Value {
    json!({ "io.modelcontextprotocol/subscriptionId": id })
}

/// A stateless server that honours what is asked for, but for prompts.
fn stateless() -> Script {
    Script::speaking(STATELESS, capabilities(), |m| {
        if m["method"] != "subscriptions/listen" {
            return vec![];
        }
        let mut honoured = m["params"]["notifications"].clone();
        honoured.as_object_mut().unwrap().remove("promptsListChanged");
        let params = json!({ "notifications": honoured, "_meta": of(&m["id"]) });
        vec![notification("notifications/subscriptions/acknowledged", params)]
    })
}

#[tokio::test]
async fn subscriptions_without_a_session() {
    let script = stateless();
    let client = Client::new("test", "1").connect(script.clone()).await.unwrap();
    let mut tools = client.listen(Filter::new().tools().prompts()).await.unwrap();
    let mut files = client.listen(Filter::new().resource("file:///a")).await.unwrap();
    assert_eq!(*tools.honoured(), Filter::new().tools());
    assert_eq!(*files.honoured(), Filter::new().resource("file:///a"));
    let ids: Vec<_> = script.seen_of("subscriptions/listen").iter().map(|m| m["id"].clone()).collect();

    let updated = json!({ "uri": "file:///a/b", "_meta": of(&ids[1]) });
    script.push(notification("notifications/resources/updated", updated));
    script.push(notification("notifications/tools/list_changed", json!({ "_meta": of(&ids[0]) })));
    assert_eq!(poll_fn(|cx| Pin::new(&mut tools).poll_next(cx)).await, Some(Change::Tools));
    assert_eq!(files.next().await, Some(Change::Updated("file:///a/b".into())));

    // One ends by its result, the other by a cancellation: both are over.
    script.push(json!({ "jsonrpc": "2.0", "id": ids[0], "result": { "resultType": "complete" } }));
    assert_eq!(tools.next().await, None);
    assert!(matches!(tools.ended(), Some(Ended::ByServer)));
    assert_eq!(tools.next().await, None);
    script.push(notification("notifications/cancelled", json!({ "requestId": ids[1] })));
    assert_eq!(files.next().await, None);
    assert!(matches!(files.ended(), Some(Ended::ByServer)));
    drop((tools, files));
    settle().await;
    assert!(script.seen_of("notifications/cancelled").is_empty());
}

#[tokio::test]
async fn a_subscription_that_is_not_read_has_room_for_each_resource_once() {
    const RESOURCES: usize = 600;
    let uri = |at: usize| format!("file:///{at}");
    for version in [ProtocolVersion::V2025_11_25, STATELESS] {
        let script = match version {
            STATELESS => stateless(),
            _ => Script::speaking(version, capabilities(), |m| match m["method"].as_str() {
                Some("resources/subscribe") => vec![result(m, json!({}))],
                _ => vec![],
            }),
        };
        let client = Client::new("test", "1").connect(script.clone()).await.unwrap();
        let filter = (0..RESOURCES).fold(Filter::new().tools(), |filter, at| filter.resource(uri(at)));
        let mut changes = client.listen(filter).await.unwrap();
        let id = script.seen_of("subscriptions/listen").first().map(|m| m["id"].clone());
        let push = |method: &str, mut params: Value| {
            params.as_object_mut().unwrap().extend(id.iter().map(|id| ("_meta".to_owned(), of(id))));
            script.push(notification(method, params));
        };
        // One changes again and again, which takes no room of the others.
        for at in 0..RESOURCES {
            push("notifications/resources/updated", json!({ "uri": uri(at) }));
            push("notifications/resources/updated", json!({ "uri": uri(7) }));
        }
        push("notifications/tools/list_changed", json!({}));
        settle().await;
        let mut seen = Vec::new();
        loop {
            match changes.next().await {
                Some(Change::Updated(uri)) => seen.push(uri),
                Some(Change::Tools) => break,
                other => panic!("{version}: {other:?}"),
            }
        }
        let once: std::collections::BTreeSet<_> = seen.iter().map(ToString::to_string).collect();
        assert_eq!((seen.len(), once.len()), (RESOURCES, RESOURCES), "{version}");
    }
}

#[tokio::test]
async fn dropping_a_subscription_without_a_session_cancels_it() {
    let script = stateless();
    let client = Client::new("test", "1").connect(script.clone()).await.unwrap();
    let changes = client.listen(Filter::new().tools()).await.unwrap();
    let mut other = client.listen(Filter::new().tools()).await.unwrap();
    drop(changes);
    settle().await;
    let listens = script.seen_of("subscriptions/listen");
    let cancelled = script.seen_of("notifications/cancelled");
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0]["params"]["requestId"], listens[0]["id"]);
    client.close().await.unwrap();
    assert_eq!(other.next().await, None);
    assert!(matches!(other.ended(), Some(Ended::Failed(e)) if e.is_closed()));
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_is_refused_or_never_begins() {
    let script = Script::speaking(STATELESS, capabilities(), |m| vec![error(m, -32603, "too many")]);
    let client = Client::new("test", "1").connect(script).await.unwrap();
    assert_eq!(client.listen(Filter::new().tools()).await.unwrap_err().kind(), ErrorKind::Rpc);
    let script = Script::speaking(STATELESS, capabilities(), |m| vec![result(m, json!({}))]);
    let client = Client::new("test", "1").connect(script).await.unwrap();
    assert_eq!(client.listen(Filter::new().tools()).await.unwrap_err().kind(), ErrorKind::Protocol);
    let script = Script::speaking(STATELESS, capabilities(), |_| vec![]);
    let client = Client::new("test", "1").connect(script.clone()).await.unwrap();
    assert!(client.listen(Filter::new().tools()).await.unwrap_err().is_timeout());
    settle().await;
    assert_eq!(script.seen_of("notifications/cancelled").len(), 1);
}

#[tokio::test]
async fn subscriptions_in_a_session() {
    for version in &ProtocolVersion::ALL[..4] {
        let script = Script::speaking(*version, capabilities(), |m| match m["method"].as_str() {
            Some("resources/subscribe" | "resources/unsubscribe") => vec![result(m, json!({}))],
            _ => vec![],
        });
        let client = Client::new("test", "1").connect(script.clone()).await.unwrap();
        let mut first = client.listen(Filter::new().tools().prompts().resource("file:///a")).await.unwrap();
        let mut second = client.listen(Filter::new().resource("file:///a").resource("file:///b")).await.unwrap();
        assert_eq!(*first.honoured(), Filter::new().tools().resource("file:///a"));
        assert_eq!(script.seen_of("resources/subscribe").len(), 3);

        for _ in 0..3 {
            script.push(notification("notifications/tools/list_changed", json!({})));
            script.push(notification("notifications/resources/updated", json!({ "uri": "file:///a" })));
        }
        script.push(notification("notifications/resources/updated", json!({ "uri": "file:///ab" })));
        script.push(notification("notifications/resources/updated", json!({ "uri": "file:///b/c" })));
        settle().await;
        assert_eq!(first.next().await, Some(Change::Tools));
        assert_eq!(first.next().await, Some(Change::Updated("file:///a".into())));
        assert_eq!(second.next().await, Some(Change::Updated("file:///a".into())));
        assert_eq!(second.next().await, Some(Change::Updated("file:///b/c".into())));

        drop(second);
        settle().await;
        let uris = |script: &Script| -> Vec<_> {
            script.seen_of("resources/unsubscribe").iter().map(|m| m["params"]["uri"].clone()).collect()
        };
        assert_eq!(uris(&script), ["file:///b"]);
        drop(first);
        settle().await;
        assert_eq!(uris(&script), ["file:///b", "file:///a"]);
        assert!(script.seen_of("notifications/cancelled").is_empty());

        let mut last = client.listen(Filter::new().tools()).await.unwrap();
        client.close().await.unwrap();
        assert_eq!(last.next().await, None);
        assert!(matches!(last.ended(), Some(Ended::Failed(e)) if e.is_closed()));
    }
}

#[tokio::test]
async fn a_resource_that_cannot_be_subscribed_to() {
    let script = Script::speaking(ProtocolVersion::V2025_11_25, capabilities(), |m| {
        let unknown = m["params"]["uri"] == "file:///b";
        match m["method"].as_str() {
            Some("resources/subscribe") if unknown => vec![error(m, -32002, "no such resource")],
            Some("resources/subscribe" | "resources/unsubscribe") => vec![result(m, json!({}))],
            _ => vec![],
        }
    });
    let client = Client::new("test", "1").connect(script.clone()).await.unwrap();
    let failed = client.listen(Filter::new().resource("file:///a").resource("file:///b")).await.unwrap_err();
    assert_eq!(failed.rpc().unwrap().code, -32002);
    settle().await;
    assert_eq!(script.seen_of("resources/unsubscribe").len(), 2);
}

#[tokio::test]
async fn what_a_session_does_not_tell_of_is_not_subscribed_to() {
    let script = Script::speaking(ProtocolVersion::V2025_11_25, json!({ "resources": {} }), |_| vec![]);
    let client = Client::new("test", "1").connect(script.clone()).await.unwrap();
    let changes = client.listen(Filter::new().tools().resources().resource("file:///a")).await.unwrap();
    assert_eq!(*changes.honoured(), Filter::new());
    assert!(script.seen_of("resources/subscribe").is_empty());
}
