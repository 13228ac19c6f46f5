//! `couplet gateway consent` and `couplet gateway grants`. Names with `sNN` are attacks that must not succeed.
#![cfg(unix)]

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use crate::{
    gateway::{Gateway, write},
    kit::{Folder, TIMEOUT, couplet, golden, shop, show},
    terminal::Terminal,
};

/// A gateway that asks on this machine about `forecast`, with sockets of its own.
struct Asking {
    folder: Folder,
    place: String,
    gateway: Gateway,
}

impl Asking {
    fn start(name: &str) -> Self {
        let folder = Folder::new(name);
        let place = folder.path().display().to_string();
        let text = format!(
            r#"{{ "mcpServers": {{ "shop": {{ "command": "{}" }} }}, "consent": "local", "consentTimeout": "1d",
                 "policy": [{{ "ask": {{ "tool": "shop/forecast" }}, "name": "forecasts" }}, {{ "allow": {{}} }}] }}"#,
            shop()
        );
        let gateway = Gateway::start(&write(&folder, "gateway.json", &text), &[], &vars(&place));
        Self { folder, place, gateway }
    }

    /// Runs a command, and masks what differs between runs.
    fn run(&self, args: &[&str]) -> String {
        self.masked(&show(args, &at(&self.place).args(args).output().unwrap()))
    }

    fn masked(&self, text: &str) -> String {
        let text = text.replace(&format!("{}.", self.gateway.process()), "PID.");
        // Seconds pass while a test runs.
        let words = text.split_inclusive(' ').map(|word| match word.trim_end().strip_suffix('s') {
            Some(number) if !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()) => "Ns ",
            _ => word,
        });
        words.collect::<String>().replace(&self.place, "FOLDER")
    }

    fn id(&self, number: u32) -> String {
        format!("{}.{number}", self.gateway.process())
    }

    /// Waits until a command says something.
    #[track_caller]
    fn until(&self, args: &[&str], says: &str) -> String {
        let end = Instant::now() + TIMEOUT;
        loop {
            let text = self.run(args);
            if text.contains(says) {
                return text;
            }
            assert!(Instant::now() < end, "{text}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Calls `forecast` in a session, or without one.
    fn call(&self, city: &str, revision: &str) -> String {
        self.gateway.run("call", &["shop__forecast", &format!("city={city}"), "--revision", revision])
    }
}

fn vars(place: &str) -> [(&str, &str); 2] {
    [("XDG_RUNTIME_DIR", place), ("XDG_STATE_HOME", place)]
}

fn at(place: &str) -> Command {
    let mut command = couplet();
    command.envs(vars(place));
    command
}

/// The line of JSON that a command printed.
#[track_caller]
fn json(shown: &str) -> serde_json::Value {
    serde_json::from_str(shown.lines().nth(1).unwrap()).expect(shown)
}

const LIST: &[&str] = &["gateway", "consent", "--list"];
const GRANTS: &[&str] = &["gateway", "grants"];

#[test]
fn questions_are_listed_and_answered_by_scripts() {
    let alone = Folder::new("consent-alone");
    let place = alone.path().display().to_string();
    let run = |args: &[&str]| show(args, &at(&place).args(args).output().unwrap());
    let mut text: Vec<String> = [
        &["gateway", "consent", "--help"][..],
        &["gateway", "grants", "--help"],
        LIST,
        GRANTS,
        &["gateway", "consent"],
        &["gateway", "consent", "--json"],
        &["gateway", "consent", "--answer", "yes", "4711.3"],
        &["gateway", "consent", "--answer", "once", "3"],
        &["gateway", "consent", "4711.3"],
        &["gateway", "consent", "--answer", "once", "4711.3"],
    ]
    .map(run)
    .into();
    let asking = Asking::start("consent");
    text.extend([LIST, GRANTS].map(|args| asking.run(args)));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| asking.call("Oslo", "2026-07-28"));
        text.push(asking.until(LIST, "PID.1"));
        let json = json(&asking.run(&["gateway", "consent", "--list", "--json"]));
        assert_eq!(
            (&json["id"], &json["arguments"]),
            (&"PID.1".into(), &serde_json::json!({ "city": "Oslo" })),
            "{json}"
        );
        let id = asking.id(1);
        for answer in ["session", "always", "deny"] {
            text.push(asking.run(&["gateway", "consent", "--answer", answer, &id]));
        }
        assert!(waiting.join().unwrap().contains("\"city\": \"Oslo\""));
    });
    let grants = asking.run(GRANTS);
    assert!(
        grants.contains("PID.1  always") && grants.contains("owner      default  tool shop/forecast\n"),
        "{grants}"
    );
    let json = json(&asking.run(&["gateway", "grants", "--json"]));
    assert_eq!((&json["id"], &json["answer"]), (&"PID.1".into(), &"always".into()), "{json}");
    assert!(asking.call("Rome", "2026-07-28").contains("\"city\": \"Rome\""), "the grant covers it");
    for _ in 0..2 {
        text.push(asking.run(&["gateway", "grants", "--revoke", &asking.id(1)]));
    }
    thread::scope(|scope| {
        let waiting = scope.spawn(|| asking.call("Rome", "2026-07-28"));
        asking.until(LIST, "PID.2");
        let status = asking.run(&["gateway", "status", &asking.folder.file("gateway.json")]);
        assert!(status.contains("1 call waits for an answer: `couplet gateway consent`"), "{status}");
        asking.run(&["gateway", "consent", &asking.id(2), "--answer", "deny"]);
        let denied = waiting.join().unwrap();
        assert!(denied.contains("needs the consent of a person, which was not given") && denied.contains("[exit 1]"));
    });
    golden("consent", &text.join("\n"));
}

/// Text of servers and callers is escaped, nothing is answered by mistake, and Ctrl-C leaves questions waiting.
#[test]
fn s17_questions_are_asked_at_the_terminal() {
    let asking = Asking::start("consent-terminal");
    let mut terminal = Terminal::start_with(&["gateway", "consent"], &vars(&asking.place));
    terminal.wait_for("waiting for questions of 1 gateway, until Ctrl-C");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| asking.call("Oslo", "2025-11-25"));
        terminal.wait_for("[o]nce, [s]ession, [a]lways, [d]eny:");
        for wrong in ["", "yes"] {
            terminal.press(&format!("{wrong}\r"));
            terminal.wait_for(&format!("{}\n  [o]nce", format!("[d]eny: {wrong}").trim_end()));
        }
        terminal.press("s\r");
        terminal.wait_for("answered");
        assert!(waiting.join().unwrap().contains("\"city\": \"Oslo\""));
    });
    let grants = asking.run(GRANTS);
    assert!(grants.contains("PID.1  session") && grants.contains("tool shop/forecast"), "{grants}");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| asking.call("\u{1b}]0;gotcha\u{7}\u{1b}[2J\u{202e}", "2026-07-28"));
        terminal.wait_for("[o]nce, [a]lways, [d]eny:");
        asking.run(&["gateway", "consent", "--answer", "deny", &asking.id(2)]);
        assert!(waiting.join().unwrap().contains("which was not given"));
        // What is typed for a question that has gone answers no other one.
        terminal.wait_for("press Enter to continue.");
        let waiting = scope.spawn(|| asking.call("Rome", "2026-07-28"));
        asking.until(LIST, "PID.3");
        terminal.press("o\r");
        terminal.wait_for("{\"city\":\"Rome\"}\n  [o]nce, [a]lways, [d]eny:");
        terminal.press("\u{3}");
        golden("terminal-consent", &asking.masked(&terminal.end()));
        assert!(asking.run(LIST).contains("PID.3"), "it waits");
        asking.run(&["gateway", "consent", "--answer", "deny", &asking.id(3)]);
        assert!(waiting.join().unwrap().contains("which was not given"));
    });
}
