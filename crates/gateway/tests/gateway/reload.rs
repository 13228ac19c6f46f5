//! Reloading: the whole file or nothing, and nothing else is disturbed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::Client;
use couplet_core::{Change, Filter};
use couplet_gateway::Gateway;
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

use crate::kit::{File, SHORT, Upstream, client, names, size};

#[tokio::test]
async fn servers_and_profiles_come_and_go() {
    let (one, two) = (Upstream::start(&["a"]).await, Upstream::start(&["b"]).await);
    let file = File::new(&format!(r#"{{ "mcpServers": {{ "one": {} }} }}"#, one.entry("")));
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    let all = client(&gateway, None).await;
    assert_eq!(names(&all).await, ["one__a"]);
    assert!(gateway.service(Some("small")).is_err());

    let both = format!(
        r#"{{ "mcpServers": {{ "one": {}, "two": {} }}, "profiles": {{ "small": {{ "servers": ["two"], "names": "bare" }} }} }}"#,
        one.entry(""),
        two.entry("")
    );
    file.write(&both);
    gateway.reload().await.unwrap();
    gateway.ready(SHORT).await;
    assert_eq!(names(&all).await, ["one__a", "two__b"]);
    assert_eq!(names(&client(&gateway, Some("small")).await).await, ["b"]);

    file.write(&both.replace("mcpServers", "mcpservers"));
    let error = gateway.reload().await.unwrap_err().to_string();
    assert!(error.contains("it has no servers"), "{error}");
    assert_eq!(gateway.status()["reload"]["error"], error, "status says why");
    assert_eq!(names(&all).await, ["one__a", "two__b"], "everything is as before");

    file.write(&format!(r#"{{ "mcpServers": {{ "two": {} }} }}"#, two.entry("")));
    gateway.reload().await.unwrap();
    assert_eq!(gateway.status()["reload"]["error"], json!(null));
    assert_eq!(names(&all).await, ["two__b"]);
    gateway.close().await;
}

/// The variable with the number of reloads.
const RELOADS: &str = "COUPLET_RELOADS";

/// Clients of both eras that listen to changes of tools, and the number of notifications that each one received.
async fn listeners(gateway: &Gateway, profile: Option<&str>) -> Vec<Arc<AtomicUsize>> {
    let mut all = Vec::new();
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28].repeat(4) {
        let client = Client::new("listener", "1.0.0").versions([version]);
        let client = client.connect(gateway.service(profile).unwrap()).await.unwrap();
        let mut changes = client.listen(couplet_client::Filter::new().tools()).await.unwrap();
        let received = Arc::new(AtomicUsize::new(0));
        let count = received.clone();
        tokio::spawn(async move {
            let _client = client;
            while let Some(change) = changes.next().await {
                assert_eq!(change, Change::Tools);
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        all.push(received);
    }
    all
}

/// Waits until each listener has received so many notifications.
async fn received(listeners: &[Arc<AtomicUsize>], number: usize) {
    let counts = || listeners.iter().map(|count| count.load(Ordering::SeqCst)).collect::<Vec<_>>();
    let all = async {
        while counts().into_iter().any(|count| count < number) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(60), all).await;
    assert!(in_time.is_ok() && counts().into_iter().all(|count| count == number), "{:?} of {number}", counts());
}

/// Reloads under load, half of them invalid, with clients whose list changes and clients whose list does not.
#[tokio::test]
async fn acceptance_13_calls_do_not_fail_while_the_file_changes() {
    let reloads = size(RELOADS, 200);
    let (one, two) = (Upstream::start(&["a"]).await, Upstream::start(&["b"]).await);
    let with = |servers: &str| {
        let profile = r#""profiles": { "same": { "servers": ["one"] } }"#;
        format!(r#"{{ "mcpServers": {{ "one": {}{servers} }}, {profile} }}"#, one.entry(""))
    };
    let file = File::new(&with(""));
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    let (over, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (client, over, done) = (client(&gateway, None).await, over.clone(), done.clone());
        callers.spawn(async move {
            while !over.load(Ordering::Relaxed) {
                let result = client.call("one__a", json!({})).await.expect("the server did not change");
                assert_eq!(result.text(), "a");
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let approvals = || {
        let text = std::fs::read_to_string(file.path().with_extension("lock")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["servers"]["one"].clone()
    };
    let (approved, service) = (approvals(), gateway.service(None).unwrap());
    assert!(approved.is_object(), "{approved}");
    let changes = service.hub().subscribe(Filter::new().tools());
    let (affected, others) = (listeners(&gateway, None).await, listeners(&gateway, Some("same")).await);
    for at in 0..reloads {
        let before = done.load(Ordering::Relaxed);
        match at % 4 {
            0 => file.write(&with(&format!(r#", "two": {}"#, two.entry("")))),
            2 => file.write(&with("")),
            _ => file.write(&with("").replace("url", "ulr")),
        }
        assert_eq!(gateway.reload().await.is_ok(), at % 2 == 0);
        let notified: Vec<_> = std::iter::from_fn(|| changes.take()).collect();
        assert_eq!(notified, vec![Change::Tools; usize::from(at % 2 == 0)], "once if the list has changed: {at}");
        received(&affected, at / 2 + 1).await;
        while done.load(Ordering::Relaxed) == before {
            tokio::task::yield_now().await;
        }
    }
    over.store(true, Ordering::Relaxed);
    while let Some(caller) = callers.join_next().await {
        caller.expect("no call failed");
    }
    // Nothing was on its way to those that have their notifications, and nothing to the others.
    received(&affected, reloads / 2).await;
    received(&others, 0).await;
    let status = gateway.status();
    assert_eq!((&status["servers"][0]["restarts"], &status["servers"][0]["state"]), (&json!(0), &json!("ready")));
    assert_eq!(status["reload"]["count"], reloads / 2);
    assert_eq!(approvals(), approved, "approvals stay");
    println!(
        "acceptance 13: {reloads} reloads, half of them invalid; {} calls, none failed; {} clients with {} notifications \
         each, {} with none",
        done.load(Ordering::Relaxed),
        affected.len(),
        reloads / 2,
        others.len()
    );
    gateway.close().await;
}

/// Limits are part of the supervision: another limit needs another upstream, and it is used.
#[tokio::test]
async fn changed_settings_take_effect() {
    let one = Upstream::start(&["a", "b"]).await;
    let file = File::new(&format!(r#"{{ "mcpServers": {{ "one": {} }} }}"#, one.entry("")));
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    let all = client(&gateway, None).await;
    assert_eq!(names(&all).await, ["one__a", "one__b"]);
    let more = r#", "limits": { "calls": 3, "message": "1M" }, "tools": { "deny": ["b"] }"#;
    file.write(&format!(r#"{{ "mcpServers": {{ "one": {} }} }}"#, one.entry(more)));
    gateway.reload().await.unwrap();
    gateway.ready(SHORT).await;
    let options = gateway.host().upstreams()[0].options().clone();
    assert_eq!((options.calls, options.max_message), (3, Some(1 << 20)));
    assert_eq!(names(&all).await, ["one__a"]);
    assert!(all.call("one__b", json!({})).await.is_err());
    gateway.close().await;
}

/// The gateway writes the lock file itself when it sees a server for the first time, which is not a change to follow.
#[tokio::test]
async fn own_writes_of_the_lock_file_are_not_followed() {
    let one = Upstream::start(&["a"]).await;
    let file = File::new(&format!(r#"{{ "mcpServers": {{ "one": {} }} }}"#, one.entry("")));
    let gateway = file.start().await.unwrap();
    let following = tokio::spawn({
        let gateway = gateway.clone();
        async move { gateway.follow_file().await }
    });
    let lock = file.path().with_extension("lock");
    let before = std::fs::read_to_string(&lock).unwrap();
    gateway.ready(SHORT).await;
    assert_ne!(std::fs::read_to_string(&lock).unwrap(), before, "the first definitions are stored");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(gateway.status()["reload"]["count"], 0);

    let text = std::fs::read_to_string(&lock).unwrap();
    std::fs::write(&lock, format!("{text}\n")).unwrap();
    let mut reloads = gateway.reloads();
    tokio::time::timeout(Duration::from_secs(30), reloads.wait_for(|count| *count > 0)).await.unwrap().unwrap();
    following.abort();
    gateway.close().await;
}
