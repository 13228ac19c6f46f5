//! Lines 117 to 129: cancellation.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Waker},
    time::Duration,
};

use couplet_client::Client;
use couplet_server::{Ctx, Server, tool};
use couplet_testing::{
    Wire,
    types::{CreateMessageResult, ProtocolVersion, code},
};
use serde_json::{Value, json};

use crate::kit::{
    RawServer, SESSIONS, STATELESS, able, call, client, everything, example, notification, open, request, result, said,
    settle, text,
};

/// Counts what is alive.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicUsize>);

struct One(Alive);

impl Alive {
    fn enter(&self) -> One {
        self.0.fetch_add(1, Ordering::SeqCst);
        One(self.clone())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A server with a tool that never ends, and how many of it run.
fn hanging() -> (Server, Alive) {
    let alive = Alive::default();
    let inner = alive.clone();
    let hang = move || {
        let one = inner.enter();
        async move {
            pending::<()>().await;
            drop(one);
            "never"
        }
    };
    (example().tool(tool("hang", hang)), alive)
}

fn cancel(wire: &mut Wire, id: impl Into<Value>) {
    wire.send(&notification("notifications/cancelled", &json!({ "requestId": id.into(), "reason": "enough" })));
}

/// A client of a server that answers the tool `good` and no other.
async fn connected(version: ProtocolVersion) -> (RawServer, Client) {
    let raw = RawServer::speaking(version, everything(), |m| match m["params"]["name"].as_str() {
        Some("good") => vec![said(m, "ok")],
        _ => vec![],
    });
    let client = client(version).connect(raw.clone()).await.unwrap();
    settle().await;
    (raw, client)
}

/// Starts a call that is not answered and drops it; returns the request.
async fn dropped_call(raw: &RawServer, client: &Client) -> Value {
    let before = raw.seen_of("tools/call").len();
    let call = tokio::spawn(client.call("never", ()).into_future());
    let sent = raw.expect("tools/call", before + 1).await;
    call.abort();
    settle().await;
    sent
}

/// What a client must keep to in every revision: it cancels what it has asked and what is not answered yet.
async fn cancels_only_its_own(version: ProtocolVersion) {
    let (raw, client) = connected(version).await;
    assert_eq!(client.call("good", ()).await.unwrap().text(), "ok");
    drop(client.call("good", ()));
    settle().await;
    assert_eq!(raw.seen_of("notifications/cancelled").len(), 0, "{version}: nothing was in flight");
    let sent = dropped_call(&raw, &client).await;
    let cancelled = raw.seen_of("notifications/cancelled");
    assert_eq!(cancelled.len(), 1, "{version}");
    assert_eq!(cancelled[0]["params"]["requestId"], sent["id"], "{version}");
    // What never left need not be cancelled.
    let mut unsent = Box::pin(client.call("never", ()).into_future());
    assert!(unsent.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(unsent);
    settle().await;
    assert_eq!(raw.seen_of("tools/call").len(), 2, "{version}");
    assert_eq!(raw.seen_of("notifications/cancelled").len(), 1, "{version}");
}

/// Line 117: in a session, either side cancels only its own requests, and only while they wait.
#[tokio::test]
async fn line_117_cancel_your_own_requests() {
    for version in SESSIONS {
        cancels_only_its_own(version).await;
        let mut wire = open(example().build(), version, able()).await;
        let answered = wire.start("tools/call", json!({ "name": "sample" }));
        let question = wire.next().await.unwrap();
        let answer = json!({ "model": "m", "role": "assistant", "content": { "type": "text", "text": "a" } });
        wire.send(&result(&question, answer));
        wire.response(answered).await;
        assert_eq!(wire.ready(), [] as [Value; 0], "{version}: nothing is in flight");
        let given_up = wire.start("tools/call", json!({ "name": "sample" }));
        let question = wire.next().await.unwrap();
        cancel(&mut wire, given_up);
        let messages = wire.ready();
        assert_eq!(messages.len(), 1, "{version}: {messages:?}");
        assert_eq!(messages[0]["method"], "notifications/cancelled", "{version}");
        assert_eq!(messages[0]["params"]["requestId"], question["id"], "{version}");
    }
}

/// Line 118: without sessions it is the client who cancels, its own requests, by notification on a pipe.
#[tokio::test]
async fn line_118_clients_cancel_their_own_requests() {
    cancels_only_its_own(STATELESS).await;
}

/// Line 122: without sessions a server cancels nothing but subscriptions.
#[tokio::test(start_paused = true)]
async fn line_122_servers_cancel_subscriptions_only() {
    let (server, _) = hanging();
    let mut wire = open(server.timeout(Duration::from_secs(5)).build(), STATELESS, able()).await;
    let cancelled = wire.start("tools/call", json!({ "name": "hang" }));
    let late = wire.start("tools/call", json!({ "name": "hang" }));
    wire.ready();
    cancel(&mut wire, cancelled);
    assert!(wire.response(late).await.get("error").is_some());
    for tool in ["sure", "two", "sample", "roots", "fail", "talk", "nobody"] {
        call(&mut wire, tool, json!({})).await;
    }
    wire.start("subscriptions/listen", json!({ "notifications": {} }));
    let ended = wire.start("subscriptions/listen", json!({ "notifications": {} }));
    cancel(&mut wire, ended - 1);
    let last = wire.finish().await;
    let told: Vec<_> = last.iter().filter(|m| m["method"] == "notifications/cancelled").collect();
    assert_eq!(told.len(), 1, "{last:#?}");
    assert_eq!(told[0]["params"]["requestId"], ended);
}

/// Line 123: whoever is told stops working, lets go of everything and does not answer.
#[tokio::test]
async fn line_123_cancelled_work_stops() {
    for &version in ProtocolVersion::ALL {
        let (server, alive) = hanging();
        let mut wire = open(server.build(), version, able()).await;
        let ids: Vec<i64> = (0..3).map(|_| wire.start("tools/call", json!({ "name": "hang" }))).collect();
        wire.ready();
        assert_eq!(alive.count(), 3, "{version}");
        cancel(&mut wire, ids[1]);
        assert_eq!((alive.count(), wire.connection().unanswered()), (2, 2), "{version}");
        cancel(&mut wire, ids[0]);
        cancel(&mut wire, ids[2]);
        assert_eq!((wire.ready(), alive.count()), (vec![], 0), "{version}");
    }
    for version in SESSIONS {
        let alive = Alive::default();
        let inner = alive.clone();
        let raw = RawServer::speaking(version, everything(), |_| vec![]);
        let _client = client(version)
            .on_sample(move |_| {
                let one = inner.enter();
                async move {
                    pending::<()>().await;
                    drop(one);
                    Ok(CreateMessageResult::new("m", "text"))
                }
            })
            .connect(raw.clone())
            .await
            .unwrap();
        raw.push(&request("q", "sampling/createMessage", &json!({ "messages": [], "maxTokens": 1 })));
        settle().await;
        assert_eq!(alive.count(), 1, "{version}");
        raw.push(&notification("notifications/cancelled", &json!({ "requestId": "q" })));
        settle().await;
        assert_eq!(alive.count(), 0, "{version}");
        assert!(raw.seen().iter().all(|m| m["id"] != "q"), "{version}: {:?}", raw.seen());
    }
}

/// Line 124: after a cancellation nothing about that request is sent, not even what was ready to go.
#[tokio::test]
async fn line_124_nothing_follows_a_cancellation() {
    let chatter = |ctx: Ctx| async move {
        ctx.progress(0.5, "half").await;
        ctx.info("half").await;
        pending::<&str>().await
    };
    for name in ["chatter", "talk", "echo", "sure"] {
        let server = example().tool(tool("chatter", chatter)).build();
        let mut wire = open(server, STATELESS, able()).await;
        let meta = json!({ "progressToken": "t", "io.modelcontextprotocol/logLevel": "debug" });
        let id = wire.start("tools/call", json!({ "name": name, "arguments": { "text": "a" }, "_meta": meta }));
        // The handler runs, and everything that it says waits to be sent.
        wire.connection().poll_run(&mut Context::from_waker(Waker::noop()));
        cancel(&mut wire, id);
        assert_eq!(wire.ready(), [] as [Value; 0], "{name}");
        assert_eq!(wire.connection().unanswered(), 0, "{name}");
    }
}

/// Line 125: an answer that comes after the cancellation is ignored.
#[tokio::test]
async fn line_125_late_answers_are_ignored() {
    for &version in ProtocolVersion::ALL {
        let (raw, client) = connected(version).await;
        let sent = dropped_call(&raw, &client).await;
        let token = sent["id"].clone();
        raw.push(&said(&sent, "too late"));
        raw.push(&notification("notifications/progress", &json!({ "progressToken": token, "progress": 1 })));
        raw.push(&said(&sent, "twice"));
        assert_eq!(client.call("good", ()).await.unwrap().text(), "ok", "{version}");
    }
    for version in SESSIONS {
        let mut wire = open(example().build(), version, able()).await;
        let given_up = wire.start("tools/call", json!({ "name": "sample" }));
        let question = wire.next().await.unwrap();
        cancel(&mut wire, given_up);
        wire.ready();
        wire.send(&result(&question, json!({ "model": "late" })));
        wire.send(&result(&question, json!({ "model": "twice" })));
        assert_eq!(wire.ready(), [] as [Value; 0], "{version}");
        assert_eq!(text(&call(&mut wire, "echo", json!({ "text": "a" })).await), "a", "{version}");
    }
}

/// Line 126: a cancellation that crosses the answer harms nobody.
#[tokio::test]
async fn line_126_cancellations_may_cross_answers() {
    for &version in ProtocolVersion::ALL {
        let mut wire = open(example().build(), version, json!({})).await;
        let id = wire.start("tools/call", json!({ "name": "echo", "arguments": { "text": "a" } }));
        assert_eq!(text(&wire.response(id).await), "a");
        cancel(&mut wire, id);
        cancel(&mut wire, id);
        assert_eq!(wire.ready(), [] as [Value; 0], "{version}");
        assert_eq!(text(&call(&mut wire, "echo", json!({ "text": "b" })).await), "b", "{version}");

        let (raw, client) = connected(version).await;
        let calling = tokio::spawn(client.call("never", ()).into_future());
        let sent = raw.expect("tools/call", 1).await;
        raw.push(&said(&sent, "in time"));
        raw.push(&notification("notifications/cancelled", &json!({ "requestId": sent["id"] })));
        assert_eq!(calling.await.unwrap().unwrap().text(), "in time", "{version}");
        assert_eq!(client.call("good", ()).await.unwrap().text(), "ok", "{version}");
    }
}

/// Line 127: a cancellation of something unknown, or one that makes no sense, is passed over in silence.
#[tokio::test]
async fn line_127_odd_cancellations_are_ignored() {
    let odd = [
        json!({}),
        json!({ "requestId": 999 }),
        json!({ "requestId": "nobody", "reason": 5 }),
        json!({ "requestId": null }),
        json!({ "requestId": 1.5 }),
        json!({ "requestId": {} }),
        json!({ "reason": "why not" }),
    ];
    for &version in ProtocolVersion::ALL {
        let (server, alive) = hanging();
        let mut wire = open(server.build(), version, json!({})).await;
        wire.start("tools/call", json!({ "name": "hang" }));
        wire.ready();
        let (raw, client) = connected(version).await;
        let calling = tokio::spawn(client.call("never", ()).into_future());
        let sent = raw.expect("tools/call", 1).await;
        let before = raw.seen().len();
        for params in &odd {
            wire.send(&notification("notifications/cancelled", params));
            raw.push(&notification("notifications/cancelled", params));
        }
        assert_eq!((wire.ready(), alive.count()), (vec![], 1), "{version}");
        settle().await;
        assert_eq!(raw.seen().len(), before, "{version}");
        raw.push(&said(&sent, "still there"));
        assert_eq!(calling.await.unwrap().unwrap().text(), "still there", "{version}");
    }
}

/// Line 128: a host can show that a request was cancelled: it is the host that drops the call, and an error that comes
/// of a timeout says that the request was cancelled.
#[tokio::test(start_paused = true)]
async fn line_128_hosts_know_of_cancellations() {
    for &version in ProtocolVersion::ALL {
        let (raw, client) = connected(version).await;
        let calling = tokio::spawn(client.call("never", ()).into_future());
        raw.expect("tools/call", 1).await;
        calling.abort();
        assert!(calling.await.unwrap_err().is_cancelled(), "{version}: the host sees its own decision");
        raw.expect("notifications/cancelled", 1).await;
        let late = client.call("never", ()).timeout(Duration::from_secs(1)).await.unwrap_err();
        assert!(late.to_string().contains("was cancelled"), "{version}: {late}");
        raw.expect("notifications/cancelled", 2).await;
    }
}

/// Line 129: tasks are cancelled by `tasks/cancel`. There are none here: a server that does not advertise them runs the
/// request as an ordinary one, which is cancelled by notification, and refuses `tasks/cancel`; so does the client.
#[tokio::test]
async fn line_129_tasks_are_cancelled_otherwise() {
    let version = ProtocolVersion::V2025_11_25;
    let (server, alive) = hanging();
    let mut wire = Wire::new(server.build(), version);
    assert_eq!(wire.open().await["result"]["capabilities"].get("tasks"), None);
    let id = wire.start("tools/call", json!({ "name": "hang", "task": { "ttl": 1000 } }));
    wire.ready();
    let refusal = wire.request("tasks/cancel", json!({ "taskId": "1" })).await;
    assert_eq!((&refusal["error"]["code"], alive.count()), (&json!(code::METHOD_NOT_FOUND), 1));
    cancel(&mut wire, id);
    assert_eq!((wire.ready(), alive.count()), (vec![], 0));

    let (raw, client) = connected(version).await;
    assert_eq!(raw.seen_of("initialize")[0]["params"]["capabilities"].get("tasks"), None);
    raw.push(&request("t", "tasks/cancel", &json!({ "taskId": "1" })));
    settle().await;
    assert_eq!(raw.seen().last().unwrap()["error"]["code"], code::METHOD_NOT_FOUND);
    drop(client);
}
