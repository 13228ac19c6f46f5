//! The file of the audit log alone says who called what, and how it ended (acceptance test 24).

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use couplet_client::Client;
use couplet_host::{
    Host, Server as Entry,
    audit::{AuditOptions, JsonLines, verify_file},
    consent::Elicited,
    pins::{MemoryPins, Pins},
    policy::{Layer, Policy},
    upstream::UpstreamOptions,
};
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    evil::Evil,
    kit::{SESSIONS, STATELESS, able, authenticated, connect, entry, id, in_time, server},
    raw::Raw,
};

const KEY: [u8; 32] = [7; 32];
const CANARY: &str = "canary-7d1e";

/// A folder with a log, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: impl std::fmt::Display) -> Self {
        let folder = std::env::temp_dir().join(format!("couplet-reconstruct-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn log(&self) -> PathBuf {
        self.0.join("audit.jsonl")
    }

    /// A log whose queue is smaller than the number of calls.
    fn open(&self) -> Arc<JsonLines> {
        let mut options = AuditOptions::default();
        (options.key, options.queue) = (Some(KEY), 2);
        Arc::new(JsonLines::open(self.log(), options).unwrap())
    }

    /// The lines about calls.
    fn calls(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.log()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["event"] == "call").collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn host(far: ProtocolVersion, log: &Arc<JsonLines>) -> Host {
    let rules = r#"[{"deny":{"tool":"files/echo","principal":"ann"}},{"ask":{"tool":"files/work"}},{"allow":{}}]"#;
    let mut options = UpstreamOptions::default();
    options.call_timeout = Some(Duration::from_millis(50));
    let host = Host::builder()
        .add(entry("files", server("files", far)).unpinned())
        .add(Entry::new(id("raw"), Raw::new(far)).options(options).unpinned())
        .server("evil", Evil::named("evil", far, &["one"]).service())
        .policy(Policy::new(vec![Layer::new("policy", serde_json::from_str::<Vec<_>>(rules).unwrap())]))
        .consent(Elicited)
        .pins(Pins::open(MemoryPins::default()).await.unwrap())
        .audit(log.clone())
        .build();
    host.ready(Duration::from_secs(10)).await;
    host
}

/// A client of a principal whose user always gives this answer.
async fn person(host: &Host, name: &'static str, near: ProtocolVersion, answer: &'static str) -> Client {
    let client = Client::new(name, "1").versions([near]);
    let client = client.on_elicit(move |ask| async move { ask.accept(json!({ "answer": answer })) });
    connect(client, authenticated(name, host.service())).await
}

/// Who called what: the principal, the target, the decision, the rule or the consent, and the outcome.
fn told(line: &Value) -> [String; 5] {
    let text = |member: &str| line[member].as_str().unwrap_or_default().to_owned();
    let reason = if line["consent"].is_string() { text("consent") } else { text("rule") };
    let target = format!("{} {}/{}", text("door"), text("server"), text("name"));
    [text("principal"), target, text("decision"), reason, text("outcome")]
}

#[tokio::test]
async fn acceptance_24_the_file_tells_who_called_what() {
    for (near, far) in [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)] {
        in_time(format_args!("{near} to {far}"), async {
            let folder = Folder::new(format_args!("{near}-{far}"));
            let log = folder.open();
            let host = host(far, &log).await;
            let (ann, bob) = (person(&host, "ann", near, "deny").await, person(&host, "bob", near, "once").await);
            let word = || json!({ "word": CANARY, "list": [CANARY, 5_544_332_211_u64] });
            for (who, tool) in [
                (&ann, "files__who"),
                (&ann, "files__echo"),
                (&bob, "files__echo"),
                (&ann, "files__work"),
                (&bob, "files__work"),
                (&ann, "evil__one"),
                (&bob, "files__fail"),
                (&bob, "raw__hang"),
                (&ann, "raw__die"),
                (&ann, "files__none"),
            ] {
                // Each ends in its own way, which only the log must tell.
                let _ = who.call(tool, word()).await;
            }
            bob.read(format!("files://3/page?{CANARY}").as_str()).await.unwrap_err();
            ann.read("files://one").await.unwrap();
            log.flush().await.unwrap();
            drop((ann, bob, host));

            let lines = folder.calls();
            let expected = [
                ["ann", "call files/who", "allow", "policy[2]", "ok"],
                ["ann", "call files/echo", "deny", "policy[0]", "notSent"],
                ["bob", "call files/echo", "allow", "policy[2]", "ok"],
                ["ann", "call files/work", "ask", "deny", "notSent"],
                ["bob", "call files/work", "ask", "once", "ok"],
                ["ann", "call evil/one", "deny", "pins", "notSent"],
                ["bob", "call files/fail", "allow", "policy[2]", "toolError"],
                ["bob", "call raw/hang", "allow", "policy[2]", "timeout"],
                ["ann", "call raw/die", "allow", "policy[2]", "unknown"],
                ["ann", "read files/files://one", "allow", "policy[2]", "ok"],
            ];
            assert_eq!(lines.iter().map(told).collect::<Vec<_>>(), expected, "{near} to {far}");
            for line in &lines {
                let was_sent = line["outcome"] != "notSent";
                assert_eq!(line["upstreamUs"].is_u64() && line["queueUs"].is_u64(), was_sent, "{line}");
                let is_complete = line["totalUs"].is_u64() && line["request"].is_string() && line["client"].is_string();
                assert!(is_complete && line["profile"] == "default", "{line}");
            }
            is_intact_and_sealed(&folder);
        })
        .await;
    }
}

/// The log verifies, no file has the value of an argument, and a byte that differs is noticed in every line.
fn is_intact_and_sealed(folder: &Folder) {
    verify_file(folder.log(), Some(&KEY)).unwrap();
    for file in fs::read_dir(&folder.0).unwrap() {
        let text = String::from_utf8(fs::read(file.unwrap().path()).unwrap()).unwrap();
        assert!(!text.contains(CANARY) && !text.contains("5544332211"), "{text}");
    }
    let bytes = fs::read(folder.log()).unwrap();
    let ends: Vec<_> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    for at in ends.into_iter().flat_map(|end| [end - 2, end - 40]) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        fs::write(folder.log(), &changed).unwrap();
        assert!(verify_file(folder.log(), Some(&KEY)).is_err(), "byte {at}");
    }
    fs::write(folder.log(), bytes).unwrap();
    verify_file(folder.log(), Some(&KEY)).unwrap();
}

/// Many calls at once: each has one record in one chain, although the queue of the log holds two.
#[tokio::test]
async fn acceptance_24_no_record_of_a_busy_host_is_lost() {
    const TASKS: usize = 16;
    const CALLS: usize = 100;
    in_time("busy", async {
        let folder = Folder::new("busy");
        let log = folder.open();
        let host = Host::builder().add(entry("files", server("files", STATELESS))).audit(log.clone()).build();
        let client = connect(able(STATELESS).0, host.service()).await;
        client.tools().await.unwrap();
        let mut tasks = JoinSet::new();
        for _ in 0..TASKS {
            let client = client.clone();
            tasks.spawn(async move {
                for _ in 0..CALLS {
                    client.call("files__who", ()).await.unwrap();
                }
            });
        }
        tasks.join_all().await;
        log.flush().await.unwrap();
        let lines = folder.calls();
        let requests: std::collections::HashSet<_> = lines.iter().map(|line| line["request"].to_string()).collect();
        assert_eq!((lines.len(), requests.len(), log.dropped()), (TASKS * CALLS, TASKS * CALLS, 0));
        assert_eq!(verify_file(folder.log(), Some(&KEY)).unwrap().lines, (TASKS * CALLS + 1) as u64);
    })
    .await;
}
