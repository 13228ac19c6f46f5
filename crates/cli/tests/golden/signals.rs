//! Signals stop the command and its child processes.
#![cfg(unix)]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::fs::PermissionsExt,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::kit::{Folder, TIMEOUT, couplet, odd, run, shop};

/// Sends a signal; whether there was a process to get it.
fn signal(name: &str, pid: &str) -> bool {
    Command::new("kill").args(["-s", name, pid]).stderr(Stdio::null()).status().unwrap().success()
}

/// Waits for something that is so in no time, unless something is broken.
#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a command with a server that does not want to end, and waits until the server runs: both.
fn stubborn(folder: &Folder, command: &str, name: &str) -> (Child, String) {
    let (odd, file, log) = (odd(), folder.file(name), folder.file("log.jsonl"));
    let server = format!("{odd} stubborn {file}");
    let args = match command {
        "tap" => vec!["tap", "--log", &log, &odd, "stubborn", &file],
        command => vec![command, &server],
    };
    let args = if command == "call" { [&args[..], &["x"]].concat() } else { args };
    let mut command = couplet();
    let mut child =
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // A tap says nothing by itself. The input stays open.
    child.stdin.as_mut().unwrap().write_all(b"{}\n").unwrap();
    until("the server starts", || fs::metadata(&file).is_ok());
    (child, fs::read_to_string(&file).unwrap())
}

#[test]
fn attack_08_signals_end_a_server_that_does_not_want_to() {
    let folder = Folder::new("signals");
    for command in ["call", "run", "tap"] {
        for (sent, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
            let (mut child, server) = stubborn(&folder, command, &format!("{command}-{sent}"));
            assert!(signal("0", &server), "it runs");
            assert!(signal(sent, &child.id().to_string()));
            assert_eq!(child.wait().unwrap().code(), Some(code), "{command} {sent}");
            until("the server is gone", || !signal("0", &server));
        }
    }
}

#[test]
fn attack_08_a_command_that_is_killed_leaves_no_server() {
    let folder = Folder::new("killed");
    for command in ["call", "run", "tap"] {
        let (mut child, server) = stubborn(&folder, command, command);
        assert!(signal("KILL", &child.id().to_string()));
        assert_eq!(child.wait().unwrap().code(), None, "{command}");
        until("the server is gone", || !signal("0", &server));
    }
}

#[test]
fn attack_16_a_bridge_lets_calls_finish() {
    let (shop, folder) = (shop(), Folder::new("drain"));
    for name in ["TERM", "INT"] {
        let mut bridge = couplet()
            .args(["run", &shop, "--http", "127.0.0.1:0", "--sse"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(bridge.stderr.take().unwrap());
        let mut said = String::new();
        let url = loop {
            let start = said.len();
            assert!(errors.read_line(&mut said).unwrap() > 0, "{said}");
            if let Some(url) = said[start..].trim().strip_prefix("serving at ") {
                break url.to_owned();
            }
        };
        let file = folder.file(name);
        let mut call = couplet()
            .args(["call", &url, "slow", &format!("until={file}"), "-v"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut progress = BufReader::new(call.stderr.take().unwrap()).lines();
        assert!(progress.any(|line| line.unwrap().starts_with("progress")), "it runs");
        assert!(signal(name, &bridge.id().to_string()));
        // The bridge says so when it has heard the signal.
        until("it drains", || {
            errors.read_line(&mut said).unwrap();
            said.contains("graceful shutdown")
        });
        fs::write(&file, "").unwrap();
        let mut result = String::new();
        call.stdout.take().unwrap().read_to_string(&mut result).unwrap();
        assert_eq!((result.as_str(), call.wait().unwrap().code()), ("done\n", Some(0)), "{name}");
        assert_eq!(bridge.wait().unwrap().code(), Some(0), "{name}");
        assert!(said.contains("HTTP+SSE clients connect with a GET at the same address"), "{said}");
    }
}

#[test]
fn recordings_are_private_and_keep_every_byte() {
    let folder = Folder::new("private");
    let log = folder.file("log.jsonl");
    let output = couplet().args(["tap", "--log", &log, &odd(), "bytes"]).output().unwrap();
    assert_eq!(output.stdout, b"caf\xe9 \xff\n", "bytes go through as they are");
    let mode = fs::metadata(&log).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let written = fs::read_to_string(&log).unwrap();
    assert!(written.contains(r#""base64":"Y2Fm6SD/""#), "{written}");
}

#[test]
fn a_tap_takes_a_command_in_one_argument_too() {
    let folder = Folder::new("tap-words");
    let log = folder.file("log.jsonl");
    for command in [&[&*shop(), "dies"][..], &[&format!("{} dies", shop())]] {
        let output = couplet().args(["tap", "--log", &log]).args(command).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{command:?}");
    }
    assert!(run(&["tap", &shop()]).contains("--log <FILE>"));
}

#[test]
fn attack_16_logs_are_chosen_by_the_environment() {
    let shop = shop();
    let bridge = |variables: &[(&str, &str)], flags: &[&str]| {
        let mut child = couplet()
            .args(["run", &shop, "--http", "127.0.0.1:0"])
            .args(flags)
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("serving at ") {
            assert!(errors.read_line(&mut said).unwrap() > 0, "{said}");
        }
        signal("TERM", &child.id().to_string());
        errors.read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        said
    };
    assert!(bridge(&[], &[]).contains("INFO"));
    assert!(!bridge(&[("RUST_LOG", "error")], &[]).contains("INFO"));
    assert!(bridge(&[], &["--log-format", "json"]).contains(r#""level":"INFO""#));
    assert!(bridge(&[("RUST_LOG", "couplet=loud")], &[]).contains("invalid `RUST_LOG`"));
}
