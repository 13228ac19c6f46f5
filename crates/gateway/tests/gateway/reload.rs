//! Reloading: the whole file or nothing, and nothing else is disturbed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_core::{Change, Filter};
use serde_json::{Value, json};

use crate::kit::{File, SHORT, Upstream, client, names};

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

/// Acceptance 13: 200 reloads under load, half of them invalid.
#[tokio::test]
async fn calls_do_not_fail_while_the_file_changes() {
    const RELOADS: usize = 200;
    let (one, two) = (Upstream::start(&["a"]).await, Upstream::start(&["b"]).await);
    let with = |servers: &str| format!(r#"{{ "mcpServers": {{ "one": {}{servers} }} }}"#, one.entry(""));
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
    for at in 0..RELOADS {
        let before = done.load(Ordering::Relaxed);
        match at % 4 {
            0 => file.write(&with(&format!(r#", "two": {}"#, two.entry("")))),
            2 => file.write(&with("")),
            _ => file.write(&with("").replace("url", "ulr")),
        }
        assert_eq!(gateway.reload().await.is_ok(), at % 2 == 0);
        let notified: Vec<_> = std::iter::from_fn(|| changes.take()).collect();
        assert_eq!(notified, vec![Change::Tools; usize::from(at % 2 == 0)], "once if the list has changed: {at}");
        while done.load(Ordering::Relaxed) == before {
            tokio::task::yield_now().await;
        }
    }
    over.store(true, Ordering::Relaxed);
    while let Some(caller) = callers.join_next().await {
        caller.expect("no call failed");
    }
    let status = gateway.status();
    assert_eq!((&status["servers"][0]["restarts"], &status["servers"][0]["state"]), (&json!(0), &json!("ready")));
    assert_eq!(status["reload"]["count"], RELOADS / 2);
    assert_eq!(approvals(), approved, "approvals stay");
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
