//! The feed of messages.

use serde_json::json;

use crate::kit::{Kit, Local};

#[tokio::test]
async fn messages_of_both_directions_are_true_to_the_wire() {
    let kit = Kit::new().await;
    kit.inspector.add(Local::new(), None);
    kit.until("connected").await;
    kit.call("echo", json!({ "text": "hello" })).await.text().await;
    let events = kit.send("GET", "/api/feed?after=0", "").await;
    let is_answer = |event: &serde_json::Value| {
        event["dir"] == "in" && event["text"].as_str().is_some_and(|text| text.contains("\"text\":\"hello\""))
    };
    let events = events.events(is_answer).await;
    let seqs: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(seqs.windows(2).all(|pair| pair[1] == pair[0] + 1), "{seqs:?}");
    let answer = events.last().unwrap();
    let text = answer["text"].as_str().unwrap();
    assert_eq!((answer["size"].as_u64(), answer["cut"].as_bool()), (Some(text.len() as u64), Some(false)));
    assert!(answer["t"].as_f64().unwrap() > 1.7e12);
    let parsed: serde_json::Value = serde_json::from_str(text).unwrap();
    let is_request = |event: &&serde_json::Value| {
        event["dir"] == "out" && event["text"].as_str().is_some_and(|text| text.contains("tools/call"))
    };
    let asked = events.iter().find(is_request).unwrap()["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(asked).unwrap()["id"], parsed["id"]);
    // A reader goes on where it was.
    let last = answer["seq"].as_u64().unwrap();
    let rest = kit.send("GET", &format!("/api/feed?after={}", last - 1), "").await.events(|_| true).await;
    assert_eq!(rest[0]["seq"].as_u64(), Some(last));
}

#[tokio::test]
async fn a_large_message_is_cut_and_can_be_read_whole() {
    let kit = Kit::new().await;
    kit.inspector.add(Local::new(), None);
    kit.until("connected").await;
    let answer = kit.call("big", json!({})).await.text().await;
    assert!(answer.len() > 3 << 19);
    let events = kit.send("GET", "/api/feed?after=0", "").await.events(|event| event["cut"] == true).await;
    let cut = events.last().unwrap();
    assert_eq!(cut["text"].as_str().unwrap().len(), 1 << 20);
    let whole = kit.send("GET", &format!("/api/messages/{}", cut["seq"]), "").await.text().await;
    assert_eq!(Some(whole.len() as u64), cut["size"].as_u64());
    let parsed: serde_json::Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(parsed["result"]["content"][0]["text"].as_str().unwrap().len(), 3 << 19);
    assert_eq!(kit.send("GET", "/api/messages/999999", "").await.status.as_u16(), 404);
    assert_eq!(kit.send("GET", "/api/messages/x", "").await.status.as_u16(), 400);
}

#[tokio::test]
async fn a_flood_stays_within_the_ring() {
    let kit = Kit::new().await;
    kit.inspector.add(Local::new(), None);
    kit.until("connected").await;
    // 12,000 notifications, and a feed of 10,000 events: what a late reader has lost is said, and the rest is there.
    kit.call("flood", json!({})).await.text().await;
    let export = kit.send("GET", "/api/export?format=jsonl", "").await.text().await;
    assert!(export.lines().count() <= 10_000, "{}", export.lines().count());
    let events = kit.send("GET", "/api/feed?after=0", "").await;
    let is_last = |event: &serde_json::Value| {
        event["dir"] == "in" && event["text"].as_str().is_some_and(|text| text.contains("\"done\""))
    };
    let events = events.events(is_last).await;
    assert_eq!(events[0]["kind"], "lost", "{}", events[0]);
    let lost = events[0]["count"].as_u64().unwrap();
    assert_eq!(events[1]["seq"].as_u64(), Some(lost + 1));
    assert!(events.len() <= 10_001 && lost > 2000, "{} {lost}", events.len());
}
