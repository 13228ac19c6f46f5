//! Servers that crash and come back, in both eras. Time is paused: delays cost none.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::{Backoff, Change, Client, ConnectionState, Ended, Filter, Reconnecting};
use couplet_core::{BoxFuture, Connect, Connected, Error, ErrorKind, Inbound, Limits};
use couplet_types::{LoggingLevel, ProtocolVersion};
use serde_json::{Value, json};

use crate::script::{Say, Script, notification, result, settle};

const STATELESS: ProtocolVersion = ProtocolVersion::V2026_07_28;
const SESSION: ProtocolVersion = ProtocolVersion::V2025_11_25;
const BOTH: [ProtocolVersion; 2] = [STATELESS, SESSION];

fn capabilities() -> Value {
    json!({ "logging": {}, "tools": { "listChanged": true }, "resources": { "subscribe": true, "listChanged": true } })
}

/// A server whose tool `crash` ends it before an answer.
fn crashing(version: ProtocolVersion) -> Script {
    let good = Script::speaking(version, capabilities(), |m| match m["method"].as_str() {
        Some("subscriptions/listen") => {
            let of = json!({ "io.modelcontextprotocol/subscriptionId": m["id"] });
            let params = json!({ "notifications": m["params"]["notifications"], "_meta": of });
            vec![notification("notifications/subscriptions/acknowledged", params)]
        }
        Some("tools/call") => {
            vec![result(m, json!({ "resultType": "complete", "content": [{ "type": "text", "text": "done" }] }))]
        }
        Some(method) if !method.starts_with("notifications/") => vec![result(m, json!({ "resultType": "complete" }))],
        _ => vec![],
    });
    Script::new(move |m| if m["params"]["name"] == "crash" { Say::Exit } else { good.say(m) })
}

/// The methods that a server saw, without those of the beginning.
fn methods(script: &Script, from: usize) -> Vec<String> {
    script.seen()[from..].iter().filter_map(|m| m["method"].as_str().map(str::to_owned)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_crash_fails_what_was_sent_and_nothing_else() {
    for version in BOTH {
        let script = crashing(version);
        let client = Client::new("test", "1").connect(Reconnecting::new(script.clone())).await.unwrap();
        assert_eq!(client.call("work", ()).await.unwrap().text(), "done");
        let lost = client.call("crash", ()).await.unwrap_err();
        assert!(lost.is_closed() && !lost.is_unsent(), "{lost:?}");
        assert_eq!(lost.to_string(), "`tools/call` may have been executed: the server exited");
        assert!(!client.is_closed());
        // Nothing is connected yet: these wait.
        assert_eq!(script.connections(), 1);
        let (one, two) = tokio::join!(client.call("work", ()), client.call("work", ()));
        assert_eq!((one.unwrap().text(), two.unwrap().text()), ("done".into(), "done".into()));
        assert_eq!(script.connections(), 2);
        let ids: Vec<_> = script.seen_of("tools/call").iter().map(|m| m["id"].clone()).collect();
        assert_eq!(ids.len(), 4, "{version}: each was sent once: {ids:?}");
        client.close().await.unwrap();
        assert!(client.is_closed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_is_restored_before_anything_else_is_sent() {
    let script = crashing(SESSION);
    let client = Client::new("test", "1").connect(Reconnecting::new(script.clone())).await.unwrap();
    client.set_log_level(LoggingLevel::Warning).await.unwrap();
    let mut changes = client.listen(Filter::new().tools().resource("file:///a")).await.unwrap();
    let gone = client.listen(Filter::new().resource("file:///b")).await.unwrap();
    drop(gone);
    settle().await;
    let before = script.seen().len();
    client.call("crash", ()).await.unwrap_err();
    client.call("work", ()).await.unwrap();
    let expected = [
        "tools/call",
        "initialize",
        "notifications/initialized",
        "logging/setLevel",
        "resources/subscribe",
        "tools/call",
    ];
    assert_eq!(methods(&script, before), expected);
    assert_eq!(script.seen_of("initialize")[0]["params"], script.seen_of("initialize")[1]["params"]);
    assert_eq!(script.seen_of("logging/setLevel")[1]["params"]["level"], "warning");
    assert_eq!(script.seen_of("resources/subscribe").last().unwrap()["params"]["uri"], "file:///a");
    // Everything may have changed meanwhile, and what changes later is heard as before.
    assert_eq!(changes.next().await, Some(Change::Tools));
    assert_eq!(changes.next().await, Some(Change::Updated("file:///a".into())));
    script.push(notification("notifications/tools/list_changed", json!({})));
    assert_eq!(changes.next().await, Some(Change::Tools));
}

#[tokio::test(start_paused = true)]
async fn a_subscription_without_a_session_goes_on() {
    let script = crashing(STATELESS);
    let client = Client::new("test", "1").connect(Reconnecting::new(script.clone())).await.unwrap();
    let mut changes = client.listen(Filter::new().tools().resource("file:///a")).await.unwrap();
    let gone = client.listen(Filter::new().prompts()).await.unwrap();
    drop(gone);
    settle().await;
    client.call("crash", ()).await.unwrap_err();
    assert_eq!(changes.next().await, Some(Change::Tools));
    assert_eq!(changes.next().await, Some(Change::Updated("file:///a".into())));
    let listens = script.seen_of("subscriptions/listen");
    assert_eq!(listens.len(), 3, "what was dropped is not restored: {listens:?}");
    let of = json!({ "io.modelcontextprotocol/subscriptionId": listens[2]["id"] });
    script.push(notification("notifications/tools/list_changed", json!({ "_meta": of })));
    assert_eq!(changes.next().await, Some(Change::Tools));
    // The end of the connection is the end of the subscription.
    client.close().await.unwrap();
    assert_eq!(changes.next().await, None);
    assert!(matches!(changes.ended(), Some(Ended::Failed(error)) if error.is_closed()));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_in_good_order_ends_no_subscription() {
    let script = crashing(STATELESS);
    let client = Client::new("test", "1").connect(Reconnecting::new(script.clone())).await.unwrap();
    let mut changes = client.listen(Filter::new().tools()).await.unwrap();
    let end = |at: usize| {
        let id = &script.seen_of("subscriptions/listen")[at]["id"];
        script.push(json!({ "jsonrpc": "2.0", "id": id, "result": { "resultType": "complete" } }));
    };
    end(0);
    settle().await;
    client.call("crash", ()).await.unwrap_err();
    assert_eq!(changes.next().await, Some(Change::Tools));
    // One that goes on and ends a subscription means it.
    end(1);
    assert_eq!(changes.next().await, None);
    assert!(matches!(changes.ended(), Some(Ended::ByServer)));
    client.call("work", ()).await.unwrap();
    assert_eq!(script.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_request_holds_while_there_is_no_connection() {
    let script = crashing(STATELESS);
    let backoff = Backoff::new().initial(Duration::from_secs(3600)).max(Duration::from_secs(3600));
    let target = Reconnecting::new(script.clone()).backoff(backoff);
    let client = Client::new("test", "1").timeout(Duration::from_secs(5)).connect(target).await.unwrap();
    client.call("crash", ()).await.unwrap_err();
    assert!(client.call("work", ()).await.unwrap_err().is_timeout());
    // It is not sent later.
    tokio::time::sleep(Duration::from_secs(7200)).await;
    assert_eq!((script.connections(), script.seen_of("tools/call").len()), (2, 1));
    client.call("crash", ()).await.unwrap_err();
    client.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requests_can_fail_at_once_instead_of_waiting() {
    let script = crashing(STATELESS);
    let target = Reconnecting::new(script.clone()).fail_fast();
    let client = Client::new("test", "1").connect(target).await.unwrap();
    client.call("crash", ()).await.unwrap_err();
    let failed = client.call("work", ()).await.unwrap_err();
    assert!(failed.is_closed() && failed.is_unsent(), "{failed:?}");
    assert!(failed.to_string().starts_with("there is no connection while reconnecting: "), "{failed}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.call("work", ()).await.unwrap();
}

/// A target that can be connected to a number of times.
struct Times(Script, AtomicUsize);

impl Connect for Times {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        if self.1.fetch_sub(1, Ordering::Relaxed) == 0 {
            self.1.store(0, Ordering::Relaxed);
            return Box::pin(async { Err(Error::new(ErrorKind::Transport, "it does not start")) });
        }
        self.0.connect(inbound, limits)
    }
}

#[tokio::test(start_paused = true)]
async fn after_too_many_failures_the_server_is_given_up() {
    for version in BOTH {
        let states = Arc::new(Mutex::new(Vec::new()));
        let told = states.clone();
        let target = Reconnecting::new(Times(crashing(version), AtomicUsize::new(2)))
            .backoff(Backoff::new().attempts(3))
            .on_state(move |state| {
                told.lock().unwrap().push(match state {
                    ConnectionState::Restored => "restored".to_owned(),
                    ConnectionState::Lost { failures, delay, .. } => {
                        assert!(*delay <= Duration::from_secs(1));
                        format!("lost {failures}")
                    }
                    ConnectionState::GivenUp(error) => error.to_string(),
                    _ => String::new(),
                });
            });
        let client = Client::new("test", "1").connect(target).await.unwrap();
        client.call("crash", ()).await.unwrap_err();
        let mut changes = client.listen(Filter::new().tools()).await.unwrap();
        client.call("crash", ()).await.unwrap_err();
        let waiting = client.call("work", ()).await.unwrap_err();
        let expected = "the server is given up after 4 failures in a row: it does not start";
        assert_eq!(waiting.to_string(), expected);
        assert_eq!(client.closed().await.unwrap_err().to_string(), expected);
        assert!(client.is_closed());
        while changes.next().await.is_some() {}
        assert!(matches!(changes.ended(), Some(Ended::Failed(_))));
        assert!(client.call("work", ()).await.unwrap_err().is_closed());
        let states = states.lock().unwrap();
        assert_eq!(*states, ["lost 1", "restored", "lost 2", "lost 3", expected], "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_lasts_is_a_new_beginning() {
    let script = crashing(STATELESS);
    let target = Reconnecting::new(script.clone()).backoff(Backoff::new().attempts(1));
    let client = Client::new("test", "1").connect(target).await.unwrap();
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(31)).await;
        client.call("crash", ()).await.unwrap_err();
    }
    client.call("work", ()).await.unwrap();
    client.call("crash", ()).await.unwrap_err();
    assert!(client.closed().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_back_as_another_one_is_given_up() {
    let updated = Arc::new(AtomicBool::new(false));
    let (good, now) = (crashing(SESSION), updated.clone());
    let script = Script::new(move |m| match m["method"].as_str() {
        Some("initialize") if now.load(Ordering::Relaxed) => Say::Send(vec![result(
            m,
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": { "name": "s", "version": "2" } }),
        )]),
        _ => good.say(m),
    });
    let client = Client::new("test", "1").connect(Reconnecting::new(script.clone())).await.unwrap();
    updated.store(true, Ordering::Relaxed);
    client.call("crash", ()).await.unwrap_err();
    let ended = client.closed().await.unwrap_err();
    assert_eq!(ended.kind(), ErrorKind::Version);
    assert!(ended.to_string().contains("`2025-06-18` instead of `2025-11-25`"), "{ended}");
    assert_eq!(script.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn closing_or_dropping_the_client_ends_the_attempts() {
    for by_drop in [false, true] {
        let script = crashing(STATELESS);
        let (client, driver) =
            Client::new("test", "1").connect_with_driver(Reconnecting::new(script.clone())).await.unwrap();
        let driver = tokio::spawn(driver);
        client.call("crash", ()).await.unwrap_err();
        if by_drop {
            drop(client);
        } else {
            client.close().await.unwrap();
        }
        driver.await.unwrap().unwrap();
        assert_eq!(script.connections(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_connection_fails_as_it_would_without() {
    let nothing = Reconnecting::new(Times(crashing(STATELESS), AtomicUsize::new(0)));
    assert_eq!(Client::new("test", "1").connect(nothing).await.unwrap_err().kind(), ErrorKind::Transport);
    // A server that exits when it does not know the first message is connected to once more, and at once.
    let old = crashing(SESSION);
    let script = Script::new(move |m| if m["method"] == "server/discover" { Say::Exit } else { old.say(m) });
    let client = Client::new("test", "1").connect(Reconnecting::new(script.clone())).await.unwrap();
    assert_eq!(script.connections(), 2);
    client.call("crash", ()).await.unwrap_err();
    client.call("work", ()).await.unwrap();
    assert_eq!(script.connections(), 3);
}

#[tokio::test]
async fn a_setup_is_used_for_many_connections_of_many_kinds() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let setup = Client::new("test", "1").roots([]).on_elicit(move |ask| {
        counter.fetch_add(1, Ordering::Relaxed);
        async move { ask.decline() }
    });
    let mut borrowed = crashing(STATELESS);
    let one = setup.clone().connect(&mut borrowed).await.unwrap();
    let boxed: Vec<Box<dyn Connect>> = vec![Box::new(crashing(SESSION)), Box::new(crashing(STATELESS))];
    for target in boxed {
        let client = setup.clone().connect(target).await.unwrap();
        // Each has roots of its own.
        client.set_roots([couplet_types::Root::new("file:///a")]).await.unwrap();
        assert_eq!(client.call("work", ()).await.unwrap().text(), "done");
    }
    let declared = &borrowed.seen_of("server/discover")[0]["params"]["_meta"];
    assert!(declared["io.modelcontextprotocol/clientCapabilities"]["elicitation"].is_object(), "{declared}");
    assert!(!one.is_closed());
    one.call("crash", ()).await.unwrap_err();
    one.closed().await.unwrap();
    assert!(one.is_closed());
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}
