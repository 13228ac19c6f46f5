//! Streams that nobody reads.

use std::time::Instant;

use http::Method;
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::peer::{
    PATIENCE, Peer,
    http::{Http, called, in_session, request},
    memory::say,
};

const CALLS: usize = 5;

/// Calls of a tool that says much, on sockets that stay open and are not read from.
async fn unread(address: &str, tool: &str, sessions: &[Option<String>]) -> Vec<TcpStream> {
    let mut sockets = Vec::new();
    for (id, session) in sessions.iter().enumerate() {
        let (parts, body) = called(tool, id, session.as_deref()).into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let mut text = format!("POST /mcp HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in &parts.headers {
            text += &format!("{name}: {}\r\n", value.to_str().unwrap());
        }
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.write_all(&[text.as_bytes(), b"\r\n", &body].concat()).await.unwrap();
        let mut begin = [0; 15];
        timeout(PATIENCE, socket.read_exact(&mut begin)).await.expect("it is answered in time").unwrap();
        assert_eq!(&begin, b"HTTP/1.1 200 OK");
        sockets.push(socket);
    }
    sockets
}

#[tokio::test]
async fn who_does_not_read_is_let_go_and_costs_little() {
    for has_session in [false, true] {
        let peer = Peer::server(&[("keep_alive", &500), ("stall", &1_000)]).await;
        let mut http = Http::connect(&peer.address).await;
        let mut sessions = Vec::new();
        for _ in 0..CALLS {
            sessions.push(if has_session { Some(http.open_session().await) } else { None });
        }
        let before = peer.memory();
        let began = Instant::now();
        let sockets = unread(&peer.address, "flood", &sessions).await;
        // Alone, the call ends with its stream. In a session it runs on, and comes to its end.
        let end = if has_session { "finished" } else { "dropped" };
        let stats = http.until(|stats| stats["streams"] == 0 && stats[end] == CALLS).await;
        assert_eq!(stats["running"], 0);
        drop(sockets);
        say(&format!(
            "session: {has_session}, {before:?} kB before, {:?} kB at most, {:.1?}",
            peer.peak(),
            began.elapsed()
        ));
        // Each may have a queue of 1 MiB, and as much in the buffers around it.
        assert!(peer.peak().is_none_or(|kb| kb < before.unwrap_or_default() + 40_000), "{:?}", peer.peak());
        assert_eq!(Http::connect(&peer.address).await.tool("hello").await, "Hello!");
    }
}

#[tokio::test]
async fn who_talks_on_and_is_not_heard_lets_others_run() {
    let peer = Peer::server(&[("keep_alive", &500), ("stall", &1_000), ("threads", &1)]).await;
    let mut http = Http::connect(&peer.address).await;
    let session = http.open_session().await;
    let sockets = unread(&peer.address, "chatter", &[Some(session.clone())]).await;
    // From here on nothing holds the call up.
    http.until(|stats| stats["streams"] == 0).await;
    assert_eq!(http.stats().await["running"], 1);
    let reply = http.send(request(Method::DELETE, &in_session(&session), &Value::Null)).await;
    assert_eq!(reply.0.status(), 204);
    let stats = http.until(|stats| stats["running"] == 0).await;
    assert_eq!((&stats["dropped"], &stats["sessions"]), (&1.into(), &0.into()));
    drop(sockets);
}
