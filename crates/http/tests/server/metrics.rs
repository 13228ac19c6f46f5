//! What is counted, and the text that Prometheus reads.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    process::{Command, Stdio},
    sync::Arc,
};

use couplet_core::{Limits, Transport};
use couplet_http::server::{Endpoint, HttpTransport};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

use crate::{
    listen::{ask, post},
    skipped::skipped,
    store::{Fault, TestStore},
    support::{POLLING, Seen, Session, alone, call, endpoint, eventually, initialize, limits, request, send, server},
};

/// Samples by name and labels.
type Samples = BTreeMap<String, f64>;

/// Parses the text strictly: every series has its help and its type in front of it, once, and a histogram is complete.
fn parse(text: &str) -> Samples {
    let (mut samples, mut families) = (Samples::new(), BTreeSet::new());
    let (mut family, mut kind) = (String::new(), String::new());
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, what) = help.split_once(' ').unwrap();
            assert!(!what.is_empty() && families.insert(name.to_owned()), "{line}");
            family = name.to_owned();
            kind.clear();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, is) = rest.split_once(' ').unwrap();
            assert!(name == family && kind.is_empty() && ["counter", "gauge", "histogram"].contains(&is), "{line}");
            assert_eq!(is == "counter", name.ends_with("_total"), "{line}");
            kind = is.to_owned();
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = series.split_once('{').map_or((series, ""), |(name, labels)| (name, labels));
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{line}");
            assert!(labels.is_empty() || is_labels(labels.strip_suffix('}').unwrap()), "{line}");
            let suffixes: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(suffixes.iter().any(|suffix| name == format!("{family}{suffix}")), "{line}");
            let value: f64 = value.parse().unwrap();
            assert!(value >= 0.0 && samples.insert(series.to_owned(), value).is_none(), "{line}");
        }
    }
    for (series, count) in samples.iter().filter(|(series, _)| series.contains("_count{")) {
        let infinite = series.replace("_count{", "_bucket{").replace('}', ",le=\"+Inf\"}");
        assert_eq!(samples.get(&infinite), Some(count), "{series}");
    }
    samples
}

fn is_labels(labels: &str) -> bool {
    labels.split(',').all(|label| {
        let (name, value) = label.split_once("=\"").unwrap();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_/+.".contains(&byte);
        !name.is_empty() && value.strip_suffix('"').is_some_and(|value| value.bytes().all(is_plain))
    })
}

#[track_caller]
fn has(endpoint: &Endpoint, series: &str, expected: f64) {
    let text = endpoint.metrics();
    assert_eq!(parse(&text).get(series).copied().unwrap_or(0.0), expected, "{series} in {text}");
}

fn tool(name: &str) -> http::Request<String> {
    alone("tools/call", json!({ "name": name }), &[])
}

#[tokio::test(start_paused = true)]
async fn calls_are_counted_by_method_and_outcome() {
    let (endpoint, seen) = endpoint();
    let calls = |outcome: &str| format!("couplet_requests_total{{method=\"tools/call\",outcome=\"{outcome}\"}}");
    send(&endpoint, tool("hello")).await;
    has(&endpoint, &calls("ok"), 1.0);
    send(&endpoint, tool("nothing")).await;
    has(&endpoint, &calls("error"), 1.0);
    send(&endpoint, tool("ask")).await;
    has(&endpoint, &calls("input_required"), 1.0);
    let arguments = json!({ "name": "echo", "arguments": { "region": 5 } });
    let wrong = alone("tools/call", arguments, &[("mcp-param-region", "5")]);
    assert_eq!(send(&endpoint, wrong).await.json().await["result"]["isError"], true);
    has(&endpoint, &calls("tool_error"), 1.0);
    drop(send(&endpoint, tool("forever")).await);
    eventually(|| seen.dropped() == 1).await;
    has(&endpoint, &calls("cancelled"), 1.0);
    has(&endpoint, "couplet_request_duration_seconds_count{method=\"tools/call\"}", 5.0);
    let impatient = endpoint.clone().limits(limits(|l| l.request_time = std::time::Duration::from_secs(1)));
    send(&impatient, tool("gate")).await;
    has(&endpoint, &calls("timeout"), 1.0);
}

#[tokio::test]
async fn no_string_of_a_client_is_a_label() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    for method in ["evil\"} 1\n", "users/alice", "tools/call/"] {
        session.post(&call(1, method, &json!({}))).await;
        send(&endpoint, alone("tools/call", json!({ "name": "\"evil" }), &[])).await;
    }
    let text = endpoint.metrics();
    parse(&text);
    for (method, count) in [("other", 3), ("tools/call", 3), ("initialize", 1), ("notifications/initialized", 1)] {
        assert!(text.contains(&format!("couplet_messages_total{{method=\"{method}\"}} {count}\n")), "{method}: {text}");
    }
    assert!(!text.contains("evil") && !text.contains("alice") && !text.contains("call/"), "{text}");
}

#[tokio::test]
async fn what_is_open_is_a_gauge() {
    let (endpoint, _) = endpoint();
    has(&endpoint, "couplet_sessions", 0.0);
    let session = Session::open(&endpoint, POLLING).await;
    let stream = session.get(None).await;
    let running = send(&endpoint, tool("forever")).await;
    for (series, expected) in [("couplet_sessions", 1.0), ("couplet_streams", 2.0), ("couplet_draining", 0.0)] {
        has(&endpoint, series, expected);
    }
    has(&endpoint, "couplet_requests_in_progress", 1.0);
    drop((stream, running));
    assert_eq!(session.delete().await.status, 204);
    endpoint.begin_drain();
    for (series, expected) in [("couplet_sessions", 0.0), ("couplet_streams", 0.0), ("couplet_draining", 1.0)] {
        has(&endpoint, series, expected);
    }
}

#[tokio::test]
async fn refusals_are_responses_with_a_status() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.limits(limits(|l| l.requests = 0));
    send(&endpoint, tool("hello")).await;
    has(&endpoint, "couplet_http_responses_total{status=\"503\"}", 1.0);
    send(&endpoint, request("POST", &[("host", "evil.example")], "")).await;
    has(&endpoint, "couplet_http_responses_total{status=\"403\"}", 1.0);
}

#[tokio::test]
async fn failures_of_stores_are_counted() {
    let (endpoint, _) = endpoint();
    let store = Arc::new(TestStore::default());
    store.break_all(Fault::Fails);
    let endpoint = endpoint.sessions(store);
    assert_eq!(send(&endpoint, request("POST", &[], initialize(POLLING).to_string())).await.status, 503);
    has(&endpoint, "couplet_store_errors_total{store=\"sessions\"}", 1.0);
    has(&endpoint, "couplet_store_duration_seconds_count{store=\"sessions\"}", 1.0);
    has(&endpoint, "couplet_store_errors_total{store=\"events\"}", 0.0);
}

async fn get(address: &str, path: &str, host: &str) -> String {
    let text = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    ask(&mut TcpStream::connect(address).await.unwrap(), &text).await
}

#[tokio::test]
async fn metrics_have_a_path_and_may_have_an_address_of_their_own() {
    let bind = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (own, other) = (bind().await, bind().await);
    let (address, operators) = (own.local_addr().unwrap().to_string(), other.local_addr().unwrap().to_string());
    let transport = HttpTransport::from_listener(own).metrics("/numbers").metrics_listener(other);
    let shutdown = transport.shutdown();
    let task = tokio::spawn(transport.serve(Arc::new(server(&Seen::default())), Limits::default()));
    ask(&mut TcpStream::connect(&address).await.unwrap(), &post(&call(1, "ping", &json!({})), "")).await;
    for (place, path) in [(&address, "/numbers"), (&operators, "/metrics")] {
        let text = get(place, path, "192.0.2.1:9464").await;
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{text}");
        assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{text}");
        let samples = parse(body);
        assert_eq!(samples["couplet_http_responses_total{status=\"200\"}"], 1.0, "{text}");
        assert!(samples["couplet_connections_total"] >= 1.0, "{text}");
    }
    // A page that was led to this machine by a name of its own.
    for (place, path) in [(&address, "/numbers"), (&operators, "/metrics")] {
        assert!(get(place, path, "evil.example").await.starts_with("HTTP/1.1 403"));
    }
    let paths = [(&address, "/metrics", "404"), (&operators, "/mcp", "404"), (&operators, "/ready", "200")];
    for (place, path, expected) in paths {
        let text = get(place, path, "localhost").await;
        assert!(text.starts_with(&format!("HTTP/1.1 {expected}")), "{path}: {text}");
    }
    shutdown.trigger();
    task.await.unwrap().unwrap();
    assert!(TcpStream::connect(&operators).await.is_err());
}

#[tokio::test]
async fn prometheus_accepts_the_text() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    session.tool(1, "hello").await;
    send(&endpoint, tool("hello")).await;
    let text = endpoint.metrics();
    assert!(parse(&text).len() > 20, "{text}");
    let program =
        Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut program) = program else {
        skipped("`promtool` is not installed");
        return;
    };
    program.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = program.wait_with_output().unwrap();
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
}
