//! Connections that are only held.

use std::time::{Duration, Instant};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{
    peer::{
        PATIENCE, Peer,
        http::Http,
        memory::{say, within_open_files},
    },
    raw::{Flow, ask},
};

#[tokio::test]
async fn five_thousand_silent_connections_do_not_lock_others_out() {
    let count = within_open_files(5_000);
    // There is room for fewer than come.
    let peer = Peer::server(&[("header_time", &3_000), ("connections", &(count - 500))]).await;
    assert_eq!(Http::connect(&peer.address).await.tool("hello").await, "Hello!");
    let (before, began) = (peer.memory(), Instant::now());
    let beginnings: [&[u8]; 4] = [b"", b"P", b"PRI * HTTP/2.0\r\n", b"POST /mcp HTTP/1.1\r\nhost: "];
    let mut silent = Vec::new();
    for number in 0..count {
        let mut socket = timeout(PATIENCE, TcpStream::connect(&peer.address)).await.unwrap().unwrap();
        socket.write_all(beginnings[number % beginnings.len()]).await.unwrap();
        silent.push(socket);
    }
    let full = peer.memory();
    // Whoever comes after them waits until they are sent away, and no longer.
    assert_eq!(Http::connect(&peer.address).await.tool("hello").await, "Hello!");
    for mut socket in silent {
        let mut text = Vec::new();
        let _ = timeout(PATIENCE, socket.read_to_end(&mut text)).await.expect("nobody is kept for ever");
        assert!(!text.starts_with(b"HTTP/1.1 2"), "{text:?}");
    }
    say(&format!(
        "{count} silent connections for {:.1?}: {before:?} kB before, {full:?} kB with them, {:?} kB after",
        began.elapsed(),
        peer.memory()
    ));
    let cost = full.unwrap_or_default().saturating_sub(before.unwrap_or_default());
    assert!(cost < 20 * count as u64, "{cost} kB");
}

#[tokio::test]
async fn a_connection_that_is_not_used_any_more_is_closed() {
    let peer = Peer::server(&[("header_time", &1_000), ("keep_alive", &500), ("stall", &500)]).await;
    let health = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let (answer, _) = ask(&peer.address, Flow::once(health)).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // A header that comes byte by byte is cut off in the middle.
    let flow = Flow::once("GET /health HTTP/1.1\r\nx-a: ").then("a", 1_000).slowly(Duration::from_millis(100));
    let (answer, sent) = ask(&peer.address, flow).await;
    assert!(answer.is_empty() && sent < 200, "{sent}: {answer}");
    // Of HTTP/2, somebody who says hello and then answers nothing.
    let (answer, _) = ask(&peer.address, Flow::once("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")).await;
    assert!(!answer.is_empty(), "a server of HTTP/2 says hello, too");
}
