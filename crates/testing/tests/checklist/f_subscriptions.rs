//! Lines 104 to 116: subscriptions.

use couplet_client::{Change, Changes, Client, Ended, Filter};
use couplet_core::Service;
use couplet_server::{Server, prompt, resource, tool};
use couplet_testing::{Wire, connect};
use serde_json::{Value, json};

use crate::kit::{
    RawServer, STATELESS, client, everything, example, is_response, notification, open, request, result, settle,
    stateless_meta,
};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The filter that asks for everything.
fn all() -> Value {
    json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
            "resourceSubscriptions": ["note://today"] })
}

/// Subscribes with an id of the test's own.
fn listen(wire: &mut Wire, id: impl Into<Value>, filter: &Value) {
    wire.send(&request(
        id,
        "subscriptions/listen",
        &json!({ "notifications": filter, "_meta": stateless_meta(&json!({})) }),
    ));
}

/// Changes everything that can change.
fn change(server: &couplet_server::ServerHandle) {
    server.add_tool(tool("new", || "new")).unwrap();
    server.remove_tool("new");
    server.add_prompt(prompt("new", || "new")).unwrap();
    server.remove_prompt("new");
    server.add_resource(resource("new://new", || "new")).unwrap();
    server.remove_resource("new://new");
    server.updated("note://today");
    server.updated("note://of/monday");
}

/// What a subscription was told: the method, and the resource if it is about one.
fn told(messages: &[Value], id: &Value) -> Vec<String> {
    let ours = messages.iter().filter(|m| m["params"]["_meta"][SUBSCRIPTION] == *id);
    let mut told: Vec<String> = ours
        .map(|m| {
            let method = m["method"].as_str().unwrap().trim_start_matches("notifications/");
            m["params"]["uri"].as_str().map_or(method.to_owned(), |uri| format!("{method} {uri}"))
        })
        .collect();
    told.sort();
    told
}

/// The acknowledgement of a subscription.
fn acknowledged(id: &Value, filter: &Value) -> Value {
    notification(ACKNOWLEDGED, &json!({ "notifications": filter, "_meta": { SUBSCRIPTION: id } }))
}

/// A server that acknowledges subscriptions, with less than was asked for if so said.
fn acknowledging(honours: Option<Value>) -> RawServer {
    RawServer::speaking(STATELESS, everything(), move |m| match m["method"].as_str() {
        Some("subscriptions/listen") => {
            vec![acknowledged(&m["id"], honours.as_ref().unwrap_or(&m["params"]["notifications"]))]
        }
        _ => vec![],
    })
}

async fn listening(raw: &RawServer, filter: Filter) -> (Client, Changes) {
    let client = client(STATELESS).connect(raw.clone()).await.unwrap();
    let changes = client.listen(filter).await.unwrap();
    (client, changes)
}

/// Line 104: a subscription is told of what it asked for, and of nothing else.
#[tokio::test]
async fn line_104_only_what_was_asked_for() {
    for (filter, expected) in [
        (json!({}), vec![]),
        (json!({ "toolsListChanged": true }), vec!["tools/list_changed"]),
        (json!({ "promptsListChanged": true, "toolsListChanged": false }), vec!["prompts/list_changed"]),
        (json!({ "resourcesListChanged": true }), vec!["resources/list_changed"]),
        (json!({ "resourceSubscriptions": ["note://today"] }), vec!["resources/updated note://today"]),
        (json!({ "resourceSubscriptions": [] }), vec![]),
    ] {
        let server = example().build();
        let mut wire = open(server.clone(), STATELESS, json!({})).await;
        listen(&mut wire, 100, &filter);
        assert_eq!(wire.next().await.unwrap()["method"], ACKNOWLEDGED);
        change(&server);
        let messages = wire.ready();
        assert_eq!(told(&messages, &json!(100)), expected, "{filter}");
        assert_eq!(messages.len(), expected.len(), "{filter}: {messages:?}");
    }
}

/// Line 105: the first message says which part of the wish is granted.
#[tokio::test]
async fn line_105_the_acknowledgement_comes_first() {
    let tools_only = Server::new("s", "1").tool(tool("t", || "t")).build();
    let unsubscribable = Server::new("s", "1").resource(resource("note://today", || "r")).build();
    for (server, granted) in [
        (example().build(), all()),
        (tools_only, json!({ "toolsListChanged": true })),
        (unsubscribable, json!({ "resourcesListChanged": true })),
        (Server::new("s", "1").build(), json!({})),
    ] {
        let mut wire = open(server, STATELESS, json!({})).await;
        listen(&mut wire, "l", &all());
        assert_eq!(wire.ready(), [acknowledged(&json!("l"), &granted)]);
    }
}

/// Line 106: before the acknowledgement a subscription is told of nothing, while others may be.
#[tokio::test]
async fn line_106_nothing_before_the_acknowledgement() {
    let server = example().build();
    let mut wire = open(server.clone(), STATELESS, json!({})).await;
    change(&server);
    listen(&mut wire, 1, &all());
    change(&server);
    listen(&mut wire, 2, &all());
    change(&server);
    let messages = wire.ready();
    for id in [1, 2] {
        let first = messages.iter().find(|m| m["params"]["_meta"][SUBSCRIPTION] == id).unwrap();
        assert_eq!(first["method"], ACKNOWLEDGED, "{messages:#?}");
        assert_eq!(told(&messages, &json!(id)).len(), 5, "{messages:#?}");
    }
}

/// Line 107: all that belongs to a subscription has the id of its request, of the same type.
#[tokio::test]
async fn line_107_the_id_is_everywhere() {
    for id in [json!(7), json!("7"), json!("ä")] {
        let server = example().build();
        let mut wire = open(server.clone(), STATELESS, json!({})).await;
        listen(&mut wire, id.clone(), &all());
        change(&server);
        let messages = wire.ready();
        assert_eq!(messages.len(), 5);
        assert!(messages.iter().all(|m| m["params"]["_meta"][SUBSCRIPTION] == id), "{messages:#?}");
        let last = wire.finish().await;
        let end = last.iter().find(|m| is_response(m)).unwrap();
        assert_eq!((&end["id"], &end["result"]["_meta"][SUBSCRIPTION]), (&id, &id));
    }
}

/// Line 108: a client tells its subscriptions apart by their ids.
#[tokio::test]
async fn line_108_clients_tell_subscriptions_apart() {
    let raw = acknowledging(None);
    let client = client(STATELESS).connect(raw.clone()).await.unwrap();
    let mut first = client.listen(Filter::new().tools().resource("a://1")).await.unwrap();
    let mut second = client.listen(Filter::new().tools().resource("a://2")).await.unwrap();
    let ids: Vec<Value> = raw.seen_of("subscriptions/listen").into_iter().map(|m| m["id"].clone()).collect();
    for (id, uri) in [(&ids[1], "a://2"), (&ids[0], "a://1"), (&json!(99), "a://1"), (&json!("1"), "a://1")] {
        let params = json!({ "uri": uri, "_meta": { SUBSCRIPTION: id } });
        raw.push(&notification("notifications/resources/updated", &params));
    }
    raw.push(&notification("notifications/tools/list_changed", &json!({ "_meta": { SUBSCRIPTION: ids[1] } })));
    assert_eq!(first.next().await, Some(Change::Updated("a://1".to_owned())));
    assert_eq!(second.next().await, Some(Change::Updated("a://2".to_owned())));
    assert_eq!(second.next().await, Some(Change::Tools));
    raw.push(&result(&json!({ "id": ids[0] }), json!({ "resultType": "complete", "_meta": { SUBSCRIPTION: ids[0] } })));
    assert_eq!(first.next().await, None, "nothing else was for the first one");
    assert!(second.ended().is_none());
}

/// Line 109: a program sees which part of its wish was granted.
#[tokio::test]
async fn line_109_clients_see_what_was_granted() {
    let wish = Filter::new().tools().prompts().resource("a://1").resource("a://2");
    let (_client, changes) = listening(&acknowledging(None), wish.clone()).await;
    assert_eq!(changes.honoured(), &wish);
    let less = acknowledging(Some(json!({ "toolsListChanged": true, "resourceSubscriptions": ["a://2"] })));
    let (_client, changes) = listening(&less, wish).await;
    assert_eq!(changes.honoured(), &Filter::new().tools().resource("a://2"));
}

/// Line 110: several subscriptions work at the same time.
#[tokio::test]
async fn line_110_several_subscriptions() {
    let server = example().build();
    let mut wire = open(server.clone(), STATELESS, json!({})).await;
    for id in 100..110 {
        listen(&mut wire, id, &all());
    }
    wire.ready();
    change(&server);
    let messages = wire.ready();
    for id in 100..110 {
        assert_eq!(told(&messages, &json!(id)).len(), 4, "{id}");
    }
    let client = connect(server.clone(), STATELESS).await.unwrap();
    let mut streams = Vec::new();
    for _ in 0..5 {
        streams.push(client.listen(Filter::new().tools()).await.unwrap());
    }
    change(&server);
    for stream in &mut streams {
        assert_eq!(stream.next().await, Some(Change::Tools));
    }
}

/// Line 111: a subscription that the server ends gets its result, and a client sees that it ended in good order.
#[tokio::test]
async fn line_111_subscriptions_end_with_a_result() {
    let mut wire = open(example().build(), STATELESS, json!({})).await;
    listen(&mut wire, "l", &all());
    wire.ready();
    let end = wire.finish().await.remove(0);
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!("l"), &json!("complete")));
    assert_eq!(end["result"]["_meta"][SUBSCRIPTION], "l");

    let raw = acknowledging(None);
    let (_client, mut changes) = listening(&raw, Filter::new().tools()).await;
    let asked = &raw.seen_of("subscriptions/listen")[0];
    raw.push(&result(asked, json!({ "resultType": "complete", "_meta": { SUBSCRIPTION: asked["id"] } })));
    assert_eq!(changes.next().await, None);
    assert!(matches!(changes.ended(), Some(Ended::ByServer)), "{changes:?}");
}

/// Line 112: on a pipe, a subscription that the server ends is also cancelled by notification; a client takes whichever
/// comes first, and does not mind the other.
#[tokio::test]
async fn line_112_subscriptions_end_with_a_cancellation() {
    let mut wire = open(example().build(), STATELESS, json!({})).await;
    listen(&mut wire, "l", &all());
    wire.ready();
    let last = wire.finish().await;
    let cancelled = last.iter().find(|m| m["method"] == "notifications/cancelled").expect("a cancellation");
    assert_eq!(cancelled["params"]["requestId"], "l");

    for cancelled_first in [true, false] {
        let raw = acknowledging(None);
        let (client, mut changes) = listening(&raw, Filter::new().tools()).await;
        let asked = &raw.seen_of("subscriptions/listen")[0];
        let mut ends = [
            notification("notifications/cancelled", &json!({ "requestId": asked["id"] })),
            result(asked, json!({ "resultType": "complete", "_meta": { SUBSCRIPTION: asked["id"] } })),
        ];
        if !cancelled_first {
            ends.reverse();
        }
        ends.iter().for_each(|end| raw.push(end));
        assert_eq!(changes.next().await, None);
        assert!(matches!(changes.ended(), Some(Ended::ByServer)), "{changes:?}");
        client.listen(Filter::new().tools()).await.unwrap();
    }
}

/// Line 113: after a connection is lost a subscription is over and says so; on the next connection it is made again.
#[tokio::test]
async fn line_113_subscriptions_are_made_again() {
    let raw = acknowledging(None);
    let (client, mut changes) = listening(&raw, Filter::new().tools()).await;
    raw.hang_up();
    assert_eq!(changes.next().await, None);
    assert!(matches!(changes.ended(), Some(Ended::Failed(error)) if error.is_closed()), "{changes:?}");
    assert!(client.listen(Filter::new().tools()).await.unwrap_err().is_closed());
    let (_client, mut changes) = listening(&raw, changes.honoured().clone()).await;
    let sent = raw.seen_of("subscriptions/listen");
    assert_eq!((sent.len(), raw.connections()), (2, 2));
    assert_eq!(sent[1]["params"]["notifications"], sent[0]["params"]["notifications"]);
    raw.push(&notification("notifications/tools/list_changed", &json!({ "_meta": { SUBSCRIPTION: sent[1]["id"] } })));
    assert_eq!(changes.next().await, Some(Change::Tools));
}

/// Line 114: when a list changes, every subscription that asked for it is told, on every connection.
#[tokio::test]
async fn line_114_changes_are_told() {
    let server = example().build();
    let mut wires =
        vec![open(server.clone(), STATELESS, json!({})).await, open(server.clone(), STATELESS, json!({})).await];
    for wire in &mut wires {
        listen(wire, "l", &all());
        wire.ready();
    }
    type Step = (&'static str, fn(&couplet_server::ServerHandle));
    let steps: [Step; 6] = [
        ("tools/list_changed", |s| s.add_tool(tool("new", || "new")).unwrap()),
        ("tools/list_changed", |s| assert!(s.remove_tool("new"))),
        ("prompts/list_changed", |s| s.add_prompt(prompt("new", || "new")).unwrap()),
        ("prompts/list_changed", |s| assert!(s.remove_prompt("new"))),
        ("resources/list_changed", |s| s.add_resource(resource("new://new", || "new")).unwrap()),
        ("resources/list_changed", |s| assert!(s.remove_resource("new://new"))),
    ];
    for (expected, step) in steps {
        step(&server);
        for wire in &mut wires {
            assert_eq!(told(&wire.ready(), &json!("l")), [expected]);
        }
        assert!(!server.remove_tool("nobody"), "no change");
    }
}

/// Line 115: progress and log messages belong to requests, and never to a subscription.
#[tokio::test]
async fn line_115_no_progress_on_a_subscription() {
    let server = example().build();
    let mut wire = open(server.clone(), STATELESS, json!({})).await;
    let mut meta = stateless_meta(&json!({}));
    meta["progressToken"] = json!("l");
    meta["io.modelcontextprotocol/logLevel"] = json!("debug");
    wire.send(&request("l", "subscriptions/listen", &json!({ "notifications": all(), "_meta": meta })));
    meta["progressToken"] = json!("t");
    wire.send(&request("t", "tools/call", &json!({ "name": "talk", "_meta": meta })));
    wire.send(&request("u", "tools/call", &json!({ "name": "talk", "_meta": stateless_meta(&json!({})) })));
    change(&server);
    let messages = wire.ready();
    assert_eq!(told(&messages, &json!("l")).len(), 5, "{messages:#?}");
    let others: Vec<_> = messages.iter().filter(|m| m["params"]["_meta"].get(SUBSCRIPTION).is_none()).collect();
    let of = |method: &str| others.iter().filter(|m| m["method"] == method).count();
    assert_eq!((of("notifications/progress"), of("notifications/message")), (3, 3), "{messages:#?}");
    assert!(others.iter().all(|m| m["params"].get("progressToken").is_none_or(|t| t == "t")), "{messages:#?}");
}

/// Line 116: a client ends a subscription by cancelling it: nothing more is told, and nothing is left.
#[tokio::test]
async fn line_116_subscriptions_can_be_cancelled() {
    let server = example().build();
    let mut wire = open(server.clone(), STATELESS, json!({})).await;
    listen(&mut wire, "l", &all());
    listen(&mut wire, "other", &all());
    wire.ready();
    change(&server);
    wire.send(&notification("notifications/cancelled", &json!({ "requestId": "l" })));
    change(&server);
    let messages = wire.ready();
    assert_eq!((told(&messages, &json!("l")).len(), told(&messages, &json!("other")).len()), (0, 4), "{messages:#?}");
    assert_eq!((server.hub().len(), wire.connection().unanswered()), (1, 1));

    let raw = acknowledging(None);
    let (_client, changes) = listening(&raw, Filter::new().tools()).await;
    drop(changes);
    settle().await;
    let cancelled = raw.seen().pop().unwrap();
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], raw.seen_of("subscriptions/listen")[0]["id"]);
}
