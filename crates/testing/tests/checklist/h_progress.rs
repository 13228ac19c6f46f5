//! Lines 130 to 137: progress and `ping`.

use std::{
    collections::HashSet,
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Waker},
    time::Duration,
};

use couplet_core::{ErrorKind, Limits};
use couplet_server::{Ctx, Server, tool};
use couplet_testing::{
    Wire,
    types::{CreateMessageResult, ProtocolVersion, code},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::kit::{
    RawServer, SESSIONS, STATELESS, able, client, everything, example, is_response, notification, open, request,
    result, said, settle, stateless_meta,
};

/// The progress that is told for a token.
fn progress(messages: &[Value], token: &Value) -> Vec<f64> {
    let ours =
        messages.iter().filter(|m| m["method"] == "notifications/progress" && m["params"]["progressToken"] == *token);
    ours.map(|m| m["params"]["progress"].as_f64().unwrap()).collect()
}

/// Line 130: a token is a string or an integer, and no two open requests have the same.
#[tokio::test]
async fn line_130_tokens() {
    for &version in ProtocolVersion::ALL {
        let mut wire = open(example().build(), version, json!({})).await;
        for token in [json!(7), json!("7"), json!("ä"), json!(0), json!("")] {
            let id = wire.start("tools/call", json!({ "name": "talk", "_meta": { "progressToken": token } }));
            wire.response(id).await;
            assert_eq!(progress(&wire.ready(), &token), [1.0, 2.0, 3.0], "{version}: {token}");
        }
        for token in [json!(1.5), json!({}), json!([1]), json!(true)] {
            let refusal =
                wire.request("tools/call", json!({ "name": "talk", "_meta": { "progressToken": token } })).await;
            assert_eq!(refusal["error"]["code"], code::INVALID_PARAMS, "{version}: {token}");
        }

        let raw = RawServer::speaking(version, everything(), |_| vec![]);
        let client = client(version).connect(raw.clone()).await.unwrap();
        let calls: Vec<_> =
            (0..10).map(|_| tokio::spawn(client.call("never", ()).on_progress(|_| ()).into_future())).collect();
        raw.expect("tools/call", 10).await;
        let tokens: Vec<Value> =
            raw.seen_of("tools/call").iter().map(|m| m["params"]["_meta"]["progressToken"].clone()).collect();
        assert!(tokens.iter().all(|t| t.is_string() || t.is_i64()), "{version}: {tokens:?}");
        assert_eq!(tokens.iter().map(Value::to_string).collect::<HashSet<_>>().len(), 10, "{version}");
        calls.iter().for_each(|c| c.abort());
    }
}

/// Line 131: progress only grows.
#[tokio::test]
async fn line_131_progress_grows() {
    let steps = |ctx: Ctx| async move {
        for step in [0.0, 1.0, 1.0, 0.5, f64::NAN, -3.0, 1.5, f64::INFINITY, 2.0, 1.9] {
            ctx.progress_with(step, None, None).await;
        }
        "done"
    };
    for &version in ProtocolVersion::ALL {
        let mut wire = open(Server::new("s", "1").tool(tool("steps", steps)).build(), version, json!({})).await;
        let id = wire.start("tools/call", json!({ "name": "steps", "_meta": { "progressToken": "t" } }));
        wire.response(id).await;
        assert_eq!(progress(&wire.ready(), &json!("t")), [0.0, 1.0, 1.5, 2.0], "{version}");
    }
}

/// Line 132: progress is told for requests that asked for it and are not answered yet, and for nothing else.
#[tokio::test]
async fn line_132_progress_ends_with_the_answer() {
    for &version in ProtocolVersion::ALL {
        let gate = Arc::new(Notify::new());
        let (opens, told) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
        let counts = told.clone();
        let leak = move |ctx: Ctx| {
            let (gate, told) = (gate.clone(), counts.clone());
            async move {
                ctx.progress(0.1, "begun").await;
                tokio::spawn(async move {
                    gate.notified().await;
                    ctx.progress(0.9, "too late").await;
                    ctx.warn("too late").await;
                    told.fetch_add(1, Ordering::SeqCst);
                });
                "done"
            }
        };
        let mut wire = open(Server::new("s", "1").tool(tool("leak", leak)).build(), version, json!({})).await;
        let id = wire.start("tools/call", json!({ "name": "leak", "_meta": { "progressToken": "t" } }));
        wire.response(id).await;
        opens.notify_one();
        settle().await;
        assert_eq!(told.load(Ordering::SeqCst), 1, "{version}: the task is not stuck");
        assert_eq!(progress(&wire.ready(), &json!("t")), [0.1], "{version}");
        let mut wire = open(example().build(), version, json!({})).await;
        let id = wire.start("tools/call", json!({ "name": "talk" }));
        wire.response(id).await;
        assert!(wire.ready().iter().all(|m| m["method"] != "notifications/progress"), "{version}");
    }
}

/// Line 133: a server that reports too fast is held up, and a client hears only what it asked for. What is said to
/// people is left out where the revision has no place for it.
#[tokio::test]
async fn line_133_tokens_are_tracked_and_reports_held_up() {
    for &version in ProtocolVersion::ALL {
        let reports = Arc::new(AtomicUsize::new(0));
        let counts = reports.clone();
        let flood = move |ctx: Ctx| {
            let counts = counts.clone();
            async move {
                for step in 0..10_000 {
                    ctx.progress_with(f64::from(step), None, Some("on it".to_owned())).await;
                    counts.fetch_add(1, Ordering::SeqCst);
                }
                "done"
            }
        };
        let mut limits = Limits::default();
        limits.queue = 4;
        let server = Server::new("s", "1").tool(tool("flood", flood)).build();
        let mut wire = Wire::with(server, version, Default::default(), limits);
        wire.open().await;
        let id = wire.start("tools/call", json!({ "name": "flood", "_meta": { "progressToken": "t" } }));
        for _ in 0..100 {
            wire.connection().poll_run(&mut Context::from_waker(Waker::noop()));
        }
        assert!(reports.load(Ordering::SeqCst) <= 4, "{version}: {reports:?} reports that nobody reads");
        wire.response(id).await;
        let told = wire.ready();
        assert_eq!(told.len(), 10_000, "{version}");
        let message = (version != ProtocolVersion::V2024_11_05).then(|| json!("on it"));
        assert_eq!(told[0]["params"].get("message"), message.as_ref(), "{version}");

        let raw = RawServer::speaking(version, everything(), |_| vec![]);
        let client = client(version).connect(raw.clone()).await.unwrap();
        let heard: Arc<Mutex<Vec<f64>>> = Arc::default();
        let hears = heard.clone();
        let call = client.call("never", ()).on_progress(move |p| hears.lock().unwrap().push(p.progress));
        let calling = tokio::spawn(call.into_future());
        let sent = raw.expect("tools/call", 1).await;
        let token = &sent["params"]["_meta"]["progressToken"];
        for (token, step) in [(token, 1), (&json!("other"), 2), (&json!(99), 3), (&json!(null), 4), (token, 5)] {
            raw.push(&notification("notifications/progress", &json!({ "progressToken": token, "progress": step })));
        }
        raw.push(&said(&sent, "done"));
        calling.await.unwrap().unwrap();
        assert_eq!(*heard.lock().unwrap(), [1.0, 5.0], "{version}");
    }
}

/// Line 134: a task keeps the token of its request. Without tasks, a request that wants to be one is an ordinary one:
/// its token is good until the answer.
#[tokio::test]
async fn line_134_tokens_of_tasks() {
    let version = ProtocolVersion::V2025_11_25;
    let mut wire = open(example().build(), version, json!({})).await;
    let params = json!({ "name": "talk", "task": { "ttl": 1000 }, "_meta": { "progressToken": "t" } });
    let id = wire.start("tools/call", params);
    let answer = wire.response(id).await;
    assert_eq!(answer["result"].get("task"), None, "no task was made: {answer}");
    assert_eq!(progress(&wire.ready(), &json!("t")), [1.0, 2.0, 3.0]);
    assert_eq!(wire.finish().await, [] as [Value; 0]);
}

/// Line 135: without sessions, progress goes to the request that it is about.
#[tokio::test]
async fn line_135_progress_goes_to_its_request() {
    let mut wire = open(example().build(), STATELESS, json!({})).await;
    wire.start("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    for name in ["a", "b"] {
        let mut meta = stateless_meta(&json!({}));
        meta["progressToken"] = json!(format!("token {name}"));
        wire.send(&request(name, "tools/call", &json!({ "name": "talk", "_meta": meta })));
    }
    wire.send(&request("c", "tools/call", &json!({ "name": "talk", "_meta": stateless_meta(&json!({})) })));
    let messages = wire.ready();
    for name in ["a", "b"] {
        assert_eq!(progress(&messages, &json!(format!("token {name}"))), [1.0, 2.0, 3.0]);
        let answered = messages.iter().position(|m| m["id"] == name).unwrap();
        let last = messages.iter().rposition(|m| m["params"]["progressToken"] == format!("token {name}")).unwrap();
        assert!(last < answered, "before its answer");
    }
    let all: Vec<_> = messages.iter().filter(|m| m["method"] == "notifications/progress").collect();
    assert_eq!(all.len(), 6);
    assert!(all.iter().all(|m| m["params"].get("_meta").is_none()), "none belongs to the subscription");
}

/// Line 136: a `ping` is answered at once with an empty result, even before the handshake and while others wait.
#[tokio::test]
async fn line_136_pings_are_answered() {
    for version in SESSIONS {
        let mut wire =
            Wire::with(example().build(), version, serde_json::from_value(able()).unwrap(), Limits::default());
        wire.send(&request("early", "ping", &json!({})));
        assert_eq!(wire.ready(), [result(&json!({ "id": "early" }), json!({}))], "{version}");
        wire.open().await;
        for _ in 0..100 {
            wire.start("tools/call", json!({ "name": "stuck" }));
        }
        wire.send(&json!({ "jsonrpc": "2.0", "id": "busy", "method": "ping" }));
        assert_eq!(wire.ready(), [result(&json!({ "id": "busy" }), json!({}))], "{version}");

        let raw = RawServer::speaking(version, everything(), |_| vec![]);
        let _client = client(version)
            .on_sample(|_| async { pending::<Result<CreateMessageResult, _>>().await })
            .connect(raw.clone())
            .await
            .unwrap();
        raw.push(&request("slow", "sampling/createMessage", &json!({ "messages": [], "maxTokens": 1 })));
        raw.push(&request("p", "ping", &json!({})));
        settle().await;
        let answers: Vec<Value> = raw.seen().into_iter().filter(is_response).collect();
        assert_eq!(answers, [result(&json!({ "id": "p" }), json!({}))], "{version}");
    }
}

/// Line 137: a client can ask at any rate whether the server is there, and hears of it when it is not. How often is for
/// the program to say; where there is no `ping`, that is said too.
#[tokio::test(start_paused = true)]
async fn line_137_pings_at_any_rate() {
    for version in SESSIONS {
        let answers = Arc::new(AtomicUsize::new(3));
        let left = answers.clone();
        let raw = RawServer::speaking(version, everything(), move |m| match m["method"].as_str() {
            Some("ping") if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok() => {
                vec![result(m, json!({}))]
            }
            _ => vec![],
        });
        let client = client(version).timeout(Duration::from_secs(10)).connect(raw.clone()).await.unwrap();
        let mut beat = tokio::time::interval(Duration::from_secs(30));
        let start = tokio::time::Instant::now();
        let failure = loop {
            beat.tick().await;
            if let Err(error) = client.ping().await {
                break error;
            }
        };
        assert_eq!((failure.kind(), start.elapsed().as_secs()), (ErrorKind::Timeout, 100), "{version}");
        assert_eq!(raw.seen_of("ping").len(), 4, "{version}");
    }
    let raw = RawServer::speaking(STATELESS, everything(), |_| vec![]);
    let client = client(STATELESS).connect(raw.clone()).await.unwrap();
    assert_eq!(client.ping().await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(raw.seen_of("ping").len(), 0);
}
