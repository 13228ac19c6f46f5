//! Answers that are asked for and not read.

use std::{pin::Pin, time::Duration};

use couplet_http::server::HttpLimits;
use http_body::Body;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::{io::AsyncWriteExt, net::TcpSocket};

use crate::{
    site::{Site, Socket, post},
    support::{POLLING, Session, alone, call, endpoint, eventually, limits, request, send},
};

const MB: usize = 1 << 20;

#[tokio::test]
async fn attack_11_answers_have_a_bound_in_bytes() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.limits(limits(|l| l.answers = 7 * MB));
    let session = Session::open(&endpoint, POLLING).await;
    let large = || alone("tools/call", json!({ "name": "large" }), &[]);
    let one = send(&endpoint, large()).await;
    let two = session.tool(1, "large").await;
    let three = session.tool(2, "large").await;
    assert!([&one, &two, &three].iter().all(|reply| reply.status == 200));
    // There are nine megabytes now, and none of them is read.
    let ping = request("POST", &[], call(1, "ping", &json!({})).to_string());
    for refused in [send(&endpoint, large()).await, session.tool(3, "hello").await, send(&endpoint, ping).await] {
        assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, Some("1")));
    }
    // One that is read, or let go, makes room.
    let text = one.json().await["result"]["content"][0]["text"].as_str().unwrap().len();
    assert_eq!(text, 3 * MB);
    assert_eq!(session.tool(4, "hello").await.status, 200);
    drop((two, three));
    let held = [send(&endpoint, large()).await, send(&endpoint, large()).await, send(&endpoint, large()).await];
    assert!(held.iter().all(|reply| reply.status == 200));
    assert_eq!(session.tool(5, "hello").await.status, 503);
    assert_eq!(session.delete().await.status, 204, "it frees memory");
}

#[tokio::test]
async fn attack_11_what_waits_in_streams_counts_as_well() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.limits(limits(|l| l.answers = 200 << 10));
    let session = Session::open(&endpoint, POLLING).await;
    let reply = session.tool(1, "flood").await;
    assert!(reply.is_stream());
    let status = async || session.tool(2, "hello").await.status.as_u16();
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(status().await, 503, "a queue of 256 events, a kilobyte each");
    drop(reply);
    assert_eq!(status().await, 200);
}

/// Waits until a newcomer is answered.
async fn check_served(site: &Site) {
    let ping = async || site.send(&post(&call(1, "ping", &json!({})), "")).await.all().await;
    let mut text = ping().await;
    for _ in 0..600 {
        if text.starts_with("HTTP/1.1 200") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        text = ping().await;
    }
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
}

/// A call of a tool as HTTP/2 has it: the host is in the address.
fn called(name: &str) -> http::Request<String> {
    let (mut parts, body) = alone("tools/call", json!({ "name": name }), &[]).into_parts();
    parts.headers.remove("host");
    parts.uri = "http://localhost/mcp".parse().unwrap();
    http::Request::from_parts(parts, body)
}

#[tokio::test]
async fn attack_11_who_does_not_read_is_let_go() {
    // Long enough for a few requests, however slow the machine is.
    let stall = Duration::from_secs(4);
    let site = Site::start(|t| t.limits(limits(|l| (l.answers, l.stall) = (5 * MB, stall)))).await;
    let call = post(&call(1, "tools/call", &json!({ "name": "large" })), "");
    let session = site.open().await;
    let call = call.replace("connection", &format!("mcp-session-id: {session}\r\nconnection"));
    let mut sockets = Vec::new();
    let mut is_refused = false;
    while !is_refused && sockets.len() < 40 {
        // A small window, so that little of the answer is in the system's buffers.
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(site.address.parse().unwrap()).await.unwrap();
        stream.write_all(call.as_bytes()).await.unwrap();
        let mut socket = Socket { stream, text: String::new() };
        is_refused = socket.until("\r\n\r\n").await.starts_with("HTTP/1.1 503");
        sockets.push(socket);
    }
    assert!(is_refused, "{} answers of three megabytes, where five fit", sockets.len());
    // They keep their connections open, and others are served all the same after a while.
    check_served(&site).await;
    drop(sockets);
}

/// A connection of HTTP/2 whose streams have room for one byte.
async fn narrow(site: &Site) -> SendRequest<String> {
    let stream = tokio::net::TcpStream::connect(&site.address).await.unwrap();
    let mut client = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    client.initial_stream_window_size(1);
    let (sender, connection) = client.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

#[tokio::test]
async fn attack_11_who_does_not_read_a_stream_of_a_connection_is_let_go() {
    // Long enough for a few requests, however slow the machine is.
    let short = Duration::from_secs(2);
    let set = |l: &mut HttpLimits| (l.answers, l.stall, l.keep_alive) = (5 * MB, short, short);
    let site = Site::start(|t| t.limits(limits(|l| set(l)))).await;
    let mut sender = narrow(&site).await;
    let mut held = Vec::new();
    let mut is_refused = false;
    while !is_refused && held.len() < 40 {
        // Alone, and as an event after others.
        let name = if held.len() % 2 == 0 { "large" } else { "large_event" };
        let response = sender.send_request(called(name)).await.unwrap();
        is_refused = response.status() == 503;
        held.push(response);
    }
    assert!(is_refused, "{} answers of three megabytes, where five fit", held.len());
    // The connection stays, and so do the streams; what they held does not.
    check_served(&site).await;
    drop(held);
}

#[tokio::test]
async fn attack_11_who_reads_slowly_over_http_2_gets_everything() {
    let site = Site::start(|t| t).await;
    let stream = tokio::net::TcpStream::connect(&site.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    for (name, is_stream) in [("large", false), ("large_event", true)] {
        let mut response = sender.send_request(called(name)).await.unwrap();
        let length = response.headers().get("content-length").map(|length| length.to_str().unwrap().parse().unwrap());
        let mut size = 0;
        while let Some(frame) = std::future::poll_fn(|cx| Pin::new(response.body_mut()).poll_frame(cx)).await {
            size += frame.unwrap().into_data().unwrap().len();
        }
        assert!(size > 3 * MB && (is_stream || length == Some(size)), "{name}: {size} of {length:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn attack_11_a_half_open_connection_is_found_out() {
    let site = Site::start(|t| t).await;
    let session = site.open().await;
    let get = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n"
    );
    let mut socket = site.send(&get).await;
    socket.until("\r\n\r\n").await;
    let (server, client) = (socket.stream.peer_addr().unwrap(), socket.stream.local_addr().unwrap());
    let place = |at: std::net::SocketAddr| format!(":{:04X}", at.port());
    // A timer of the kind 02 sends probes on a connection that is silent.
    let probes = || {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        table.lines().any(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            fields.len() > 5
                && fields[1].ends_with(&place(server))
                && fields[2].ends_with(&place(client))
                && fields[5].starts_with("02:")
        })
    };
    eventually(probes).await;
}
