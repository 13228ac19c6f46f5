//! `couplet inspect`: the service behind the page. The page itself is tested in a browser (`cargo xtask browser`).

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::kit::{Folder, TIMEOUT, couplet, golden, run, shop};

const COUPLET: &str = env!("CARGO_BIN_EXE_couplet");

/// A running `couplet inspect`.
pub(crate) struct Inspect {
    child: Child,
    address: String,
    token: String,
}

impl Drop for Inspect {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Inspect {
    fn start(args: &[&str]) -> Self {
        Self::start_with(args, &[])
    }

    /// Starts it with environment variables.
    pub(crate) fn start_with(args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = couplet();
        command.envs(env.iter().copied());
        command.args(["inspect", "--no-open", "--json"]).args(args).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let url = said["url"].as_str().unwrap().strip_prefix("http://").unwrap();
        let (address, token) = url.split_once("/#token=").unwrap();
        Self { address: address.to_owned(), token: token.to_owned(), child }
    }

    /// Sends a request, and returns the body of the response.
    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let (host, token, length) = (&self.address, &self.token, body.len());
        let head = format!(
            "{method} /{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             content-length: {length}\r\n{headers}\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{reply}");
        match head.contains("transfer-encoding: chunked") {
            true => unchunked(body),
            false => body.to_owned(),
        }
    }

    pub(crate) fn json(&self, method: &str, path: &str, body: &Value) -> Value {
        serde_json::from_str(&self.send(method, path, "", &body.to_string())).unwrap()
    }

    /// Waits until a target is in a state.
    pub(crate) fn until(&self, target: usize, state: &str) -> Value {
        let began = Instant::now();
        loop {
            let found = self.json("GET", "api/targets", &json!({}))["targets"][target].clone();
            if found["state"] == state {
                return found;
            }
            assert!(began.elapsed() < TIMEOUT, "never `{state}`: {found}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Calls a tool as the page does.
    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let revision = "2026-07-28";
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments, "_meta": {
                "io.modelcontextprotocol/protocolVersion": revision,
                "io.modelcontextprotocol/clientInfo": { "name": "page", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {} } } });
        let headers = format!(
            "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n\
             mcp-protocol-version: {revision}\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n"
        );
        serde_json::from_str(&self.send("POST", "mcp/t1", &headers, &body.to_string())).unwrap()
    }
}

/// Joins the chunks of a body.
fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        whole.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
        if size == 0 {
            break;
        }
    }
    whole
}

#[test]
fn messages_are_recorded_as_replay_reads_them() {
    let (shop, folder) = (shop(), Folder::new("inspect"));
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let inspect = Inspect::start(&[&shop, "--revision", revision]);
        let state = inspect.until(0, "connected");
        assert_eq!((state["revision"].as_str(), state["kind"].as_str()), (Some(revision), Some("command")));
        let answer = inspect.call("add", &json!({ "a": 1, "b": 2 }));
        assert_eq!(answer["result"]["content"][0]["text"], "3", "{answer}");
        let log = folder.file(&format!("{revision}.jsonl"));
        fs::write(&log, inspect.send("GET", "api/export?format=jsonl&target=t1", "", "")).unwrap();
        let valid = run(&["validate", &log]);
        assert!(valid.contains("[exit 0]"), "{revision}: {valid}");
        // The recording is a target itself.
        let recorded = Inspect::start(&[&log]);
        let state = recorded.until(0, "ended");
        assert_eq!((state["revision"].as_str(), state["kind"].as_str()), (Some(revision), Some("recording")));
        assert_eq!(state["server"]["name"], "shop");
        let said = fs::read_to_string(&log).unwrap();
        let again = recorded.send("GET", "api/export?format=jsonl", "", "");
        assert_eq!(again, said, "the messages and their times are the same");
    }
}

#[test]
fn a_host_sees_the_server_behind_a_tap() {
    let shop = shop();
    let tapped = format!("{COUPLET} inspect --tap -- {shop}");
    let text = run(&["call", &tapped, "add", "a=1", "b=2"]);
    assert!(text.contains("\n3\n") && text.contains("[exit 0]"), "{text}");
    let dies = couplet().args(["inspect", "--tap", "--", &shop, "dies"]).output().unwrap();
    assert_eq!(dies.status.code(), Some(3), "the exit code is the server's");
    let said = String::from_utf8_lossy(&dies.stderr).into_owned();
    assert!(said.starts_with("inspector: http://127.0.0.1:") && said.contains("cannot open the till"), "{said}");
    assert!(dies.stdout.is_empty());
}

/// What the page of a tapped server shows: its standard error, and its end.
#[cfg(unix)]
#[test]
fn a_tap_shows_standard_error_and_the_end() {
    let script = "echo cannot open the till >&2; read line; echo closed >&2; exit 3";
    let mut command = couplet();
    command.args(["inspect", "--tap", "--", "sh", "-c", script]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let url = said.next().unwrap().strip_prefix("inspector: http://").unwrap().to_owned();
    let (address, token) = url.split_once("/#token=").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let request = format!("GET /api/feed HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut feed = BufReader::new(stream).lines();
    let mut until = |text: &str| {
        let found = feed.by_ref().map_while(Result::ok).any(|line| line.contains(text));
        assert!(found, "the feed ended without `{text}`");
    };
    until(r#""kind":"stderr","text":"cannot open the till""#);
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    until(r#""kind":"stderr","text":"closed""#);
    until("the server has ended with status 3");
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert_eq!(said.collect::<Vec<_>>(), ["cannot open the till", "closed"], "it is passed on");
}

#[test]
fn the_tools_of_the_command_are_there() {
    let shop = shop();
    let inspect = Inspect::start(&[&shop, &format!("{shop} dies")]);
    inspect.until(0, "connected");
    let failed = inspect.until(1, "failed");
    assert!(failed["detail"].as_str().unwrap().contains("cannot open the till"), "{failed}");
    let lint = inspect.json("POST", "api/targets/t1/lint", &json!({}));
    let findings = lint["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["rule"].is_string() && finding["kind"].is_string()), "{lint}");
    let order = json!({ "tool": "add", "arguments": { "a": 1, "b": 2 }, "concurrency": 2, "calls": 50 });
    let bench = inspect.send("POST", "api/targets/t1/bench", "", &order.to_string());
    let last = bench.trim_end().rsplit("data: ").next().unwrap();
    let result = serde_json::from_str::<Value>(last).unwrap()["result"].clone();
    assert_eq!((&result["calls"], &result["errors"]), (&json!(50), &json!(0)), "{bench}");
    let counted = result["histogram"].as_array().unwrap().iter().map(|bar| bar[1].as_u64().unwrap());
    assert_eq!(counted.sum::<u64>(), 50, "{bench}");
    let order = json!({ "method": "tools/call", "params": { "name": "add", "arguments": { "a": 1, "b": 2 } } });
    let compared = inspect.json("POST", "api/targets/t1/compare", &order);
    let columns = compared["columns"].as_array().unwrap();
    assert!(columns.len() == 5 && columns.iter().all(|column| column["ok"] == true), "{compared}");
}

#[test]
fn what_cannot_be_inspected_is_said() {
    let text = [
        run(&["inspect", "--no-open", "there-is-no-such.jsonl"]),
        run(&["inspect", "--no-open", "there-is-no-such-server"]),
        run(&["inspect", "--tap"]),
        run(&["inspect", "--tap", "--", "there-is-no-such-program"]),
    ];
    let text = text.join("\n");
    let masked: Vec<_> = text
        .lines()
        .map(|line| line.split_once("#token=").map_or(line.to_owned(), |(line, _)| format!("{line}#token=…")))
        .collect();
    golden("inspect", &(masked.join("\n") + "\n"));
}
