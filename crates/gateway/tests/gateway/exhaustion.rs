//! Servers and callers that use up what they can get: the others notice nothing.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use couplet_http::server::HttpLimits;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::{
    kit::{File, SHORT, Upstream, client, names, size},
    wire::{Wire, initialize, is_alone, memory, serve},
};

/// The time in which another server answers, and the growth of memory, on a machine that does other things.
const BOUND: Duration = Duration::from_secs(5);
const GROWTH: usize = 64 << 20;
/// The variable with the number of sessions that are opened and never used.
const INITIALIZES: &str = "COUPLET_INITIALIZES";

/// A server whose calls end never: `slow` sends a stream byte by byte, `flood` an event without an end. The number of
/// streams that the other side has closed, and the bytes of floods.
#[derive(Default)]
struct Slow {
    closed: AtomicUsize,
    flooded: AtomicUsize,
}

impl Slow {
    async fn start() -> (Arc<Self>, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (slow, address) = (Arc::new(Self::default()), listener.local_addr().unwrap());
        let server = slow.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(server.clone().serve(stream));
            }
        });
        (slow, address)
    }

    async fn serve(self: Arc<Self>, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some(message) = request(&mut stream).await {
            let tools =
                r#"{"name":"slow","inputSchema":{"type":"object"}},{"name":"flood","inputSchema":{"type":"object"}}"#;
            let result = match message["method"].as_str().unwrap_or_default() {
                "server/discover" => r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}"#.to_owned(),
                "tools/list" => format!("\"tools\":[{tools}]"),
                "tools/call" => {
                    let _ = self.stream(&mut stream, message["params"]["name"] == "flood").await;
                    self.closed.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                _ => String::new(),
            };
            let id = &message["id"];
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete",{result}}}}}"#);
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
            if stream.write_all(format!("{head}{body}").as_bytes()).await.is_err() {
                return;
            }
        }
    }

    async fn stream(&self, stream: &mut BufReader<TcpStream>, floods: bool) -> std::io::Result<()> {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n").await?;
        if floods {
            stream.write_all(b"data: ").await?;
            let piece = vec![b'x'; 1 << 16];
            loop {
                stream.write_all(&piece).await?;
                self.flooded.fetch_add(piece.len(), Ordering::SeqCst);
            }
        }
        for byte in b": still here\n\n".iter().cycle() {
            stream.write_all(&[*byte]).await?;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}

/// The next message.
async fn request(stream: &mut BufReader<TcpStream>) -> Option<serde_json::Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().ok()?,
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    serde_json::from_slice(&body).ok()
}

/// Streams that never end, slowly or fast, end at the timeout and at the size of a message, and use up no memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s19_slow_and_endless_streams_affect_no_other_server() {
    const STREAMS: usize = 8;
    let (one, (slow, address)) = (Upstream::start(&["a"]).await, Slow::start().await);
    let limits = r#"{ "timeout": "1s", "message": "1M" }"#;
    let servers =
        format!(r#""one": {}, "evil": {{ "url": "http://{address}/mcp", "limits": {limits} }}"#, one.entry(""));
    let file = File::new(&format!(r#"{{ "mcpServers": {{ {servers} }} }}"#));
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    let client = client(&gateway, None).await;
    assert_eq!(names(&client).await, ["evil__flood", "evil__slow", "one__a"]);
    let before = memory();
    let mut evil = JoinSet::new();
    for at in 0..STREAMS {
        let (client, tool) = (client.clone(), if at.is_multiple_of(2) { "evil__slow" } else { "evil__flood" });
        evil.spawn(async move { client.call(tool, json!({})).await.unwrap_err().to_string() });
    }
    let (began, mut calls, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    while !evil.is_empty() && calls < 100_000 {
        let called = Instant::now();
        assert_eq!(client.call("one__a", json!({})).await.unwrap().text(), "a");
        (calls, slowest) = (calls + 1, slowest.max(called.elapsed()));
        while let Some(error) = evil.try_join_next() {
            let error = error.unwrap();
            assert!(error.contains("evil"), "{error}");
        }
    }
    assert!(began.elapsed() < Duration::from_secs(60), "they end at their timeout: {:?}", began.elapsed());
    let deadline = Instant::now() + Duration::from_secs(60);
    while slow.closed.load(Ordering::SeqCst) < STREAMS {
        assert!(Instant::now() < deadline, "streams stay open: {:?}", slow.closed);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let grown = memory().unwrap_or_default().saturating_sub(before.unwrap_or_default());
    println!(
        "attack S19: {STREAMS} streams that never end are closed after {:.1?} and {} MiB; {calls} calls of another server \
         within {slowest:.1?} each, memory {} KiB more",
        began.elapsed(),
        slow.flooded.load(Ordering::SeqCst) >> 20,
        grown >> 10
    );
    assert!(slowest <= BOUND && calls > 0, "{slowest:?} in {calls} calls");
    assert!(grown <= GROWTH || !is_alone(""), "{grown}");
    gateway.close().await;
}

/// Handshakes without a second message take the place of one another; a session that is in use stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s19_many_handshakes_end_no_session() {
    let handshakes = size(INITIALIZES, 6_000);
    let one = Upstream::start(&["a"]).await;
    let file = File::new(&format!(r#"{{ "mcpServers": {{ "one": {} }} }}"#, one.entry("")));
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    let (address, serving) = serve(&gateway, HttpLimits::default()).await;
    let mut wire = Wire::connect(address).await;
    let session = wire.open().await;
    assert!(wire.call(&session, "one__a").await.contains("\"text\":\"a\""));
    let (before, began, done) = (memory(), Instant::now(), Arc::new(AtomicUsize::new(0)));
    let mut flood = JoinSet::new();
    for _ in 0..4 {
        let done = done.clone();
        flood.spawn(async move {
            let mut wire = Wire::connect(address).await;
            while done.fetch_add(1, Ordering::Relaxed) < handshakes {
                let opened = wire.post(None, &initialize()).await;
                assert_eq!(opened.status, 200, "{}", opened.body);
            }
        });
    }
    let (mut calls, mut slowest) = (0, Duration::ZERO);
    while !flood.is_empty() {
        let called = Instant::now();
        let text = wire.call(&session, "one__a").await;
        assert!(text.contains("\"text\":\"a\""), "{text}");
        (calls, slowest) = (calls + 1, slowest.max(called.elapsed()));
        while let Some(ended) = flood.try_join_next() {
            ended.unwrap();
        }
    }
    let grown = memory().unwrap_or_default().saturating_sub(before.unwrap_or_default());
    println!(
        "attack S19: {handshakes} handshakes in {:.1?}; {calls} calls of a session within {slowest:.1?} each, memory {} KiB \
         more",
        began.elapsed(),
        grown >> 10
    );
    assert!(slowest <= BOUND && calls > 0, "{slowest:?} in {calls} calls");
    assert!(grown <= GROWTH || !is_alone(INITIALIZES), "{grown}");
    gateway.close().await;
    serving.abort();
}
