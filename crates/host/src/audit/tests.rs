//! The audit log: its lines, its chain, its queue (S13, S22).

use std::{
    fs,
    path::PathBuf,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use couplet_core::JsonText;
use serde_json::Value;

use super::*;
use crate::{
    names::{Kind, ServerId},
    pins::Digest,
    policy::{Decision, Door},
};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("couplet-audit-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn log(&self) -> PathBuf {
        self.0.join("audit.jsonl")
    }

    fn lines(&self) -> Vec<Value> {
        fs::read_to_string(self.log()).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// All bytes of all files.
    fn everything(&self) -> String {
        let files = fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().path());
        files.map(|path| String::from_utf8(fs::read(path).unwrap()).unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const KEY: [u8; 32] = [7; 32];

fn options() -> AuditOptions {
    AuditOptions { key: Some(KEY), ..AuditOptions::default() }
}

fn record(raw: &str, arguments: &str) -> Record {
    let mut record = Record::new(ServerId::from_key("files"), Kind::Tool, raw, Door::Call, Decision::Allow);
    record.time = UNIX_EPOCH + Duration::from_millis(1_794_916_800_123);
    record.arguments = Some(JsonText::new(arguments.to_owned()).unwrap());
    record
}

async fn written(folder: &Folder, options: AuditOptions, records: impl IntoIterator<Item = Record>) {
    let log = JsonLines::open(folder.log(), options).unwrap();
    for record in records {
        write(&log, record).await.unwrap();
    }
    log.flush().await.unwrap();
}

#[tokio::test]
async fn a_record_has_everything_but_values() {
    let folder = Folder::new("record");
    let mut full = record(
        "read",
        r#"{"path":"/srv/hidden","lines":[1,2],"deep":{"a":{"b":{"c":{"d":{}}}}},"jane@example.com":true}"#,
    );
    full.request = Some("r1".into());
    full.principal = Some("ada".into());
    full.client = Some("ide".into());
    full.profile = Some("work".into());
    full.exposed = Some("files__read".into());
    full.pin = Some(Digest::of("read"));
    full.rule = Some("policy[2]".into());
    full.consent = Some("once".into());
    full.outcome = Outcome::RpcError(-32000);
    full.total = Some(Duration::from_micros(1500));
    full.bytes_out = Some(10);
    written(&folder, AuditOptions { replica: Some("r-a".into()), ..options() }, [full]).await;
    let lines = folder.lines();
    assert_eq!((lines[0]["event"].as_str(), lines[0]["seq"].as_u64()), (Some("open"), Some(1)));
    let mut line = lines[1].clone();
    let members = line.as_object_mut().unwrap();
    assert_eq!(members.remove("digest").unwrap().as_str().unwrap().len(), 32);
    assert_eq!(members.remove("prev").unwrap().as_str().unwrap().len(), 64);
    assert_eq!(
        line,
        serde_json::json!({
            "seq": 2, "time": "2026-11-17T12:00:00.123Z", "replica": "r-a", "event": "call", "request": "r1",
            "principal": "ada", "client": "ide", "profile": "work", "server": "files", "kind": "tool", "name": "read",
            "exposed": "files__read", "door": "call", "pin": Digest::of("read").to_string(), "decision": "allow",
            "rule": "policy[2]", "consent": "once", "outcome": "rpcError", "code": -32000, "totalUs": 1500, "bytesOut": 10,
            "shape": {"path": "string", "lines": ["number"], "deep": {"a": {"b": {"c": "object"}}}, "…": 1},
        })
    );
}

#[tokio::test]
async fn s13_no_text_makes_a_new_line() {
    let folder = Folder::new("lines");
    let evil = "a\r\n{\"seq\":9}\n\0\u{2028}\u{85}\u{1b}[2J\u{202e}\u{7f}\"\\";
    let mut hostile = record(evil, &serde_json::to_string(&serde_json::json!({evil: evil})).unwrap());
    let text: Option<Arc<str>> = Some(evil.into());
    (hostile.principal, hostile.client, hostile.request) = (text.clone(), text.clone(), text.clone());
    (hostile.parent, hostile.profile, hostile.exposed) = (text.clone(), text.clone(), text);
    written(&folder, options(), [hostile]).await;
    let bytes = fs::read(folder.log()).unwrap();
    assert!(bytes.iter().all(|byte| *byte == b'\n' || matches!(byte, b' '..=b'~')));
    let lines = folder.lines();
    assert_eq!(lines.len(), 2);
    for member in ["name", "principal", "client", "request", "parent", "profile", "exposed"] {
        assert_eq!(lines[1][member], evil, "{member}");
    }
    verify_file(folder.log(), Some(&KEY)).unwrap();
}

#[tokio::test]
async fn s22_no_argument_value_is_in_any_file() {
    let canary = "canary-5f3a";
    let arguments = serde_json::json!({
        "path": canary, "list": [canary], "map": {format!("{canary}@example.com"): canary}, "password": canary, "n": 5_544_332_211_u64,
    });
    let mut resource = record(&format!("https://{canary}:x@h/p?token={canary}#{canary}"), "{}");
    (resource.kind, resource.exposed) = (Kind::Resource, Some(format!("https://h/?{canary}").into()));
    let folder = Folder::new("values");
    written(&folder, options(), [record("read", &arguments.to_string()), resource]).await;
    let all = folder.everything();
    assert!(!all.contains(canary) && !all.contains("5544332211"), "{all}");
    assert!(all.contains("https://h/p?"), "{all}");
    let digest = folder.lines()[1]["digest"].clone();

    // Values are an option, and secrets among them are still left out.
    let folder = Folder::new("redacted");
    let arguments = serde_json::json!({
        "path": "/srv", "api_key": canary, "userPassword": canary, "Authorization": canary, "auth": format!("Bearer {canary}"),
        "url": format!("https://u:{canary}@h/"), "nested": [{"token": canary}], "key": format!("ghp_{canary}"),
        "long": "x".repeat(10_000), "list": vec![1; 1000],
    });
    let redacted = AuditOptions { arguments: Arguments::Redacted, ..options() };
    written(&folder, redacted, [record("read", &arguments.to_string())]).await;
    let all = folder.everything();
    assert!(!all.contains(canary), "{all}");
    assert!(all.contains(r#""path":"/srv""#) && all.len() < 4000, "{all}");

    // The digest is the same for equal arguments, and needs the key.
    let digest_of = |name: &'static str, text: &'static str, options: AuditOptions| async move {
        let folder = Folder::new(name);
        written(&folder, options, [record("read", text)]).await;
        folder.lines()[1]["digest"].clone()
    };
    let same = digest_of("d1", r#"{"a":1,"b":2}"#, options()).await;
    assert_eq!(same, digest_of("d2", r#"{"b": 2.0, "a": 1}"#, options()).await);
    assert_ne!(same, digest_of("d3", r#"{"a":1,"b":3}"#, options()).await);
    assert_ne!(same, digest_of("d4", r#"{"a":1,"b":2}"#, AuditOptions::default()).await);
    assert_ne!(same, digest);
}

#[tokio::test]
async fn s22_every_change_of_the_file_is_found() {
    let folder = Folder::new("tamper");
    written(&folder, options(), (0..5).map(|n| record(&format!("t{n}"), "{}"))).await;
    let verified = verify_file(folder.log(), Some(&KEY)).unwrap();
    assert_eq!((verified.lines, verified.first, verified.has_head), (6, 1, true));

    let text = fs::read_to_string(folder.log()).unwrap();
    let head: Head = serde_json::from_slice(&fs::read(folder.0.join("audit.jsonl.head")).unwrap()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let check = |lines: &[&str]| verify(lines.join("\n").as_bytes(), Some(&head), Some(&KEY));
    assert!(check(&lines).is_ok());
    for at in 0..lines.len() {
        let changed = lines[at].replace("2026", "2027").replace("\"files\"", "\"other\"");
        let mut edited = lines.clone();
        edited[at] = &changed;
        assert!(changed == lines[at] || check(&edited).is_err(), "edited {at}");
        let mut removed = lines.clone();
        removed.remove(at);
        // Without the oldest line the log looks as if an old file was deleted, which its number shows.
        assert!(check(&removed).is_err() || at == 0 && check(&removed).unwrap().first == 2, "removed {at}");
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at]);
        assert!(check(&doubled).is_err(), "doubled {at}");
        if at > 0 {
            let mut swapped = lines.clone();
            swapped.swap(at - 1, at);
            assert!(check(&swapped).is_err(), "swapped {at}");
        }
        assert!(check(&lines[..at]).is_err(), "truncated to {at}");
    }
    // A log whose hashes were all computed anew does not have the signed head.
    let forged = Folder::new("forged");
    written(&forged, AuditOptions { key: Some([8; 32]), ..options() }, (0..5).map(|n| record(&format!("x{n}"), "{}")))
        .await;
    let text = fs::read_to_string(forged.log()).unwrap();
    assert!(verify(text.as_bytes(), None, None).is_ok());
    assert!(verify(text.as_bytes(), Some(&head), Some(&KEY)).is_err());
    let error = verify_file(forged.log(), Some(&KEY)).unwrap_err().to_string();
    assert!(error.contains("not signed with this key"), "{error}");
}

#[tokio::test]
async fn a_log_continues_after_a_restart_and_a_torn_line() {
    let folder = Folder::new("restart");
    for _ in 0..3 {
        written(&folder, options(), [record("a", "{}")]).await;
        let mut text = fs::read(folder.log()).unwrap();
        text.extend_from_slice(br#"{"seq":99,"pre"#);
        fs::write(folder.log(), text).unwrap();
    }
    written(&folder, options(), [record("b", "{}")]).await;
    let lines = folder.lines();
    assert_eq!(lines.len(), 8);
    assert_eq!(lines[2]["torn"], 14);
    assert_eq!(verify_file(folder.log(), Some(&KEY)).unwrap().lines, 8);

    // Another file is neither truncated nor continued.
    for other in ["not a log", "not a log\n", "{\"seq\":\"x\"}\ntorn"] {
        fs::write(folder.log(), other).unwrap();
        let error = JsonLines::open(folder.log(), options()).unwrap_err().to_string();
        assert_eq!(error, "the audit log: the file is not an audit log");
        assert_eq!(fs::read_to_string(folder.log()).unwrap(), other);
    }
}

#[tokio::test]
async fn files_are_rotated_and_verified_together() {
    let folder = Folder::new("rotate");
    let small = || AuditOptions { rotate: 1000, files: 3, ..options() };
    for n in 0..10 {
        // Each run writes a batch of its own.
        written(&folder, small(), (0..4).map(|m| record(&format!("t{n}-{m}"), "{}"))).await;
    }
    let mut names: Vec<_> =
        fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2", "audit.jsonl.3", "audit.jsonl.head"]);
    let verified = verify_file(folder.log(), Some(&KEY)).unwrap();
    assert!(verified.first > 1 && verified.first + verified.lines == 51, "{verified:?}");
    // A file that was just begun continues the chain of the old one.
    fs::write(folder.log(), "").unwrap();
    fs::remove_file(folder.0.join("audit.jsonl.head")).unwrap();
    written(&folder, small(), [record("t", "{}")]).await;
    assert!(verify_file(folder.log(), Some(&KEY)).is_ok());
    // A file that is missing in between is noticed.
    fs::remove_file(folder.0.join("audit.jsonl.2")).unwrap();
    fs::rename(folder.0.join("audit.jsonl.3"), folder.0.join("audit.jsonl.2")).unwrap();
    assert!(verify_file(folder.log(), Some(&KEY)).is_err());
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_log() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("mode");
    written(&folder, options(), []).await;
    for name in ["audit.jsonl", "audit.jsonl.head"] {
        assert_eq!(fs::metadata(folder.0.join(name)).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a_full_queue_drops_and_counts() {
    let folder = Folder::new("drop");
    let log = JsonLines::open(folder.log(), AuditOptions { when_full: WhenFull::Drop, queue: 1, ..options() }).unwrap();
    for n in 0..20_000 {
        assert!(log.try_write(Box::new(record(&n.to_string(), "{}"))).is_ok());
    }
    log.flush().await.unwrap();
    let lines = folder.lines();
    let written = lines.iter().filter(|line| line["event"] == "call").count() as u64;
    let counted: u64 = lines.iter().filter_map(|line| line["count"].as_u64()).sum();
    assert_eq!((written + counted, counted), (20_000, log.dropped()));
    verify_file(folder.log(), Some(&KEY)).unwrap();
}

#[tokio::test]
async fn a_full_queue_blocks_and_loses_nothing() {
    let folder = Folder::new("block");
    let log = Arc::new(JsonLines::open(folder.log(), AuditOptions { queue: 2, ..options() }).unwrap());
    let writers = (0..8).map(|_| {
        let log = log.clone();
        tokio::spawn(async move {
            for _ in 0..500 {
                write(&*log, record("a", "{}")).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    log.flush().await.unwrap();
    assert_eq!((folder.lines().len(), log.dropped()), (4001, 0));
    verify_file(folder.log(), Some(&KEY)).unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn calls_fail_while_the_log_cannot_be_written() {
    // Everything that is written to this device fails as on a full disk.
    let full = std::path::Path::new("/dev/full");
    let log = JsonLines::open(full, options());
    let Ok(log) = log else { panic!("{log:?}") };
    // The first records are taken before the failure is known.
    let failed = async {
        loop {
            if let Err(error) = write(&log, record("a", "{}")).await {
                return error.to_string();
            }
            tokio::task::yield_now().await;
        }
    };
    let error = tokio::time::timeout(Duration::from_secs(60), failed).await.unwrap();
    assert!(error.starts_with("the audit log: "), "{error}");
}

#[tokio::test]
async fn the_head_follows_without_another_record() {
    let folder = Folder::new("head");
    let log = JsonLines::open(folder.log(), options()).unwrap();
    write(&log, record("a", "{}")).await.unwrap();
    log.flush().await.unwrap();
    write(&log, record("b", "{}")).await.unwrap();
    let head = || serde_json::from_slice::<Head>(&fs::read(folder.0.join("audit.jsonl.head")).ok()?).ok();
    let caught_up = async {
        while head().is_none_or(|head| head.seq < 3) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), caught_up).await.unwrap();
    assert!(verify_file(folder.log(), Some(&KEY)).unwrap().has_head);
}
