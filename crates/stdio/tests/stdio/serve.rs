//! The server's side: framing, the end of input, a peer that does not read, a peer that is gone.

use std::{
    io::{self, Cursor},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use couplet_core::{ErrorKind, Limits, Transport};
use couplet_stdio::pipe;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use crate::support::{TIMEOUT, Tools, VERSIONS, opening, request, results, soon, until, values};

const MANY: usize = 10_000;

fn many(version: &str, tool: &str) -> String {
    opening(version) + &(0..MANY).map(|id| request(version, id, tool)).collect::<String>()
}

fn assert_all(output: &[u8]) {
    let mut ids = results(output);
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..MANY), "a reply is missing or came twice");
}

/// Serves on a small pipe that is written to and read from at the same time.
async fn exchange(input: Vec<u8>, step: usize, limits: Limits) -> Vec<u8> {
    let (near, far) = tokio::io::duplex(1000);
    let (reader, writer) = tokio::io::split(far);
    let server = tokio::spawn(pipe(reader, writer).serve(Arc::new(Tools::default()), limits));
    let (mut reader, mut writer) = tokio::io::split(near);
    tokio::spawn(async move {
        for chunk in input.chunks(step) {
            writer.write_all(chunk).await.unwrap();
        }
        writer.shutdown().await.unwrap();
    });
    let mut output = Vec::new();
    soon(reader.read_to_end(&mut output)).await.unwrap();
    soon(server).await.unwrap().unwrap();
    output
}

#[tokio::test]
async fn every_request_before_the_end_is_answered() {
    for version in VERSIONS {
        for tool in ["now", "later"] {
            let input = many(version, tool).into_bytes();
            let output = exchange(input, 7000, Limits::default()).await;
            assert_all(&output);
        }
    }
}

#[tokio::test]
async fn every_request_is_answered_when_the_end_came_before_the_first_reply() {
    for version in VERSIONS {
        let input = many(version, "later").into_bytes();
        let (mut near, far) = tokio::io::duplex(16 << 20);
        let server = pipe(Cursor::new(input), far);
        soon(server.serve(Arc::new(Tools::default()), Limits::default())).await.unwrap();
        let mut output = Vec::new();
        near.read_to_end(&mut output).await.unwrap();
        assert_all(&output);
    }
}

#[tokio::test]
async fn every_request_is_answered_under_the_tightest_limits() {
    let mut limits = Limits::default();
    (limits.running, limits.queue) = (1, 1);
    let output = exchange(many(VERSIONS[0], "later").into_bytes(), 7000, limits).await;
    assert_all(&output);
}

/// Room for input can come without a message: the first answer of a batch is kept until the last is there.
#[tokio::test]
async fn a_batch_does_not_stop_the_input() {
    let mut limits = Limits::default();
    (limits.running, limits.waiting) = (1, 3);
    let version = "2025-03-26";
    let call = |id| request(version, id, "later").trim().to_owned();
    let input = format!("{}[{},{}]\n{}\n{}\n", opening(version), call(0), call(1), call(2), call(3));
    let output = exchange(input.into_bytes(), 10_000, limits).await;
    let mut ids = Vec::new();
    for value in values(&output).into_iter().skip(1) {
        match value {
            Value::Array(batch) => ids.extend(batch.into_iter().map(|m| m["id"].clone())),
            single => ids.push(single["id"].clone()),
        }
    }
    assert_eq!(ids, [json!(0), json!(1), json!(2), json!(3)]);
}

#[tokio::test]
async fn what_a_line_leads_to() {
    let good = request("2026-07-28", 7, "now");
    let long = request("2026-07-28", 8, &"x".repeat(2000));
    // Results are shown by their id, errors by their code.
    let cases: &[(&str, Vec<u8>, &[i64])] = &[
        ("nothing", vec![], &[]),
        ("blank lines", b"\n\r\n   \n\t\n".to_vec(), &[]),
        ("a good line", good.clone().into(), &[7]),
        ("windows line ends", good.replace('\n', "\r\n").into(), &[7]),
        ("no line end", good.trim().into(), &[7]),
        ("no JSON", [b"hello\n", good.as_bytes()].concat(), &[-32700, 7]),
        ("half a message", [&good.as_bytes()[..20], b"\n", good.as_bytes()].concat(), &[-32700, 7]),
        ("no UTF-8", [b"{\"jsonrpc\":\"2.0\xff\xfe\"}\n", good.as_bytes()].concat(), &[-32700, 7]),
        ("NUL bytes", [b"\0\0\0\n", good.as_bytes()].concat(), &[-32700, 7]),
        ("no message", [b"{}\n", good.as_bytes()].concat(), &[-32600, 7]),
        ("above the limit", [long.as_bytes(), good.as_bytes()].concat(), &[-32600, 7]),
        ("above the limit, without an end", long.trim().into(), &[-32600]),
    ];
    let mut limits = Limits::default();
    limits.message = 1000;
    for (name, input, expected) in cases {
        for step in [1, 3, 100, 10_000] {
            let output = exchange(input.clone(), step, limits.clone()).await;
            let seen: Vec<i64> = values(&output)
                .iter()
                .map(|m| m["error"]["code"].as_i64().or(m["id"].as_i64()).unwrap_or_default())
                .collect();
            assert_eq!(seen, *expected, "{name}, in steps of {step}: {}", String::from_utf8_lossy(&output));
        }
    }
}

/// A peer that never stops asking.
struct Endless {
    line: Vec<u8>,
    read: Arc<AtomicUsize>,
}

impl AsyncRead for Endless {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let at = self.read.load(Ordering::Relaxed) % self.line.len();
        let count = buffer.remaining().min(self.line.len() - at);
        buffer.put_slice(&self.line[at..at + count]);
        self.read.fetch_add(count, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

#[test]
fn a_peer_that_never_reads_is_not_read_from_for_ever() {
    // A ping is answered at once, a malformed line too; a call goes through a handler.
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for line in [format!("{ping}\n"), "nonsense\n".to_owned(), request("2026-07-28", 1, "now")] {
        let read = Arc::new(AtomicUsize::new(0));
        let asks = Endless { line: line.clone().into_bytes(), read: read.clone() };
        let (mut near, far) = tokio::io::duplex(1000);
        let mut server = pipe(asks, far).serve(Arc::new(Tools::default()), Limits::default());
        let mut cx = Context::from_waker(Waker::noop());
        let mut settle = || {
            for _ in 0..100 {
                assert!(server.as_mut().poll(&mut cx).is_pending());
            }
            read.load(Ordering::Relaxed)
        };
        let stopped = settle();
        assert!(stopped < 1 << 20, "{stopped} bytes were read for {line}");
        assert_eq!(settle(), stopped, "it has not stopped for {line}");

        // It goes on as soon as the peer reads.
        let mut output = [0; 1000];
        for _ in 0..500 {
            let mut read = std::pin::pin!(near.read(&mut output));
            assert!(read.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
            settle();
        }
        assert!(settle() > stopped, "it does not go on for {line}");
    }
}

#[tokio::test]
async fn a_reply_that_is_not_read_does_not_stop_the_input() {
    let tools = Arc::new(Tools::default());
    let (near, far) = tokio::io::duplex(1000);
    let (reader, writer) = tokio::io::split(far);
    let server = tokio::spawn(pipe(reader, writer).serve(tools.clone(), Limits::default()));
    let (mut reader, mut writer) = tokio::io::split(near);
    writer.write_all(request("2026-07-28", 0, "big").as_bytes()).await.unwrap();
    for _ in 0..500 {
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/something" });
        soon(writer.write_all(format!("{note}\n").as_bytes())).await.unwrap();
    }
    until("the notifications arrive", || tools.notes.load(Ordering::Relaxed) == 500).await;
    writer.shutdown().await.unwrap();
    let mut output = Vec::new();
    soon(reader.read_to_end(&mut output)).await.unwrap();
    assert_eq!(results(&output), [0]);
    soon(server).await.unwrap().unwrap();
}

/// Counts what is asked of a writer, or refuses it.
#[derive(Clone, Default)]
struct Sink {
    writes: Arc<AtomicUsize>,
    flushes: Arc<AtomicUsize>,
    fault: Option<io::ErrorKind>,
}

impl AsyncWrite for Sink {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(self.fault.map_or(Ok(bytes.len()), |kind| Err(kind.into())))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn replies_that_are_ready_together_are_written_together() {
    let input: String = (0..100).map(|id| request("2026-07-28", id, "now")).collect();
    let sink = Sink::default();
    let server = pipe(Cursor::new(input.into_bytes()), sink.clone());
    soon(server.serve(Arc::new(Tools::default()), Limits::default())).await.unwrap();
    assert_eq!(sink.writes.load(Ordering::Relaxed), 1);
    assert_eq!(sink.flushes.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_write_error_ends_the_server() {
    for (fault, kind) in
        [(io::ErrorKind::BrokenPipe, ErrorKind::Closed), (io::ErrorKind::StorageFull, ErrorKind::Transport)]
    {
        let sink = Sink { fault: Some(fault), ..Sink::default() };
        // The input stays open.
        let (mut near, far) = tokio::io::duplex(1000);
        near.write_all(request("2026-07-28", 0, "now").as_bytes()).await.unwrap();
        let error = soon(pipe(far, sink).serve(Arc::new(Tools::default()), Limits::default())).await.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().starts_with("cannot write to the client: "), "{error}");
    }
}

#[tokio::test]
async fn a_peer_that_is_gone_ends_the_server() {
    let (near, far) = tokio::io::duplex(1000);
    let (reader, writer) = tokio::io::split(far);
    let server = tokio::spawn(pipe(reader, writer).serve(Arc::new(Tools::default()), Limits::default()));
    drop(near);
    tokio::time::timeout(TIMEOUT, server).await.unwrap().unwrap().unwrap();
}
