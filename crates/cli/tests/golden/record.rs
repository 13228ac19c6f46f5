//! `couplet tap` and `couplet replay`.

use std::fs;

use serde_json::Value;

use crate::kit::{Folder, couplet, golden, run, shop};

const COUPLET: &str = env!("CARGO_BIN_EXE_couplet");

/// Records a call, in a revision.
fn record(file: &str, server: &str, args: &[&str]) -> String {
    let tap = format!("{COUPLET} tap --log {file} -- {server}");
    run(&[&[args[0], &tap], &args[1..]].concat())
}

#[test]
fn what_is_said_is_written_down() {
    let (shop, folder) = (shop(), Folder::new("tap"));
    let log = folder.file("log.jsonl");
    let text = record(&log, &shop, &["call", "add", "a=1", "b=2", "--revision", "2025-06-18"]);
    assert!(text.contains("\n3\n"), "{text}");
    let lines: Vec<Value> =
        fs::read_to_string(&log).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rows: Vec<String> = lines
        .iter()
        .map(|line| {
            assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");
            assert_eq!(line["session"], lines[0]["session"]);
            let what = line["message"]["method"].as_str().unwrap_or("an answer");
            format!("{} {what}", line["direction"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        rows,
        [
            "client-to-server initialize",
            "server-to-client an answer",
            "client-to-server notifications/initialized",
            "client-to-server logging/setLevel",
            "server-to-client an answer",
            "client-to-server tools/list",
            "server-to-client an answer",
            "client-to-server tools/call",
            "server-to-client an answer",
        ]
    );
}

#[test]
fn a_tap_ends_as_the_server_does() {
    let (shop, folder) = (shop(), Folder::new("tap-end"));
    let log = folder.file("log.jsonl");
    let dies = couplet().args(["tap", "--log", &log, "--", &shop, "dies"]).output().unwrap();
    assert_eq!(dies.status.code(), Some(3), "the exit code is the server's");
    assert_eq!(String::from_utf8_lossy(&dies.stderr), "shop: cannot open the till\nshop: giving up\n");
    let noisy = record(&log, &format!("{shop} noisy"), &["call", "add", "a=1", "b=2"]);
    assert!(noisy.contains("Shop is open"), "what is no message goes through, too: {noisy}");
    let written = fs::read_to_string(&log).unwrap();
    assert!(written.contains(r#""raw":"Shop is open, come in! \u001b[2J"}"#), "{written}");
    let text = [
        run(&["tap", "--log", "/there/is/no/such/folder/log", "--", &shop]),
        run(&["tap", "--log", &log, "--", "there-is-no-such-program"]),
    ];
    golden("tap", &text.join("\n").replace(&log, "log.jsonl"));
}

#[test]
fn a_recording_plays_the_server_in_every_revision() {
    let (shop, folder) = (shop(), Folder::new("play"));
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let log = folder.file(revision);
        let server = format!("{shop} {revision}");
        let call = ["call", "add", "a=1", "b=2"];
        record(&log, &server, &call);
        let valid = run(&["validate", &log]);
        assert!(valid.contains(": valid in ") && valid.contains("[exit 0]"), "{revision}: {valid}");
        let replay = format!("{COUPLET} replay {log}");
        let again = run(&["call", &replay, "add", "a=1", "b=2"]);
        assert!(again.contains("\n3\n"), "{revision}: {again}");
        let other = run(&["call", &replay, "add", "a=1", "b=3"]);
        assert!(other.contains("the recording has no such request: tools/call"), "{revision}: {other}");
        let same = run(&["replay", &log, "--to", &server]);
        assert!(same.contains(", 0 different") && same.ends_with("[exit 0]\n"), "{revision}: {same}");
    }
}

#[test]
fn questions_and_states_are_played_to_a_server() {
    let (shop, folder) = (shop(), Folder::new("rounds"));
    for revision in ["2025-06-18", "2026-07-28"] {
        let log = folder.file(revision);
        let server = format!("{shop} {revision}");
        let answers = ["--answer", "what=tea", "--answer", "size=Large", "--answer", "count=2"];
        let text = record(&log, &server, &[&["call", "order"][..], &answers].concat());
        assert!(text.contains("2 large tea"), "{revision}: {text}");
        let same = run(&["replay", &log, "--to", &server]);
        assert!(same.contains(", 0 different"), "{revision}: {same}");
    }
}

#[test]
fn differences_are_told() {
    let (shop, folder) = (shop(), Folder::new("differences"));
    let log = folder.file("log.jsonl");
    record(&log, &shop, &["call", "add", "a=1", "b=2"]);
    // The recorded response differs from the server's.
    let changed = fs::read_to_string(&log).unwrap().replace(r#""text":"3""#, r#""text":"4","extra":true"#);
    fs::write(&log, changed).unwrap();
    let empty = folder.file("empty");
    fs::write(&empty, "").unwrap();
    let broken = folder.file("broken");
    fs::write(&broken, "{}\n").unwrap();
    let dies = format!("{shop} dies");
    let text = [
        run(&["replay", &log, "--to", &shop]),
        run(&["replay", &log, "--to", &shop, "--ignore", "result.content[0].text"]),
        run(&["replay", &log, "--to", &shop, "--json"]),
        run(&["replay", &log, "--to", &dies]),
        run(&["replay", &log, "--session", "x", "--to", &shop]),
        run(&["replay", &empty]),
        run(&["replay", &broken]),
        run(&["replay", &folder.file("missing")]),
    ];
    let text = text.join("\n").replace(&folder.file(""), "");
    let session: Value = serde_json::from_str(fs::read_to_string(&log).unwrap().lines().next().unwrap()).unwrap();
    golden("replay", &text.replace(session["session"].as_str().unwrap(), "SESSION"));
}
