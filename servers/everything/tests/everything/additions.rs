//! What 2026-07-28 and its extensions add.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use couplet::{
    ProtocolVersion,
    apps::HostApps,
    client::{Change, Filter},
    skills::LoadSkills,
    types::{CallTool, CallToolParams, LoggingLevel, Meta, Tool},
};
use serde_json::{Value, json};

use crate::kit::{able, connect, is_in};

/// Three rounds where there are rounds, with two questions in the second; the booking is made once.
#[couplet::test]
async fn a_trip_takes_three_rounds(version: ProtocolVersion) {
    if !is_in("--xxx", version) {
        return;
    }
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let messages = asked.clone();
    let client = able(version).on_elicit(move |ask| {
        messages.lock().unwrap().push(ask.message().to_owned());
        let answer = json!({ "city": "Oslo", "days": 3, "travellers": 2, "yes": true });
        let field = ask.schema().unwrap().unwrap().properties.keys().next().unwrap().to_owned();
        async move { ask.accept(json!({ field.clone(): answer[&field] })) }
    });
    let client = client.connect(couplet_everything::server().build()).await.unwrap();
    let said = client.call("book-trip", ()).await.unwrap().text();
    let booking = said.strip_prefix("Booked under ").and_then(|rest| rest.split(':').next()).expect("a number");
    assert_eq!(said, format!("Booked under {booking}: 3 days in Oslo for 2."));
    let mut asked = asked.lock().unwrap().clone();
    asked[1..3].sort();
    let consent = format!("Booking {booking}: 3 days in Oslo for 2?");
    assert_eq!(asked, ["Let us book a trip.", "How long do you stay in Oslo?", "Who goes to Oslo?", &consent]);
}

/// Without a session a log is written while the request runs, from the level on that the request names.
#[couplet::test]
async fn logs(version: ProtocolVersion) {
    tokio::time::pause();
    let (tell, mut told) = tokio::sync::mpsc::channel(64);
    let client = able(version).log_level(LoggingLevel::Debug);
    let client = client.on_log(move |line| tell.try_send(line.level).unwrap());
    let client = client.connect(couplet_everything::server().build()).await.unwrap();
    client.call("toggle-simulated-logging", ()).await.unwrap();
    let lines = if is_in("----x", version) { 8 } else { 3 };
    for _ in 0..lines {
        told.recv().await.expect("a line");
    }
    if is_in("xxxx-", version) {
        let stopped = client.call("toggle-simulated-logging", ()).await.unwrap().text();
        assert_eq!(stopped, "Stopped simulated logging for this session");
        let again = client.call("toggle-simulated-logging", ()).await.unwrap().text();
        assert!(again.starts_with("Started"), "{again}");
    }
}

/// Each session has its own log.
#[couplet::test]
async fn logs_belong_to_sessions() {
    let server = couplet_everything::server().build();
    let first = connect(server.clone(), ProtocolVersion::V2025_11_25).await;
    let second = connect(server, ProtocolVersion::V2025_11_25).await;
    for client in [&first, &second] {
        assert!(client.call("toggle-simulated-logging", ()).await.unwrap().text().starts_with("Started"));
    }
    assert!(first.call("toggle-simulated-logging", ()).await.unwrap().text().starts_with("Stopped"));
}

#[couplet::test]
async fn updates(version: ProtocolVersion) {
    tokio::time::pause();
    let client = connect(couplet_everything::server().build(), version).await;
    let uri = "demo://resource/dynamic/text/1";
    let mut changes = client.listen(Filter::new().resource(uri)).await.unwrap();
    client.call("toggle-subscriber-updates", ()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(changes.next().await, Some(Change::Updated(uri.to_owned())));
    }
    let stopped = client.call("toggle-subscriber-updates", ()).await.unwrap().text();
    assert_eq!(stopped, "Stopped simulated resource updates for all subscribers");
}

/// An error that tells of a visit is met by the same call again; without sessions the visit is one more question.
#[couplet::test]
async fn a_visit_can_come_first(version: ProtocolVersion) {
    if !is_in("---xx", version) {
        return;
    }
    let visits = Arc::new(AtomicUsize::new(0));
    let count = visits.clone();
    let client = able(version).on_elicit_url(move |ask| {
        count.fetch_add(1, Ordering::SeqCst);
        async move { ask.accept_url() }
    });
    let client = client.connect(couplet_everything::server().build()).await.unwrap();
    let arguments = json!({ "url": "https://example.com/", "errorPath": true });
    if is_in("---x-", version) {
        let params = CallToolParams::new("trigger-url-elicitation").arguments(arguments.clone());
        let error = client.request::<CallTool>(params).await.expect_err("there is a prerequisite");
        assert!(error.to_string().contains("browser-based authorization"), "{error}");
    }
    let said = client.call("trigger-url-elicitation", arguments).await.unwrap().text();
    assert!(said.starts_with("✅ User completed the URL elicitation flow."), "{said}");
    assert_eq!(visits.load(Ordering::SeqCst), if is_in("----x", version) { 2 } else { 1 });
}

#[couplet::test]
async fn a_caller_is_known(version: ProtocolVersion) {
    let client = connect(couplet_everything::server().build(), version).await;
    let meta = Meta::new().with("com.example/trip", json!(7));
    let answer = client.call("get-caller", ()).meta(meta).await.unwrap();
    let said: Value = serde_json::from_str(&answer.text()).unwrap();
    assert_eq!(said["revision"], version.as_str());
    assert_eq!(said["session"], is_in("xxxx-", version));
    assert_eq!(said["meta"]["com.example/trip"], 7);
    assert!(said["capabilities"].get("roots").is_some(), "{said}");
}

#[couplet::test]
async fn a_view_is_offered() {
    let client = connect(couplet_everything::server().build(), ProtocolVersion::V2026_07_28).await;
    let tools = client.model_tools().await.unwrap();
    let find = |name: &str| tools.iter().find(|tool: &&Tool| tool.name == name);
    assert!(find("refresh-clock").is_none(), "it is for the view alone");
    let view = client.view_of(find("show-clock").unwrap()).await.unwrap().expect("it has a view");
    assert_eq!(view.uri, "ui://everything/clock");
    let plain = couplet_testing::connect(couplet_everything::server().build(), ProtocolVersion::V2026_07_28).await;
    let said = plain.unwrap().call("show-clock", ()).await.unwrap().text();
    assert!(said.starts_with("It is "), "{said}");
}

#[couplet::test]
async fn a_skill_is_offered() {
    let client = connect(couplet_everything::server().build(), ProtocolVersion::V2026_07_28).await;
    let entry = client.skills().await.unwrap().remove(0);
    assert_eq!(entry.frontmatter.name(), "tour");
    let skill = client.load_skill(&entry).await.unwrap();
    let features = skill.file("references/features.md").await.unwrap();
    // What the document lists is there, and the other way round.
    let features = String::from_utf8(features).unwrap();
    for tool in client.tools().await.unwrap() {
        assert!(features.contains(&format!("`{}`", tool.name)), "{} is not told about", tool.name);
    }
}
