//! The program itself: on standard input and output, and on the network.

use std::process::Stdio;

use couplet::{ProtocolVersion, prelude::*};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStderr},
};

use crate::kit::connect;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_couplet-everything");

#[couplet::test]
async fn standard_input_and_output(version: ProtocolVersion) {
    let client = connect(Command::new(PROGRAM), version).await;
    assert_eq!(client.call("echo", json!({ "message": "hi" })).await.unwrap().text(), "Echo: hi");
    client.close().await.unwrap();
}

#[couplet::test]
async fn http_in_every_revision() {
    let (_child, address, _log) = listening(&["--page-size", "5"], &[]).await;
    for &version in ProtocolVersion::ALL {
        let client = connect(couplet::http::connect(&*address), version).await;
        assert_eq!(client.call("get-sum", json!({ "a": 2, "b": 3 })).await.unwrap().text(), "The sum of 2 and 3 is 5.");
        // A parameter in a header; pages.
        let greeting = client.call("greet-region", json!({ "region": "Østlandet" })).await.unwrap();
        assert_eq!(greeting.text(), "Hello, Østlandet!");
        assert!(client.tools().await.unwrap().len() > 20);
        client.close().await.unwrap();
    }
}

/// Starts the program with HTTP: the process, its address, and the rest of its standard error.
pub(crate) async fn listening(flags: &[&str], env: &[(&str, &str)]) -> (Child, String, BufReader<ChildStderr>) {
    let mut program = tokio::process::Command::new(PROGRAM);
    program.args(["--http", "127.0.0.1:0"]).args(flags).envs(env.iter().copied()).env_remove("RUST_LOG");
    let mut child = program.stderr(Stdio::piped()).kill_on_drop(true).spawn().expect("it starts");
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut address = String::new();
    log.read_line(&mut address).await.unwrap();
    (child, address.trim_end().to_owned(), log)
}

#[couplet::test]
async fn attack_20_the_environment_is_not_for_everyone() {
    let env = [("COUPLET_SEEN", "seen"), ("NAMED_BY_FLAG", "named"), ("SOME_SECRET", "swordfish")];
    let (_child, address, _log) = listening(&["--show-env", "NAMED_BY_FLAG"], &env).await;
    let client = connect(couplet::http::connect(&*address), ProtocolVersion::V2026_07_28).await;
    let shown = client.call("get-env", json!({})).await.unwrap().text();
    assert!(shown.contains("\"seen\"") && shown.contains("\"named\""), "{shown}");
    assert!(!shown.contains("swordfish") && !shown.contains("PATH"), "{shown}");
    client.close().await.unwrap();
    // A client that started the program has set the environment itself.
    let client = connect(Command::new(PROGRAM).env("SOME_SECRET", "swordfish"), ProtocolVersion::V2026_07_28).await;
    assert!(client.call("get-env", json!({})).await.unwrap().text().contains("swordfish"));
    client.close().await.unwrap();
}

/// Calls a tool that takes a while, sends a signal once it runs, and gives back what it said.
#[cfg(unix)]
async fn call_and_signal(client: &Client, child: &Child, signal: &'static str) -> String {
    let pid = child.id().expect("it runs").to_string();
    let once = std::sync::Once::new();
    let arguments = json!({ "duration": 0.4, "steps": 4 });
    let call = client.call("trigger-long-running-operation", arguments).on_progress(move |_| {
        once.call_once(|| {
            assert!(std::process::Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        });
    });
    call.await.unwrap().text()
}

#[cfg(unix)]
#[couplet::test]
async fn attack_16_a_signal_lets_calls_finish_over_http() {
    for signal in ["TERM", "INT"] {
        let (mut child, address, mut log) = listening(&[], &[]).await;
        let client = connect(couplet::http::connect(&*address), ProtocolVersion::V2025_11_25).await;
        let said = call_and_signal(&client, &child, signal).await;
        assert!(said.starts_with("Long running operation completed"), "{said}");
        drop(client);
        assert_eq!(child.wait().await.unwrap().code(), Some(0), "{signal}");
        let mut rest = String::new();
        log.read_to_string(&mut rest).await.unwrap();
        assert!(rest.contains("INFO") && rest.contains("graceful shutdown"), "{rest}");
    }
}

#[cfg(unix)]
#[couplet::test]
async fn attack_16_a_signal_lets_calls_finish_over_stdio() {
    for signal in ["TERM", "INT"] {
        let mut program = tokio::process::Command::new(PROGRAM);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = program.spawn().expect("it starts");
        let (input, output) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let client = connect(couplet::stdio::pipe(input, output), ProtocolVersion::V2026_07_28).await;
        let said = call_and_signal(&client, &child, signal).await;
        assert!(said.starts_with("Long running operation completed"), "{said}");
        assert_eq!(child.wait().await.unwrap().code(), Some(0), "{signal}");
        drop(client);
    }
}

#[cfg(unix)]
#[couplet::test]
async fn attack_16_logs_can_be_json() {
    let (mut child, first, mut log) = listening(&["--log-format", "json"], &[]).await;
    let line: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert!(line["level"] == "INFO" && line["url"].as_str().unwrap().ends_with("/mcp"), "{line}");
    let pid = child.id().expect("it runs").to_string();
    assert!(std::process::Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    let mut rest = String::new();
    log.read_to_string(&mut rest).await.unwrap();
    assert!(rest.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{rest}");
}

#[couplet::test]
async fn attack_16_limits_and_hosts_are_flags() {
    let (_child, address, _log) = listening(&["--max-body", "1K", "--allow-host", "mcp.example.com"], &[]).await;
    for (host, size, expected) in
        [("mcp.example.com", 2000, "413"), ("other.example.com", 20, "403"), ("mcp.example.com", 20, "400")]
    {
        let status = post(&address, host, size).await;
        assert!(status.starts_with(&format!("HTTP/1.1 {expected}")), "{host} {size}: {status}");
    }
}

/// Posts so many blanks, as a client that thinks that the server has this name.
async fn post(address: &str, host: &str, size: usize) -> String {
    let place = address.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut stream = tokio::net::TcpStream::connect(place).await.unwrap();
    let accept = "accept: application/json, text/event-stream\r\ncontent-type: application/json";
    let head = format!("POST /mcp HTTP/1.1\r\nhost: {host}\r\n{accept}\r\ncontent-length: {size}\r\n\r\n");
    stream.write_all((head + &" ".repeat(size)).as_bytes()).await.unwrap();
    let mut status = String::new();
    BufReader::new(stream).read_line(&mut status).await.unwrap();
    status
}

#[test]
fn startup_errors_are_reported() {
    for (flags, says) in [
        (&["--http", "nowhere"][..], "couplet-everything: cannot listen on `nowhere`"),
        (&["--bogus"], "unexpected argument '--bogus'"),
        (&["--http", "systemd"], "cannot listen on `systemd`: no socket was passed"),
        (&["--http", "0", "--metrics", "nowhere"], "cannot listen on `nowhere`"),
        (&["--state-key-file", "nowhere"], "cannot use `nowhere` as a key"),
        (&["--state-key-file", "Cargo.toml"], "is not a hexadecimal digit"),
        (&["--trust-proxy", "10.0.0.0/99"], "expected an address, a network such as 10.0.0.0/8, or unix"),
    ] {
        let output = std::process::Command::new(PROGRAM).args(flags).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(says), "{flags:?}: {said}");
    }
}
