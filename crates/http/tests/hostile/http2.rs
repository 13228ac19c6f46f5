//! HTTP/2, frame by frame.

use std::time::Instant;

use crate::{
    peer::{Peer, http::Http, memory::say},
    raw::{Flow, send},
};

const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// What a server says when it has had enough.
const GO_AWAY: u8 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// `GET http://localhost/mcp` as HPACK: two numbers of the table, and two texts.
fn get() -> Vec<u8> {
    [&[0x82, 0x86, 0x44, 4][..], b"/mcp", &[0x41, 9], b"localhost"].concat()
}

/// A request that is taken back at once, many times.
fn rapid_reset() -> Vec<u8> {
    let pair = |stream| {
        [frame(HEADERS, END_STREAM | END_HEADERS, stream, &get()), frame(RESET, 0, stream, &[0, 0, 0, 8])].concat()
    };
    (0..50_000).flat_map(|number| pair(2 * number + 1)).collect()
}

/// The reasons that a server gives for hanging up.
fn reasons(answer: &[u8]) -> Vec<u32> {
    let mut found = Vec::new();
    let mut rest = answer;
    while rest.len() >= 9 {
        let length = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
        let Some(payload) = rest.get(9..9 + length) else { break };
        if rest[3] == GO_AWAY {
            found.push(u32::from_be_bytes([payload[4], payload[5], payload[6], payload[7]]));
        }
        rest = &rest[9 + length..];
    }
    found
}

#[tokio::test]
async fn floods_of_frames_are_cut_off() {
    // A peer that answers no pings is sent away after this.
    let peer = Peer::server(&[("keep_alive", &500), ("stall", &1_000)]).await;
    let mut http = Http::connect(&peer.address).await;
    assert_eq!(http.tool("hello").await, "Hello!");
    let before = peer.memory();
    // A literal header of 100 bytes that is not put into the table.
    let header = [&[0, 1][..], b"a", &[100], &[b'x'; 100]].concat();
    let many = header.repeat(100);
    let open = frame(HEADERS, END_STREAM, 1, &get());
    let flows = [
        ("rapid reset", Flow::once(HELLO).then(rapid_reset(), 4)),
        ("endless headers", Flow::once([HELLO, &open].concat()).then(frame(CONTINUATION, 0, 1, &many), 100_000)),
        (
            "empty headers",
            Flow::once([HELLO, &open].concat()).then(frame(CONTINUATION, 0, 1, b"").repeat(1000), 10_000),
        ),
    ];
    // Each of these has to be answered, and nothing more is read before the answer is on its way.
    let settings = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0xff, 0xff]).repeat(1000);
    let harmless = [
        ("settings", Flow::once(HELLO).then(settings, 1_000)),
        ("pings", Flow::once(HELLO).then(frame(PING, 0, 0, &[7; 8]).repeat(1000), 1_000)),
    ];
    for (is_calmed, (name, flow)) in flows.map(|f| (true, f)).into_iter().chain(harmless.map(|f| (false, f))) {
        let (offered, began) = (flow.first.len() + flow.then.len() * flow.times, Instant::now());
        let (answer, sent) = send(&peer.address, flow).await;
        let reasons = reasons(&answer);
        say(&format!("{name}: {sent} of {offered} bytes in {:.1?}, {reasons:?}", began.elapsed()));
        assert!(!is_calmed || reasons.contains(&ENHANCE_YOUR_CALM), "{name}: {reasons:?}");
        assert!(!is_calmed || sent < offered, "{name}: all was read");
    }
    say(&format!("memory: {before:?} kB before, {:?} kB after, {:?} kB at most", peer.memory(), peer.peak()));
    assert!(peer.peak().is_none_or(|kb| kb < before.unwrap_or_default() + 40_000), "{:?}", peer.peak());
    assert_eq!(http.until(|stats| stats["streams"] == 0).await["running"], 0);
}
