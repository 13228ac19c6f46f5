//! Servers that mean no good: what a call comes to, what the client holds meanwhile, and what it says.

use std::time::Instant;

use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::{
    peer::{
        Peer,
        http::{POLLING, STATELESS},
        memory::say,
    },
    raw::Flow,
    request::read_request,
};

const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const JSON: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
const REFUSED: &str = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n\r\n";

/// A name, what the server sends to a call, and the words that have to be in the error.
type Case = (&'static str, Flow, &'static [&'static str]);

fn note(message: &Value) -> String {
    format!("data: {message}\n\n").repeat(100)
}

fn cases() -> Vec<Case> {
    let endless = |first: &str, then: &str| Flow::once(first).then(then.repeat(64), usize::MAX);
    let log =
        json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": "x" } });
    // What the client gives as the token of a call is the number that it gives to the call.
    let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress",
        "params": { "progressToken": "TOKEN", "progress": 1 } });
    let other = json!({ "jsonrpc": "2.0", "id": 99_999, "result": {} });
    let too_long = &["Protocol: an event of the server is longer than 16777216 bytes"][..];
    let too_late =
        &["Timeout: `tools/call` was not answered within 3s and was cancelled", "`timeout` sets how long"][..];
    let far_too_late = &["Timeout: `tools/call` was not answered within 9s", "`max_timeout` sets how long"][..];
    vec![
        ("a line without an end", endless(EVENTS, "data: xxxxxxxxxxxxxxxx"), too_long),
        ("an event without an end", endless(EVENTS, "data: xxxxxxxxxxxxxxxx\n"), too_long),
        ("a comment without an end", endless(EVENTS, ": xxxxxxxxxxxxxxxx"), too_long),
        ("an event of fields that mean nothing", endless(EVENTS, "x\n"), too_long),
        ("comments", endless(EVENTS, ":\n\n"), too_late),
        ("notifications", endless(EVENTS, &note(&log)), too_late),
        ("answers to others", endless(EVENTS, &note(&other)), too_late),
        ("what is no message", endless(EVENTS, "data: {\n\n"), too_late),
        ("progress", endless(EVENTS, &note(&progress)), far_too_late),
        ("silence", Flow::once(EVENTS), too_late),
        ("no response", Flow::once(""), too_late),
        ("responses that are none yet", endless("", "HTTP/1.1 103 Early Hints\r\n\r\n"), too_late),
        ("a message without an end", endless(JSON, "[[[[[[[["), &["Protocol", "longer than 16777216 bytes"]),
        ("an explanation without an end", endless(REFUSED, "{{{{{{{{"), &["Transport", "refused", "400 Bad Request"]),
        (
            "a header without an end",
            endless("HTTP/1.1 200 OK\r\nx-a: ", "xxxxxxxxxxxxxxxx"),
            &["Transport: `127.0.0.1:", "did not answer", "message head is too large"],
        ),
        (
            "headers without an end",
            endless("HTTP/1.1 200 OK\r\n", "x-a: b\r\n"),
            &["Transport: `127.0.0.1:", "did not answer", "message head is too large"],
        ),
        (
            "a way in circles",
            Flow::once("HTTP/1.1 307 Temporary Redirect\r\nlocation: /mcp\r\ncontent-length: 0\r\n\r\n"),
            &["Transport: the server redirects more than 3 times"],
        ),
        ("no HTTP", endless("", "SSH-2.0-OpenSSH\r\n"), &["Transport: `127.0.0.1:", "did not answer"]),
    ]
}

#[tokio::test]
async fn each_ends_in_a_clear_error_and_the_client_stays_small() {
    let mut visits = JoinSet::new();
    let in_both = |case: Case| [(STATELESS, case.clone()), (POLLING, case)];
    for (version, case) in cases().into_iter().flat_map(in_both) {
        if visits.len() == 4 {
            visits.join_next().await.unwrap().unwrap();
        }
        visits.spawn(visit(version, case));
    }
    visits.join_all().await;
}

/// Lets a client visit the server, and looks at what comes of it.
async fn visit(version: &'static str, (name, flow, words): Case) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serving = tokio::spawn(serve(listener, flow));
    let began = Instant::now();
    let mut visitor =
        Peer::start("visitor", &[("url", &url), ("version", &version), ("timeout", &3_000), ("max_timeout", &9_000)]);
    let outcome = visitor.says("outcome").await;
    let peak: u64 = visitor.says("peak").await.parse().unwrap();
    serving.abort();
    say(&format!("{name}, {version}: {outcome}\n  {peak} kB at most, {:.1?}", began.elapsed()));
    for word in words {
        assert!(outcome.contains(word), "{name}, {version}: no `{word}` in: {outcome}");
    }
    // A message may have 16 MiB, and it may be held twice while it grows.
    assert!(peak < 90_000, "{name}, {version}: {peak} kB");
}

/// Serves like anybody else, but for calls.
async fn serve(listener: TcpListener, flow: Flow) {
    let mut open = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        open.spawn(talk(socket, flow.clone()));
    }
}

async fn talk(mut socket: TcpStream, flow: Flow) {
    while let Some((head, body)) = read_request(&mut socket).await {
        let result = match body["method"].as_str() {
            Some("server/discover") => json!({
                "resultType": "complete", "supportedVersions": [STATELESS], "capabilities": { "tools": {} },
                "serverInfo": { "name": "server", "version": "1" }, "ttlMs": 0, "cacheScope": "private",
            }),
            Some("initialize") => json!({
                "protocolVersion": POLLING, "capabilities": { "tools": {} },
                "serverInfo": { "name": "server", "version": "1" },
            }),
            Some("tools/call") => {
                let token = body["params"]["_meta"]["progressToken"].to_string();
                let then = String::from_utf8(flow.then.clone()).unwrap().replace("\"TOKEN\"", &token);
                Flow { then: then.into(), ..flow.clone() }.write(&mut socket).await;
                continue;
            }
            _ => {
                let status = if head.starts_with("GET") { "405 Method Not Allowed" } else { "202 Accepted" };
                let _ = socket.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes()).await;
                continue;
            }
        };
        let answer = json!({ "jsonrpc": "2.0", "id": body["id"], "result": result }).to_string();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}", answer.len());
        let _ = socket.write_all(format!("{head}\r\n\r\n{answer}").as_bytes()).await;
    }
}
