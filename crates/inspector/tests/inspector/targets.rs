//! Targets and their states.

use couplet_inspector::{Direction, PlaceKind};
use couplet_types::ProtocolVersion;
use serde_json::json;

use crate::kit::{Kit, Local};

#[tokio::test]
async fn a_target_is_called_in_every_revision() {
    let kit = Kit::new().await;
    kit.inspector.add(Local::new(), None);
    let first = kit.until("connected").await;
    assert_eq!((first["name"].as_str(), first["asked"].as_str()), (Some("local"), Some("auto")));
    assert_eq!((first["server"]["name"].as_str(), first["instructions"].as_str()), (Some("local"), Some("Be kind.")));
    assert_eq!(first["capabilities"]["tools"], json!({ "listChanged": true }));
    for version in ProtocolVersion::ALL {
        let asked = kit.json("POST", "/api/targets/t1/connect", json!({ "revision": version.as_str() })).await;
        assert_eq!((asked["state"].as_str(), &asked["revision"]), (Some("connecting"), &json!(null)));
        let state = kit.until("connected").await;
        assert_eq!(
            (state["revision"].as_str(), state["asked"].as_str()),
            (Some(version.as_str()), Some(version.as_str()))
        );
        let answer = kit.call("echo", json!({ "text": version.as_str() })).await.json().await;
        assert_eq!(answer["result"]["content"][0]["text"], version.as_str(), "{answer}");
        assert!(kit.until("connected").await["latency_ms"].as_f64().is_some());
    }
    let wrong = kit.send("POST", "/api/targets/t1/connect", r#"{"revision":"1999-01-01"}"#).await;
    assert_eq!(wrong.status.as_u16(), 400);
    assert!(wrong.text().await.contains("there is no revision `1999-01-01`"));
}

/// A page calls as soon as it has asked for another revision.
#[tokio::test]
async fn a_call_waits_for_the_connection() {
    let kit = Kit::new().await;
    kit.inspector.add(Local::new(), None);
    for version in ProtocolVersion::ALL {
        kit.json("POST", "/api/targets/t1/connect", json!({ "revision": version.as_str() })).await;
        let answer = kit.call("echo", json!({ "text": "at once" })).await.json().await;
        assert_eq!(answer["result"]["content"][0]["text"], "at once", "{version}: {answer}");
    }
}

#[tokio::test]
async fn a_server_that_dies_is_shown_so_and_comes_back() {
    let kit = Kit::new().await;
    let local = Local::new();
    kit.inspector.add(local.clone(), None);
    kit.until("connected").await;
    local.kill();
    let state = kit.until("reconnecting").await;
    assert!(state["retry_ms"].as_u64().is_some_and(|pause| pause > 0), "{state}");
    let refused = kit.call("echo", json!({ "text": "x" })).await;
    assert_eq!(refused.status.as_u16(), 503);
    assert!(refused.text().await.contains("not connected"));
    local.revive();
    let state = kit.until("connected").await;
    assert_eq!(state["retry_ms"], json!(null));
    let answer = kit.call("echo", json!({ "text": "again" })).await.json().await;
    assert_eq!(answer["result"]["content"][0]["text"], "again");
    // The feed has each of the states, in their order.
    let events = kit.send("GET", "/api/feed?after=0", "").await;
    let events = events.events(|event| event["text"].as_str().is_some_and(|text| text.contains("\"again\""))).await;
    let states = events.iter().filter(|event| event["kind"] == "state").map(|event| event["state"]["state"].as_str());
    let states: Vec<_> = states.flatten().collect();
    assert_eq!(states[..4], ["connecting", "connected", "reconnecting", "connecting"], "{states:?}");
}

#[tokio::test]
async fn a_server_that_does_not_start_has_failed() {
    let kit = Kit::new().await;
    let local = Local::new();
    local.kill();
    kit.inspector.add(local.clone(), None);
    let state = kit.until("failed").await;
    assert!(state["detail"].as_str().is_some_and(|detail| detail.contains("its last words: no luck")), "{state}");
    local.revive();
    kit.json("POST", "/api/targets/t1/connect", json!({})).await;
    kit.until("connected").await;
}

#[tokio::test]
async fn targets_are_added_and_removed() {
    let kit = Kit::new().await;
    assert_eq!(kit.json("GET", "/api/targets", json!({})).await, json!({ "targets": [] }));
    let known = kit.json("GET", "/api/known", json!({})).await;
    assert_eq!(known["servers"][0]["target"], "local --stdio");
    let wrong = kit.send("POST", "/api/targets", r#"{"target":"elsewhere"}"#).await;
    assert_eq!((wrong.status.as_u16(), wrong.json().await), (400, json!({ "error": "`elsewhere` is nowhere" })));
    let added = kit.json("POST", "/api/targets", json!({ "target": "local", "revision": "auto" })).await;
    assert_eq!((added["id"].as_str(), added["kind"].as_str()), (Some("t1"), Some("command")));
    kit.json("POST", "/api/targets", json!({ "target": "local" })).await;
    kit.until("connected").await;
    assert_eq!(kit.send("DELETE", "/api/targets/t1", "").await.status.as_u16(), 200);
    assert_eq!(kit.send("DELETE", "/api/targets/t1", "").await.status.as_u16(), 404);
    assert_eq!(kit.call("echo", json!({})).await.status.as_u16(), 404);
    assert_eq!(kit.json("GET", "/api/targets", json!({})).await["targets"][0]["id"], "t2");
}

#[tokio::test]
async fn a_passive_target_shows_what_it_was_given() {
    let kit = Kit::new().await;
    let target = kit.inspector.add_passive("recorded", "a.jsonl", PlaceKind::Recording);
    target.message(Direction::Out, r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#);
    target.message(
        Direction::In,
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
    );
    target.ended("a recording of 2 messages");
    let state = kit.until("ended").await;
    assert_eq!((state["revision"].as_str(), state["kind"].as_str()), (Some("2025-06-18"), Some("recording")));
    assert_eq!(kit.send("POST", "/api/targets/t1/connect", "{}").await.status.as_u16(), 400);
    assert_eq!(kit.call("echo", json!({})).await.status.as_u16(), 503);
}

#[tokio::test]
async fn the_server_is_asked_for_the_level_that_the_page_wants() {
    let kit = Kit::new().await;
    let early = kit.send("POST", "/api/targets/t1/logs", r#"{"level":"error"}"#).await;
    assert_eq!(early.status.as_u16(), 404);
    kit.inspector.add(Local::new(), None);
    kit.until("connected").await;
    let wrong = kit.send("POST", "/api/targets/t1/logs", r#"{"level":"loud"}"#).await;
    assert_eq!(wrong.status.as_u16(), 400);
    // Twice each, because requests of the same caller are encoded once.
    for level in ["error", "warning"] {
        let answer = kit.send("POST", "/api/targets/t1/logs", json!({ "level": level }).to_string()).await;
        let (status, text) = (answer.status.as_u16(), answer.text().await);
        assert_eq!(status, 200, "{text}");
        for _ in 0..2 {
            kit.call("echo", json!({ "text": level })).await.json().await;
        }
        let sent = kit.send("GET", "/api/export?format=jsonl", "").await.text().await;
        let calls: Vec<_> = sent.lines().filter(|line| line.contains("tools/call")).collect();
        let wanted = format!(r#""io.modelcontextprotocol/logLevel":"{level}""#);
        assert!(calls.len() >= 2 && calls[calls.len() - 2..].iter().all(|line| line.contains(&wanted)), "{calls:?}");
    }
}
