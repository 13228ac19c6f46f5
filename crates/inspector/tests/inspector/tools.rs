//! What the page can do beside calls.

use std::sync::Arc;

use couplet_core::BoxFuture;
use couplet_inspector::{BenchOrder, Direction, Opening, Place, PlaceKind, Tap, recording};
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::kit::{Kit, Local};

#[tokio::test]
async fn a_request_is_compared_in_all_revisions() {
    let kit = Kit::new().await;
    kit.inspector.add(Local::new(), None);
    let order = json!({ "method": "tools/call", "params": { "name": "echo", "arguments": { "text": "hi" } } });
    let compared = kit.json("POST", "/api/targets/t1/compare", order).await;
    let columns = compared["columns"].as_array().unwrap();
    assert_eq!(columns.len(), ProtocolVersion::ALL.len());
    for (column, version) in columns.iter().zip(ProtocolVersion::ALL) {
        assert_eq!((column["revision"].as_str(), &column["ok"]), (Some(version.as_str()), &json!(true)), "{column}");
        let [request, answer] = ["request", "answer"]
            .map(|part| serde_json::from_str::<serde_json::Value>(column[part].as_str().unwrap()).unwrap());
        assert_eq!((&request["params"]["name"], &request["id"]), (&json!("echo"), &answer["id"]));
        assert_eq!(answer["result"]["content"][0]["text"], "hi");
    }
    let order = json!({ "method": "resources/list", "params": {} });
    let compared = kit.json("POST", "/api/targets/t1/compare", order).await;
    assert!(compared["columns"].as_array().unwrap().iter().all(|column| column["ok"] == false), "{compared}");
    let wrong = kit.send("POST", "/api/targets/t9/compare", r#"{"method":"x"}"#).await;
    assert_eq!(wrong.status.as_u16(), 404);
}

#[tokio::test]
async fn messages_are_validated() {
    let kit = Kit::new().await;
    let check = async |revision: &str, dir: &str, text: &str, answers: Option<&str>| {
        let order = json!({ "revision": revision, "dir": dir, "text": text, "answers": answers });
        kit.json("POST", "/api/validate", order).await
    };
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#;
    let found = check("2025-11-25", "out", call, None).await;
    assert_eq!(
        (&found["findings"][0]["path"], &found["findings"][0]["severity"]),
        (&json!("/params/name"), &json!("error"))
    );
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
    assert_eq!(check("2025-11-25", "in", answer, Some("tools/list")).await, json!({ "findings": [] }));
    assert_ne!(check("2025-11-25", "in", answer, Some("tools/call")).await, json!({ "findings": [] }));
    assert!(check("2025-11-25", "in", "oops", None).await["findings"][0]["message"].as_str().unwrap().contains("JSON"));
    assert!(check("1", "in", answer, None).await["error"].is_string());
}

/// The page has only the beginning of a message above 1 MB.
#[tokio::test]
async fn a_message_of_the_feed_is_validated_whole() {
    let kit = Kit::new().await;
    kit.inspector.add(Local::new(), None);
    kit.until("connected").await;
    kit.call("big", json!({})).await.text().await;
    let events = kit.send("GET", "/api/feed?after=0", "").await.events(|event| event["cut"] == true).await;
    let seq = events.last().unwrap()["seq"].as_u64().unwrap();
    for (method, is_valid) in [("tools/call", true), ("tools/list", false)] {
        let order = json!({ "revision": "2026-07-28", "dir": "in", "seq": seq, "answers": method });
        let found = kit.json("POST", "/api/validate", order).await;
        assert_eq!(found["findings"].as_array().map(Vec::is_empty), Some(is_valid), "{method}: {found}");
    }
    for (order, status) in
        [(json!({ "revision": "2026-07-28", "seq": 999_999 }), 404), (json!({ "revision": "2026-07-28" }), 400)]
    {
        assert_eq!(kit.send("POST", "/api/validate", order.to_string()).await.status.as_u16(), status, "{order}");
    }
}

#[tokio::test]
async fn messages_are_exported() {
    let kit = Kit::new().await;
    kit.inspector.add(Local::new(), None);
    kit.until("connected").await;
    kit.call("big", json!({})).await.text().await;
    kit.call("echo", json!({ "text": "exported" })).await.text().await;
    let lines = kit.send("GET", "/api/export?format=jsonl&target=t1", "").await.text().await;
    let entries: Vec<_> = lines.lines().map(|line| recording::parse(line).unwrap()).collect();
    assert!(entries.iter().all(|entry| entry.is_json && entry.session == "t1"));
    assert_eq!(entries[0].direction, Direction::Out);
    assert!(entries.iter().any(|entry| entry.direction == Direction::In && entry.text.contains("exported")));
    assert_eq!(kit.send("GET", "/api/export?format=jsonl&target=t2", "").await.text().await, "");
    let archive = kit.send("GET", "/api/export?format=har", "").await.json().await;
    let entries = archive["log"]["entries"].as_array().unwrap();
    let entry =
        entries.iter().find(|entry| entry["request"]["postData"]["text"].as_str().unwrap().contains("exported"));
    assert!(entry.unwrap()["response"]["content"]["text"].as_str().unwrap().contains("exported"));
    // Each message is there, of both directions.
    let all = archive["log"]["_messages"].as_array().unwrap();
    assert_eq!(all.len(), lines.lines().count());
    assert!(all.iter().any(|line| line["message"]["method"] == "notifications/progress"), "{all:?}");
    assert!(entries.iter().all(|entry| entry["comment"].as_str().unwrap().contains("stdio")));
    let reply = kit.send("GET", "/api/export?format=md", "").await;
    assert_eq!(reply.headers["content-disposition"], "attachment; filename=\"messages.md\"");
    assert!(reply.text().await.contains("→ `tools/call`"));
    assert_eq!(kit.send("GET", "/api/export?format=exe", "").await.status.as_u16(), 400);
}

#[tokio::test]
async fn what_the_program_lacks_is_said() {
    let kit = Kit::new().await;
    kit.inspector.add(Local::new(), None);
    let lint = kit.send("POST", "/api/targets/t1/lint", "").await;
    assert_eq!((lint.status.as_u16(), lint.json().await), (400, json!({ "error": "lint is not available here" })));
    let bench = kit.send("POST", "/api/targets/t1/bench", r#"{"concurrency":0}"#).await;
    assert_eq!(bench.status.as_u16(), 400);
    let bench = kit.send("POST", "/api/targets/t1/bench", r#"{"seconds":1}"#).await.events(|_| false).await;
    assert_eq!(bench, [json!({ "error": "measurements are not available here" })]);
    let login = kit.json("GET", "/api/targets/t1/login", json!({})).await;
    assert_eq!(login, json!({ "steps": [], "authorize_url": null }));
}

/// A server whose measurements say which revision they were made in.
struct Measured(Arc<Local>);

impl Place for Measured {
    fn name(&self) -> String {
        self.0.name()
    }

    fn target(&self) -> String {
        self.0.target()
    }

    fn kind(&self) -> PlaceKind {
        self.0.kind()
    }

    fn open(&self, revision: Option<ProtocolVersion>, tap: &Tap) -> Result<Opening, String> {
        self.0.open(revision, tap)
    }

    fn bench(&self, order: BenchOrder, _: mpsc::Sender<Value>) -> BoxFuture<'static, Result<Value, String>> {
        Box::pin(std::future::ready(Ok(json!(order.revision.map(ProtocolVersion::as_str)))))
    }
}

#[tokio::test]
async fn a_load_is_measured_in_the_revision_of_the_target() {
    let kit = Kit::new().await;
    kit.inspector.add(Arc::new(Measured(Local::new())), None);
    for (asked, measured) in
        [("auto", json!(null)), ("2025-03-26", json!("2025-03-26")), ("2026-07-28", json!("2026-07-28"))]
    {
        kit.json("POST", "/api/targets/t1/connect", json!({ "revision": asked })).await;
        let bench = kit.send("POST", "/api/targets/t1/bench", r#"{"seconds":1}"#).await.events(|_| false).await;
        assert_eq!(bench, [json!({ "result": measured })], "{asked}");
    }
}
