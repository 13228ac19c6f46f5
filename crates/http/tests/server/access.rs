//! What is logged of requests.

use serde_json::json;

use crate::{
    log::Log,
    support::{POLLING, Session, alone, by_user, call, endpoint, request, send},
};

fn lines(log: &Log) -> Vec<String> {
    log.text().lines().filter(|line| line.contains("message=request ")).map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn each_request_has_a_line_when_it_is_over() {
    let (log, _guard) = Log::start();
    let (endpoint, _) = endpoint();
    let endpoint = by_user(endpoint);
    let check = |words: &[&str]| {
        let lines = lines(&log);
        let line = lines.last().expect("there is a line");
        for word in words.iter().chain(&["milliseconds=", "path=\"/mcp\""]) {
            assert!(line.contains(word), "no `{word}` in {line}");
        }
        lines.len()
    };
    let mut ping = request("POST", &[("x-user", "alice")], call(1, "ping", &json!({})).to_string());
    *ping.uri_mut() = "/mcp?token=secret".parse().unwrap();
    send(&endpoint, ping).await;
    assert_eq!(check(&["method=\"POST\"", "status=200", "rpc=\"ping\"", "principal=\"alice\""]), 1);
    send(&endpoint, request("POST", &[("host", "evil.example")], "")).await;
    assert_eq!(check(&["status=403"]), 2);
    assert_eq!(send(&endpoint, request("PUT", &[], "")).await.status, 405);
    assert_eq!(check(&["method=\"PUT\"", "status=405"]), 3);
    // A stream has its line at its end.
    let mut reply = send(&endpoint, alone("tools/call", json!({ "name": "slow" }), &[])).await;
    assert_eq!(lines(&log).len(), 3);
    assert_eq!(reply.body.messages().await.len(), 11);
    drop(reply);
    assert_eq!(check(&["status=200", "rpc=\"tools/call\""]), 4);
    // So has a request whose client hangs up.
    let call = send(&endpoint, alone("tools/call", json!({ "name": "quiet" }), &[]));
    assert!(tokio::time::timeout(std::time::Duration::from_secs(1), call).await.is_err());
    assert_eq!(check(&["status=499", "rpc=\"tools/call\""]), 5);
    let session = Session::open(&endpoint, POLLING).await;
    session.delete().await;
    assert_eq!(check(&["method=\"DELETE\"", "status=204"]), 8);
    assert!(!log.text().contains("secret") && !log.text().contains("slow"), "{}", log.text());
}

#[tokio::test]
async fn a_host_that_is_refused_is_named_once_with_what_to_do() {
    let (log, _guard) = Log::start();
    let (endpoint, _) = endpoint();
    for _ in 0..3 {
        for (name, value) in [("host", "mcp.example.com:8443"), ("origin", "https://app.example.com")] {
            assert_eq!(send(&endpoint, request("POST", &[(name, value)], "")).await.status, 403);
        }
    }
    let warnings = log.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains(".allow_host(\"mcp.example.com\")"), "{warnings:?}");
    assert!(warnings[1].contains(".allow_origin(\"https://app.example.com\")"), "{warnings:?}");
}
