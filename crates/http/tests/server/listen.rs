//! A listener of our own, over real sockets.

use std::time::Duration;

use couplet_core::{Limits, Transport};
use couplet_http::server::{
    EventStore, HttpLimits, HttpTransport, MemoryEvents, MemorySessions, SessionStore, Shutdown,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
    task::JoinHandle,
};

use crate::support::{Seen, alone, call, initialize, server};

pub(crate) struct Site {
    pub(crate) address: String,
    pub(crate) seen: Seen,
    pub(crate) shutdown: Shutdown,
    pub(crate) task: JoinHandle<Result<(), couplet_core::Error>>,
}

pub(crate) async fn site(limits: HttpLimits) -> Site {
    site_with_grace(limits, Duration::from_secs(60)).await
}

async fn site_with_grace(limits: HttpLimits, grace: Duration) -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let transport = HttpTransport::from_listener(listener).limits(limits).grace(grace);
    let (seen, shutdown) = (Seen::default(), transport.shutdown());
    let service = std::sync::Arc::new(server(&seen));
    let task = tokio::spawn(transport.serve(service, Limits::default()));
    Site { address, seen, shutdown, task }
}

#[tokio::test]
async fn sessions_are_released_at_the_end() {
    let store = std::sync::Arc::new(MemorySessions::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let shared = store.clone();
    let transport = HttpTransport::from_listener(listener).grace(Duration::from_millis(10));
    let transport = transport.endpoint(move |endpoint| endpoint.sessions(shared));
    let shutdown = transport.shutdown();
    let task = tokio::spawn(transport.serve(std::sync::Arc::new(server(&Seen::default())), Limits::default()));
    let opened = ask(&mut TcpStream::connect(&address).await.unwrap(), &post(&initialize("2025-11-25"), "")).await;
    let id = opened.split("mcp-session-id: ").nth(1).and_then(|rest| rest.split("\r\n").next()).unwrap().to_owned();
    assert!(store.load(&id).await.unwrap().unwrap().1.is_some(), "it has an owner");
    // A call that does not end in time.
    let mut busy = TcpStream::connect(&address).await.unwrap();
    let forever = call(1, "tools/call", &json!({ "name": "forever", "_meta": { "progressToken": 1 } }));
    busy.write_all(post(&forever, &format!("mcp-session-id: {id}\r\n")).as_bytes()).await.unwrap();
    assert!(busy.read(&mut [0; 100]).await.unwrap() > 0);
    shutdown.trigger();
    task.await.unwrap().unwrap();
    assert_eq!(store.load(&id).await.unwrap().unwrap().1, None, "any replica can go on with it");
}

/// The client can resume the stream at another replica, which has the answer only if the call has finished.
#[tokio::test]
async fn a_call_of_a_session_is_finished_without_its_connection() {
    let (sessions, events) = (std::sync::Arc::new(MemorySessions::new()), std::sync::Arc::new(MemoryEvents::new()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (transport, seen, stored) = (HttpTransport::from_listener(listener), Seen::default(), events.clone());
    let transport = transport.endpoint(move |endpoint| endpoint.sessions(sessions).events(stored));
    let shutdown = transport.shutdown();
    let task = tokio::spawn(transport.serve(std::sync::Arc::new(server(&seen)), Limits::default()));
    let opened = ask(&mut TcpStream::connect(&address).await.unwrap(), &post(&initialize("2025-11-25"), "")).await;
    let id = opened.split("mcp-session-id: ").nth(1).and_then(|rest| rest.split("\r\n").next()).unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let slow = call(1, "tools/call", &json!({ "name": "slow", "_meta": { "progressToken": 1 } }));
    stream.write_all(post(&slow, &format!("mcp-session-id: {id}\r\n")).as_bytes()).await.unwrap();
    let mut begun = String::new();
    while !begun.contains("id: r") {
        let mut some = [0; 256];
        let read = stream.read(&mut some).await.unwrap();
        begun.push_str(std::str::from_utf8(&some[..read]).unwrap());
    }
    drop(stream);
    shutdown.trigger();
    task.await.unwrap().unwrap();
    assert_eq!((seen.finished(), seen.dropped()), (1, 0));
    let number = begun.split("id: r").nth(1).and_then(|rest| rest.split('-').next()).unwrap().parse().unwrap();
    let kept = events.after(&id, number, 0).await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&kept.last().unwrap().text).contains("done"), "{kept:?}");
}

pub(crate) async fn ask(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut text)).await;
    String::from_utf8(text).unwrap()
}

pub(crate) fn post(body: &Value, headers: &str) -> String {
    let (body, more) = (body.to_string(), headers);
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nconnection: close\r\n{more}content-length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn it_answers_and_is_healthy() {
    let site = site(HttpLimits::default()).await;
    let connect = async || TcpStream::connect(&site.address).await.unwrap();
    let text = ask(&mut connect().await, &post(&call(1, "ping", &json!({})), "")).await;
    assert!(text.starts_with("HTTP/1.1 200") && text.ends_with(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), "{text}");
    let text = ask(&mut connect().await, &post(&initialize("2025-11-25"), "")).await;
    assert!(text.contains("mcp-session-id: "), "{text}");
    for (path, status) in [("/health", "200"), ("/other", "404")] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let text = ask(&mut connect().await, &request).await;
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
    }
    let evil = post(&initialize("2025-11-25"), "").replace("localhost", "evil.example.com");
    assert!(ask(&mut connect().await, &evil).await.starts_with("HTTP/1.1 403"));
}

#[tokio::test]
async fn pages_of_this_machine_can_use_it() {
    let site = site(HttpLimits::default()).await;
    let connect = async || TcpStream::connect(&site.address).await.unwrap();
    let preflight = "OPTIONS /mcp HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost:6274\r\n\
                     access-control-request-method: POST\r\nconnection: close\r\n\r\n";
    let text = ask(&mut connect().await, preflight).await;
    assert!(text.starts_with("HTTP/1.1 204"), "{text}");
    assert!(text.contains("access-control-allow-origin: http://localhost:6274\r\n"), "{text}");
    let text = ask(&mut connect().await, &post(&initialize("2025-11-25"), "origin: http://localhost:6274\r\n")).await;
    assert!(
        text.starts_with("HTTP/1.1 200") && text.contains("access-control-expose-headers: mcp-session-id"),
        "{text}"
    );
}

#[tokio::test]
async fn what_is_too_large_or_too_slow_is_cut_off() {
    let mut limits = HttpLimits::default();
    limits.header_time = Duration::from_millis(200);
    limits.body_time = Duration::from_millis(200);
    let site = site(limits).await;
    let connect = async || TcpStream::connect(&site.address).await.unwrap();
    let huge = format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-a: {}\r\n\r\n", "a".repeat(1 << 20));
    let mut stream = connect().await;
    let _ = stream.write_all(huge.as_bytes()).await;
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text).await;
    assert!(text.is_empty() || text.starts_with(b"HTTP/1.1 431"));
    // A gigabyte that is announced is not waited for.
    let long = post(&json!({}), "").replace("content-length: 2", "content-length: 1073741824");
    assert!(ask(&mut connect().await, &long).await.starts_with("HTTP/1.1 413"));
    // Headers and bodies have to come in time.
    assert_eq!(ask(&mut connect().await, "POST /mcp HTTP/1.1\r\n").await, "");
    let slow = post(&json!({}), "").replace("content-length: 2", "content-length: 200");
    assert!(ask(&mut connect().await, &slow).await.starts_with("HTTP/1.1 408"));
}

#[tokio::test]
async fn who_says_nothing_is_hung_up_on() {
    let mut limits = HttpLimits::default();
    limits.header_time = Duration::from_millis(200);
    let site = site(limits).await;
    // Too little to tell which version of HTTP it is, or nothing at all.
    for text in ["", "P", "PRI * HTTP/2.0\r\n"] {
        let mut stream = TcpStream::connect(&site.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let end = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut answer)).await;
        assert!(end.is_ok() && answer.is_empty(), "{text:?}: {answer:?}");
    }
}

/// Calls a tool that streams, until it has said something.
async fn begun(site: &Site, tool: &str) -> TcpStream {
    let request = alone("tools/call", json!({ "name": tool }), &[]);
    let headers: String = ["mcp-protocol-version", "mcp-method", "mcp-name"]
        .iter()
        .map(|name| format!("{name}: {}\r\n", request.headers()[*name].to_str().unwrap()))
        .collect();
    let text = post(&serde_json::from_str(request.body()).unwrap(), &headers);
    let mut stream = TcpStream::connect(&site.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut some = [0; 256];
    assert!(stream.read(&mut some).await.unwrap() > 0);
    stream
}

#[tokio::test]
async fn line_119_a_client_that_is_killed_cancels() {
    let site = site(HttpLimits::default()).await;
    for _ in 0..10 {
        begun(&site, "slow").await;
    }
    crate::support::eventually(|| site.seen.dropped() == 10).await;
    assert_eq!(site.seen.finished(), 0);
}

#[tokio::test]
async fn what_runs_is_finished_at_the_end() {
    let site = site(HttpLimits::default()).await;
    let mut stream = begun(&site, "slow").await;
    site.shutdown.trigger();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert!(rest.contains("done"), "{rest}");
    site.task.await.unwrap().unwrap();
    assert!(TcpStream::connect(&site.address).await.is_err());
}

#[tokio::test]
async fn what_does_not_end_is_cut_off() {
    let site = site_with_grace(HttpLimits::default(), Duration::from_millis(200)).await;
    let mut stream = begun(&site, "forever").await;
    site.shutdown.trigger();
    site.task.await.unwrap().unwrap();
    // After 60 seconds the call would end by itself.
    let end = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut Vec::new())).await;
    assert!(end.is_ok(), "the connection is closed");
    crate::support::eventually(|| site.seen.dropped() == 1).await;
}

#[tokio::test]
async fn a_future_begins_a_graceful_shutdown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let transport = HttpTransport::from_listener(listener).with_graceful_shutdown(async { drop(stopped.await) });
    let (seen, shutdown) = (Seen::default(), transport.shutdown());
    let task = tokio::spawn(transport.serve(std::sync::Arc::new(server(&seen)), Limits::default()));
    let site = Site { address, seen, shutdown, task };
    let mut stream = begun(&site, "slow").await;
    stop.send(()).unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert!(rest.contains("done"), "{rest}");
    site.task.await.unwrap().unwrap();
    assert_eq!((site.seen.finished(), site.seen.dropped()), (1, 0));
    assert!(TcpStream::connect(&site.address).await.is_err());
}

#[tokio::test]
async fn what_waits_for_a_signal_ends_with_the_serving() {
    let (held, gone) = tokio::sync::oneshot::channel::<()>();
    let never = async move {
        let _held = held;
        std::future::pending::<()>().await;
    };
    let transport =
        HttpTransport::from_listener(TcpListener::bind("127.0.0.1:0").await.unwrap()).with_graceful_shutdown(never);
    let shutdown = transport.shutdown();
    let task = tokio::spawn(transport.serve(std::sync::Arc::new(server(&Seen::default())), Limits::default()));
    shutdown.trigger();
    task.await.unwrap().unwrap();
    assert!(gone.await.is_err(), "it is dropped");
}

#[tokio::test]
async fn a_unix_socket_is_a_place_too() {
    let path = std::env::temp_dir().join(format!("couplet-http-{}.sock", std::process::id()));
    // One that was left behind is replaced.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let transport = couplet_http::listen_unix(&path).socket_mode(0o660);
    let shutdown = transport.shutdown();
    let service = std::sync::Arc::new(server(&Seen::default()));
    let task = tokio::spawn(transport.serve(service, Limits::default()));
    crate::support::eventually(|| std::os::unix::net::UnixStream::connect(&path).is_ok()).await;
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o660);
    let mut stream = UnixStream::connect(&path).await.unwrap();
    let text = ask(&mut stream, &post(&call(1, "ping", &json!({})), "").replace("localhost", "anything")).await;
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    shutdown.trigger();
    task.await.unwrap().unwrap();
    assert!(!path.exists());
}
