//! Requests that are too much, too slow, or not what they say.

use std::time::{Duration, Instant};

use crate::{
    peer::{Peer, http::Http, memory::say},
    raw::{Flow, ask},
};

const MB: usize = 1 << 20;

/// A message with these headers more, which has to be the last one of its connection.
fn post(headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}

fn sized(body: &str) -> String {
    post(&format!("content-length: {}\r\n", body.len()), body)
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

type Case = (&'static str, Flow, &'static [&'static str]);

/// What is sent, and the words that have to be in the response.
fn cases() -> Vec<Case> {
    let long = vec![b'x'; 64 << 10];
    let chunk = [b"10000\r\n", &long[..], b"\r\n"].concat();
    let gigabyte = (1 << 30) / long.len();
    let nested = "[".repeat(100_000);
    let gzip: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0xae, 5, 0, 0x43, 0xbf, 0xa6, 0xa3, 2, 0, 0, 0];
    let too_long = &["HTTP/1.1 413 ", r#""jsonrpc":"2.0""#, "-32600", "longer than 4194304 bytes"][..];
    let huge_headers = &["HTTP/1.1 431 Request Header Fields Too Large"][..];
    let text = |text: &[u8]| [post(&format!("content-length: {}\r\n", text.len()), "").as_bytes(), text].concat();
    vec![
        ("a gigabyte", Flow::once(post("content-length: 1073741824\r\n", "")).then(long, gigabyte), too_long),
        (
            "a gigabyte in chunks",
            Flow::once(post("transfer-encoding: chunked\r\n", "")).then(chunk, gigabyte),
            too_long,
        ),
        ("a header of a megabyte", Flow::once("POST /mcp HTTP/1.1\r\nx-a: ").then(vec![b'a'; MB], 1), huge_headers),
        ("endless headers", Flow::once("POST /mcp HTTP/1.1\r\n").then("x-a: b\r\n".repeat(1000), 10_000), huge_headers),
        ("an address of a megabyte", Flow::once("GET /").then(vec![b'a'; MB], 1), huge_headers),
        ("100,000 brackets", Flow::once(sized(&nested)), &["HTTP/1.1 400 ", "-32700", "nested deeper than"]),
        (
            "100,000 brackets in a call",
            Flow::once(sized(&PING.replace('}', &format!(r#","params":{{"a":{nested}}}}}"#)))),
            &["HTTP/1.1 400 ", "-32700", "nested deeper than"],
        ),
        (
            "a million values",
            Flow::once(sized(&PING.replace('}', &format!(r#","params":{{"a":[{}1]}}}}"#, "1,".repeat(1 << 20))))),
            &["HTTP/1.1 400 ", "-32700", "too many values in one message"],
        ),
        (
            "a body byte by byte",
            Flow::once(post("content-length: 1000\r\n", "")).then("[", 1000).slowly(Duration::from_millis(100)),
            &["HTTP/1.1 408 ", "-32600", "the body took longer than 1.5 s"],
        ),
        (
            "no body at all",
            Flow::once(post("content-length: 1000\r\n", "")),
            &["HTTP/1.1 408 ", "-32600", "the body took longer than 1.5 s"],
        ),
        ("no text", Flow::once(text(b"{\"jsonrpc\":\"\xff\xfe\"}")), &["HTTP/1.1 400 ", "-32700", "UTF-8"]),
        (
            "compressed",
            Flow::once(
                [post(&format!("content-encoding: gzip\r\ncontent-length: {}\r\n", gzip.len()), "").as_bytes(), gzip]
                    .concat(),
            ),
            &["HTTP/1.1 415 ", "accept-encoding: identity", "-32600", "`content-encoding`", "uncompressed"],
        ),
        (
            "a body that ends early",
            Flow::once(post("content-length: 1000\r\n", PING)).ends(),
            &["HTTP/1.1 400 ", "-32600", "the body could not be read"],
        ),
        ("two lengths", Flow::once(post("content-length: 40\r\ncontent-length: 41\r\n", PING)), &["HTTP/1.1 400 "]),
        ("a length that is none", Flow::once(post("content-length: -1\r\n", PING)), &["HTTP/1.1 400 "]),
        ("a chunk that is none", Flow::once(post("transfer-encoding: chunked\r\n", "zz\r\n")), &["HTTP/1.1 400 "]),
        ("no HTTP", Flow::once("\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}\r\n\r\n"), &["HTTP/1.1 400 "]),
    ]
}

#[tokio::test]
async fn each_ends_in_a_clear_error_within_bounds() {
    let peer = Peer::server(&[("body_time", &1500), ("header_time", &1500)]).await;
    let mut http = Http::connect(&peer.address).await;
    assert_eq!(http.tool("hello").await, "Hello!");
    let before = peer.memory();
    for (name, flow, words) in cases() {
        let (offered, began) = (flow.first.len() + flow.then.len() * flow.times, Instant::now());
        let (answer, sent) = ask(&peer.address, flow).await;
        let shown: String = answer.chars().filter(|c| *c != '\r').take(600).collect();
        say(&format!("{name}: {sent} of {offered} bytes in {:.1?}\n{shown}\n", began.elapsed()));
        for word in words {
            assert!(answer.contains(word), "{name}: no `{word}` in: {shown}");
        }
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{name}: {shown}");
        assert!(offered < 16 * MB || sent < 64 * MB, "{name}: {sent} bytes were taken");
    }
    say(&format!("memory: {before:?} kB before, {:?} kB after, {:?} kB at most", peer.memory(), peer.peak()));
    // The largest body that is allowed has 4 MiB, and it may be held twice while it grows.
    assert!(peer.peak().is_none_or(|kb| kb < before.unwrap_or_default() + 40_000), "{:?}", peer.peak());
    assert_eq!(Http::connect(&peer.address).await.tool("hello").await, "Hello!");
}

#[tokio::test]
async fn what_follows_a_request_is_another_one() {
    let peer = Peer::server(&[]).await;
    let first = sized(PING).replace("connection: close\r\n", "");
    // Garbage behind a request, or a body that is longer than it says.
    for rest in ["\0\0\0garbage\r\n\r\n", "}}}}}}}}\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"] {
        let (answer, _) = ask(&peer.address, Flow::once(format!("{first}{rest}"))).await;
        let statuses: Vec<_> = answer.match_indices("HTTP/1.1 ").map(|(at, _)| &answer[at + 9..at + 12]).collect();
        assert_eq!(statuses, ["200", "400"], "{rest:?}: {answer}");
    }
    // Where both are said, the chunks count, and nothing may hide behind them.
    let both = post("transfer-encoding: chunked\r\ncontent-length: 4\r\n", "");
    let hidden = "POST /mcp HTTP/1.1\r\nhost: evil.example.com\r\n\r\n";
    let chunks = format!("{:x}\r\n{PING}\r\n0\r\n\r\n", PING.len());
    let (answer, _) = ask(&peer.address, Flow::once(format!("{both}{chunks}{hidden}"))).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    assert!(!answer.contains("evil") && !answer.contains(" 403 "), "{answer}");
}
