//! Audit files: their key, and the name of the replica.

use std::{fs, path::Path};

use couplet_gateway::{Config, audit_key};
use couplet_host::audit::{AuditOptions, JsonLines, verify_file};
use serde_json::{Value, json};

use crate::kit::{File, SHORT, Upstream, client};

/// Calls a tool through a gateway that is started and closed, and returns the record.
async fn record(file: &File, arguments: Value) -> Value {
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    client(&gateway, None).await.call("one__a", arguments).await.unwrap();
    gateway.close().await;
    let audit = fs::read_to_string(path(file)).unwrap();
    let is_call = |record: &Value| record["name"] == "a" && record["door"] == "call";
    audit.lines().rev().map(|line| serde_json::from_str(line).unwrap()).find(is_call).expect("the call is recorded")
}

fn path(file: &File) -> std::path::PathBuf {
    file.path().with_file_name("audit.jsonl")
}

fn text(one: &Upstream, more: &str) -> String {
    format!(r#"{{ "mcpServers": {{ "one": {} }}, "audit": {{ "file": "audit.jsonl"{more} }} }}"#, one.entry(""))
}

/// Without any setting the head is signed with a key of the user's own, which stays the same.
#[tokio::test]
async fn s22_a_log_that_is_computed_anew_is_found() {
    let one = Upstream::start(&["a"]).await;
    let file = File::new(&text(&one, ""));
    assert_eq!(audit_key(None, &file.env()).unwrap(), None);
    let first = record(&file, json!({ "x": 1 })).await;
    let key = audit_key(None, &file.env()).unwrap().expect("it is created");
    let again = record(&file, json!({ "x": 1 })).await;
    assert_eq!(audit_key(None, &file.env()).unwrap(), Some(key));
    assert!(first["digest"].is_string() && first["digest"] == again["digest"], "they can be compared: {first} {again}");
    assert_ne!(first["digest"], record(&file, json!({ "x": 2 })).await["digest"]);
    assert!(verify_file(path(&file), Some(&key)).is_ok_and(|verified| verified.has_head));
    is_private(&file);

    // Who can write the folder of the file can write another one, with all hashes and a head.
    for name in ["audit.jsonl", "audit.jsonl.head"] {
        fs::remove_file(path(&file).with_file_name(name)).unwrap();
    }
    JsonLines::open(path(&file), AuditOptions::default()).unwrap().flush().await.unwrap();
    assert!(verify_file(path(&file), None).is_ok(), "without the key it is as good as any");
    let error = verify_file(path(&file), Some(&key)).unwrap_err().to_string();
    assert!(error.contains("the head is not signed with this key"), "{error}");
}

#[tokio::test]
async fn a_key_and_a_replica_can_be_configured() {
    let one = Upstream::start(&["a"]).await;
    let file = File::new(&text(&one, r#", "key": "${file:key}", "replica": "west-1""#));
    let key = |written: &str| {
        fs::write(file.path().with_file_name("key"), written).unwrap();
        audit_key(Some(&Config::load(&file.path(), &file.env()).unwrap()), &file.env())
    };
    for (written, says) in [("short", "must have at least 32 characters"), ("", "must have at least 32 characters")] {
        let error = key(written).unwrap_err();
        assert!(error.to_string().contains(says) && error.hint().is_some(), "{error}");
        assert!(file.start().await.is_err(), "a gateway does not start with it");
    }
    let key = key("0123456789abcdef0123456789abcdef\n").unwrap().unwrap();
    let record = record(&file, json!({})).await;
    assert_eq!(record["replica"], "west-1", "{record}");
    assert!(verify_file(path(&file), Some(&key)).is_ok());
    assert_eq!(audit_key(None, &file.env()).unwrap(), None, "the user's own is not created");
}

/// Without a place for the key, there is a log all the same.
#[tokio::test]
async fn a_log_without_a_place_for_its_key_is_not_signed() {
    let one = Upstream::start(&["a"]).await;
    let file = File::new(&text(&one, ""));
    fs::write(file.path().with_file_name(".local"), "not a folder").unwrap();
    record(&file, json!({})).await;
    let head = fs::read_to_string(path(&file).with_file_name("audit.jsonl.head")).unwrap();
    assert!(!head.contains("mac") && verify_file(path(&file), None).is_ok(), "{head}");
}

fn is_private(file: &File) {
    let key = file.path().parent().unwrap_or(Path::new(".")).join(".local/state/couplet/audit.key");
    let meta = fs::metadata(key).expect("it is in the folder for state");
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o777, 0o600);
    assert!(meta.is_file());
}
