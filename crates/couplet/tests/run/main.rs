//! `couplet::run` as a program: this test runs itself as a child process.

#![cfg(unix)]
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that fails says so")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, ExitCode, Stdio},
};

use couplet::{Server, tool};

const ARGS: &str = "COUPLET_TEST_ARGS";

/// The server: in the child process with its arguments, and otherwise in this one.
#[tokio::test]
async fn server() {
    let args = std::env::var(ARGS);
    let server = Server::<()>::new("child", "1.2.3").tool(tool("hello", || "Hello!"));
    let code = couplet::run_with_args(server, args.as_deref().unwrap_or("--version").split_whitespace()).await;
    // A code cannot be compared or converted.
    let is = |known: ExitCode| format!("{known:?}") == format!("{code:?}");
    match [ExitCode::SUCCESS, ExitCode::FAILURE, ExitCode::from(2)].into_iter().position(is) {
        Some(code) if args.is_ok() => std::process::exit(i32::try_from(code).unwrap()),
        code => assert_eq!(code, Some(0)),
    }
}

fn start(args: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "server", "--nocapture"]).env(ARGS, args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The exit code, standard output and standard error.
fn finish(child: Child) -> (Option<i32>, String, String) {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn standard_input_and_output_by_default() {
    let mut child = start("");
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    writeln!(child.stdin.take().unwrap(), "{ask}").unwrap();
    let (code, output, error) = finish(child);
    assert_eq!(code, Some(0), "{output} {error}");
    assert!(output.contains(r#""name":"child""#), "{output}");
}

#[test]
fn http_until_a_signal() {
    let mut child = start("--http 127.0.0.1:0");
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut url = String::new();
    errors.read_line(&mut url).unwrap();
    let address = url.trim().strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /health HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(finish(child).0, Some(0));
}

#[test]
fn mistakes_are_explained() {
    for (args, want, code) in [
        ("--htpp", "child: unknown argument `--htpp`\nusage: child [--http [ADDRESS]]", 2),
        ("--http 256.0.0.1:1", "child: cannot listen on `256.0.0.1:1`", 1),
    ] {
        let (exit, _, error) = finish(start(args));
        assert_eq!(exit, Some(code), "{args}: {error}");
        assert!(error.contains(want), "{args}: {error}");
    }
}

#[test]
fn help_and_version() {
    for (args, want) in [("--help", "usage: child [--http [ADDRESS]]"), ("--version", "child 1.2.3")] {
        let (exit, output, error) = finish(start(args));
        assert_eq!(exit, Some(0), "{args}: {error}");
        assert!(output.contains(want), "{args}: {output}");
    }
}
