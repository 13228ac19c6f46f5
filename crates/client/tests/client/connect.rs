//! How a client and a server come to speak the same revision.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use couplet_client::Client;
use couplet_core::ErrorKind;
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

use crate::script::{Say, Script, error, result, settle};

const LATEST: &str = "2026-07-28";

fn discovered(request: &Value, versions: &[&str]) -> Value {
    result(request, json!({ "resultType": "complete", "supportedVersions": versions, "capabilities": {} }))
}

fn initialized(request: &Value, version: &str) -> Value {
    let server = json!({ "name": "s", "version": "1" });
    result(request, json!({ "protocolVersion": version, "capabilities": {}, "serverInfo": server }))
}

/// Connects and compares what was agreed on, and what the server saw, with what was expected.
async fn check(script: Script, versions: &[ProtocolVersion], agreed: Result<&str, ErrorKind>, methods: &[&str]) {
    let connected = Client::new("test", "1").versions(versions.iter().copied()).connect(script.clone()).await;
    settle().await;
    match (&connected, agreed) {
        (Ok(client), Ok(version)) => assert_eq!(client.server().version.as_str(), version),
        (Err(e), Err(kind)) => assert_eq!(e.kind(), kind, "{e}"),
        other => panic!("{other:?}"),
    }
    let seen: Vec<_> = script.seen().iter().map(|m| m["method"].as_str().unwrap_or("answer").to_owned()).collect();
    assert_eq!(seen, methods);
    let ids: Vec<_> = script.seen().iter().filter_map(|m| m["id"].as_i64()).collect();
    assert!(script.connections() > 1 || ids.windows(2).all(|w| w[0] < w[1]), "{ids:?}");
}

const HANDSHAKE: &[&str] = &["server/discover", "initialize", "notifications/initialized"];

#[tokio::test]
async fn a_stateless_server() {
    let script = Script::new(|m| Say::Send(vec![discovered(m, &[LATEST])]));
    check(script, ProtocolVersion::ALL, Ok(LATEST), &["server/discover"]).await;
}

#[tokio::test]
async fn what_a_server_serves_is_a_matter_of_the_revision_and_of_its_capabilities() {
    for &version in ProtocolVersion::ALL {
        let script = Script::new(|m| {
            Say::Send(match m["method"].as_str() {
                Some("server/discover") => vec![discovered(m, &[LATEST])],
                Some("initialize") => vec![initialized(m, m["params"]["protocolVersion"].as_str().unwrap())],
                _ => vec![],
            })
        });
        let client = Client::new("test", "1").versions([version]).connect(script).await.unwrap();
        let modern = version == ProtocolVersion::V2026_07_28;
        let served = ["ping", "server/discover", "tools/list", "nothing"].map(|method| client.serves(method));
        assert_eq!(served, [!modern, modern, false, false], "{version}");
    }
}

#[tokio::test]
async fn a_server_that_speaks_everything_agrees_on_the_latest_of_the_client() {
    for &version in ProtocolVersion::ALL {
        let script = Script::new(|m| {
            Say::Send(match m["method"].as_str() {
                Some("server/discover") => {
                    vec![discovered(m, &ProtocolVersion::ALL.iter().map(|v| v.as_str()).collect::<Vec<_>>())]
                }
                Some("initialize") => vec![initialized(m, m["params"]["protocolVersion"].as_str().unwrap())],
                _ => vec![],
            })
        });
        let modern = version == ProtocolVersion::V2026_07_28;
        let methods: &[&str] = if modern { &HANDSHAKE[..1] } else { &HANDSHAKE[1..] };
        check(script, &[version], Ok(version.as_str()), methods).await;
    }
}

#[tokio::test]
async fn an_older_server_whatever_it_says_to_the_probe() {
    let odd: [fn(&Value) -> Value; 7] = [
        |m| error(m, -32601, "method not found"),
        |m| error(m, -32602, "invalid params"),
        |m| error(m, -32600, "not initialized"),
        |m| error(m, -32000, "server error"),
        |m| error(m, 0, "no"),
        |m| result(m, json!({})),
        |m| result(m, json!(null)),
    ];
    for answer in odd {
        for version in &ProtocolVersion::ALL[..4] {
            let script = Script::new(move |m| {
                Say::Send(match m["method"].as_str() {
                    Some("server/discover") => vec![answer(m)],
                    Some("initialize") => vec![initialized(m, version.as_str())],
                    _ => vec![],
                })
            });
            check(script, ProtocolVersion::ALL, Ok(version.as_str()), HANDSHAKE).await;
        }
    }
}

#[tokio::test]
async fn a_server_that_exits_at_the_probe_is_started_again_once() {
    let script = Script::new(|m| match m["method"].as_str() {
        Some("server/discover") => Say::Exit,
        Some("initialize") => Say::Send(vec![initialized(m, "2025-06-18")]),
        _ => Say::Send(vec![]),
    });
    check(script.clone(), ProtocolVersion::ALL, Ok("2025-06-18"), HANDSHAKE).await;
    assert_eq!(script.connections(), 2);

    let script = Script::new(|_| Say::Exit);
    check(script.clone(), ProtocolVersion::ALL, Err(ErrorKind::Closed), &HANDSHAKE[..2]).await;
    assert_eq!(script.connections(), 2);

    let script = Script::new(|_| Say::Exit);
    check(script.clone(), &[ProtocolVersion::V2026_07_28], Err(ErrorKind::Version), &HANDSHAKE[..1]).await;
    assert_eq!(script.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_silent() {
    let script = Script::new(|m| {
        Say::Send(match m["method"].as_str() {
            Some("initialize") => vec![initialized(m, "2025-11-25")],
            _ => vec![],
        })
    });
    let began = tokio::time::Instant::now();
    check(script.clone(), ProtocolVersion::ALL, Ok("2025-11-25"), HANDSHAKE).await;
    assert_eq!(began.elapsed(), Duration::from_secs(10));
    assert_eq!(script.connections(), 1);

    let script = Script::new(|_| Say::Send(vec![]));
    check(script, ProtocolVersion::ALL, Err(ErrorKind::Timeout), &HANDSHAKE[..2]).await;
}

/// A server that takes long to start has read everything that was sent meanwhile before it answers. One of the stateless era
/// then refuses the handshake, and names what it speaks.
#[tokio::test(start_paused = true)]
async fn a_server_that_starts_slowly() {
    let slow = |late: usize| {
        let probes = AtomicUsize::new(0);
        Script::new(move |m| {
            Say::Send(match m["method"].as_str() {
                Some("server/discover") if probes.fetch_add(1, Ordering::Relaxed) >= late => {
                    vec![discovered(m, &[LATEST])]
                }
                Some("initialize") => {
                    let data = json!({ "supported": [LATEST], "requested": "2025-11-25" });
                    let error = json!({ "code": -32022, "message": "no", "data": data });
                    vec![json!({ "jsonrpc": "2.0", "id": m["id"], "error": error })]
                }
                _ => vec![],
            })
        })
    };
    let again = ["server/discover", "initialize", "server/discover"];
    check(slow(1), ProtocolVersion::ALL, Ok(LATEST), &again).await;
    // It is asked twice, and not for ever.
    check(slow(9), ProtocolVersion::ALL, Err(ErrorKind::Version), &again).await;

    // A client that has nothing to fall back on waits as long as for anything else, and says what it waited for.
    let script = Script::new(|_| Say::Send(vec![]));
    let began = tokio::time::Instant::now();
    check(script.clone(), &[ProtocolVersion::V2026_07_28], Err(ErrorKind::Timeout), &again[..1]).await;
    assert_eq!(began.elapsed(), Duration::from_secs(60));
}

#[tokio::test]
async fn a_server_that_names_what_it_speaks_instead() {
    let refuse = |supported: &'static [&'static str]| {
        Script::new(move |m| {
            let data = json!({ "supported": supported, "requested": LATEST });
            Say::Send(match m["method"].as_str() {
                Some("server/discover") => {
                    let error = json!({ "code": -32022, "message": "no", "data": data });
                    vec![json!({ "jsonrpc": "2.0", "id": m["id"], "error": error })]
                }
                Some("initialize") => vec![initialized(m, "2025-11-25")],
                _ => vec![],
            })
        })
    };
    check(refuse(&["2025-11-25"]), ProtocolVersion::ALL, Ok("2025-11-25"), HANDSHAKE).await;
    check(refuse(&["2099-01-01"]), ProtocolVersion::ALL, Err(ErrorKind::Version), &HANDSHAKE[..1]).await;
    check(refuse(&[LATEST]), ProtocolVersion::ALL, Err(ErrorKind::Version), &HANDSHAKE[..1]).await;
}

#[tokio::test]
async fn other_errors_of_the_stateless_era_are_no_reason_to_fall_back() {
    for code in [-32020, -32021] {
        let script = Script::new(move |m| Say::Send(vec![error(m, code, "no")]));
        check(script, ProtocolVersion::ALL, Err(ErrorKind::Rpc), &HANDSHAKE[..1]).await;
    }
}

#[tokio::test]
async fn a_revision_that_the_client_does_not_speak() {
    let script = Script::new(|m| {
        Say::Send(match m["method"].as_str() {
            Some("initialize") => vec![initialized(m, "2024-11-05")],
            _ => vec![],
        })
    });
    check(script, &[ProtocolVersion::V2025_11_25], Err(ErrorKind::Version), &HANDSHAKE[1..2]).await;
    let none = Script::new(|_| Say::Send(vec![]));
    check(none, &[], Err(ErrorKind::Config), &[]).await;
}

#[tokio::test]
async fn the_handshake_says_what_the_client_is_and_can_do() {
    for (version, capabilities) in [
        ("2024-11-05", json!({ "sampling": {}, "roots": { "listChanged": true } })),
        ("2025-06-18", json!({ "sampling": {}, "elicitation": {}, "roots": { "listChanged": true } })),
        (
            "2025-11-25",
            json!({ "sampling": { "tools": {} }, "elicitation": { "form": {} }, "roots": { "listChanged": true } }),
        ),
    ] {
        let script = Script::speaking(version.parse().unwrap(), json!({}), |_| vec![]);
        let client = Client::new("test", "1")
            .versions([version.parse().unwrap()])
            .on_elicit(|ask| async move { ask.cancel() })
            .on_sample(|_| async { Err(couplet_types::RpcError::internal("no")) })
            .sampling_tools(true)
            .roots([])
            .connect(script.clone())
            .await
            .unwrap();
        let params = &script.seen_of("initialize")[0]["params"];
        assert_eq!(params["protocolVersion"], version);
        assert_eq!(params["clientInfo"], json!({ "name": "test", "version": "1" }));
        assert_eq!(params["capabilities"], capabilities);
        assert_eq!(client.server().info.as_ref().unwrap().name, "script");
    }
}

#[tokio::test]
async fn closing_ends_the_connection_and_everything_after_it() {
    let script = Script::speaking(ProtocolVersion::V2025_11_25, json!({ "tools": {} }), |_| vec![]);
    let client = Client::new("test", "1").connect(script).await.unwrap();
    let (mut notifications, other) = (client.notifications(), client.clone());
    let waiting = tokio::spawn(async move { other.call("slow", ()).await });
    settle().await;
    client.close().await.unwrap();
    assert!(waiting.await.unwrap().unwrap_err().is_closed());
    assert!(client.call("late", ()).await.unwrap_err().is_closed());
    assert!(notifications.next().await.is_none());
    client.close().await.unwrap();
}

#[tokio::test]
async fn the_last_client_that_is_dropped_closes_the_connection() {
    let script = Script::speaking(ProtocolVersion::V2025_11_25, json!({}), |_| vec![]);
    let (client, driver) = Client::new("test", "1").connect_with_driver(script).await.unwrap();
    let driver = tokio::spawn(driver);
    let other = client.clone();
    drop(client);
    settle().await;
    assert!(!driver.is_finished());
    drop(other);
    driver.await.unwrap().unwrap();
}
