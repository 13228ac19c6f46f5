//! HTTP/2 without TLS, over real sockets.

use std::{future::poll_fn, pin::Pin, time::Duration};

use couplet_core::http::sse::Parser;
use couplet_http::server::HttpLimits;
use http::{Request, Response, StatusCode, Version};
use http_body::Body;
use hyper::{body::Incoming, client::conn::http2::SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::{net::TcpStream, task::JoinSet};

use crate::{
    listen::{Site, site},
    support::{POLLING, alone, initialize, limits, request},
};

async fn connect(site: &Site) -> SendRequest<String> {
    let stream = TcpStream::connect(&site.address).await.unwrap();
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// A request as HTTP/2 has it: the host is in the address.
async fn ask(sender: &SendRequest<String>, mut request: Request<String>) -> Response<Incoming> {
    request.headers_mut().remove("host");
    *request.uri_mut() = "http://localhost/mcp".parse().unwrap();
    let mut sender = sender.clone();
    sender.ready().await.unwrap();
    sender.send_request(request).await.unwrap()
}

async fn piece(response: &mut Response<Incoming>) -> Option<bytes::Bytes> {
    let frame = poll_fn(|cx| Pin::new(response.body_mut()).poll_frame(cx)).await?;
    Some(frame.expect("the stream goes on").into_data().unwrap_or_default())
}

/// All the messages of a stream, from here to its end.
async fn messages(mut response: Response<Incoming>) -> Vec<Value> {
    let (mut parser, mut all) = (Parser::new(1 << 20), Vec::new());
    while let Some(piece) = piece(&mut response).await {
        parser.push(&piece);
        while let Some(event) = parser.next().unwrap() {
            all.extend(event.is_message().then(|| serde_json::from_slice::<Value>(&event.data).unwrap()));
        }
    }
    all
}

fn tool(name: &str) -> Request<String> {
    alone("tools/call", json!({ "name": name }), &[])
}

fn listen() -> Request<String> {
    alone("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }), &[])
}

#[tokio::test]
async fn one_connection_serves_many_at_the_same_time() {
    let site = site(HttpLimits::default()).await;
    let sender = connect(&site).await;
    let mut calls = JoinSet::new();
    for at in 0..50 {
        let sender = sender.clone();
        calls.spawn(async move {
            let name = if at % 2 == 0 { "slow" } else { "hello" };
            let mut response = ask(&sender, tool(name)).await;
            assert_eq!((response.status(), response.version()), (StatusCode::OK, Version::HTTP_2));
            if name == "slow" {
                let messages = messages(response).await;
                return messages.last().unwrap()["result"]["content"][0]["text"] == "done";
            }
            let mut text = Vec::new();
            while let Some(piece) = piece(&mut response).await {
                text.extend_from_slice(&piece);
            }
            serde_json::from_slice::<Value>(&text).unwrap()["result"]["content"][0]["text"] == "Hello!"
        });
    }
    assert!(calls.join_all().await.into_iter().all(|right| right));
    // The name of the host is looked at here as well.
    let mut evil = tool("hello");
    evil.headers_mut().remove("host");
    *evil.uri_mut() = "http://evil.example.com/mcp".parse().unwrap();
    let mut sender = sender.clone();
    sender.ready().await.unwrap();
    assert_eq!(sender.send_request(evil).await.unwrap().status(), 403);
}

#[tokio::test]
async fn streams_are_limited() {
    let site = site(limits(|l| l.http2_streams = 2)).await;
    let sender = connect(&site).await;
    let one = ask(&sender, listen()).await;
    let _two = ask(&sender, listen()).await;
    let third = ask(&sender, tool("hello"));
    let mut third = std::pin::pin!(third);
    assert!(tokio::time::timeout(Duration::from_millis(300), third.as_mut()).await.is_err(), "it has to wait");
    // Another connection has streams of its own, and one that is over makes room.
    assert_eq!(ask(&connect(&site).await, tool("hello")).await.status(), 200);
    drop(one);
    let third = tokio::time::timeout(Duration::from_secs(60), third).await.expect("there is room");
    assert_eq!(third.status(), 200);
}

#[tokio::test]
async fn a_stream_that_is_reset_cancels_its_request_alone() {
    let site = site(HttpLimits::default()).await;
    let sender = connect(&site).await;
    let mut forever = ask(&sender, tool("forever")).await;
    let slow = ask(&sender, tool("slow")).await;
    piece(&mut forever).await.unwrap();
    drop(forever);
    let messages = messages(slow).await;
    assert_eq!(messages.last().unwrap()["result"]["content"][0]["text"], "done");
    crate::support::eventually(|| site.seen.dropped() == 1).await;
    assert_eq!(site.seen.finished(), 1);
}

#[tokio::test]
async fn what_runs_is_finished_at_the_end_and_streams_are_told() {
    let site = site(HttpLimits::default()).await;
    let sender = connect(&site).await;
    let opened = ask(&sender, request("POST", &[], initialize(POLLING).to_string())).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let get = ask(&sender, request("GET", &[("mcp-session-id", &session)], "")).await;
    let listen = ask(&sender, listen()).await;
    let slow = ask(&sender, tool("slow")).await;
    site.shutdown.trigger();
    let (get, listen, slow) = tokio::join!(messages(get), messages(listen), messages(slow));
    assert!(get.is_empty(), "{get:?}");
    assert_eq!(listen.last().unwrap()["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "{listen:?}");
    assert_eq!(slow.last().unwrap()["result"]["content"][0]["text"], "done");
    let end = tokio::time::timeout(Duration::from_secs(60), site.task).await.expect("it ends");
    end.unwrap().unwrap();
    assert_eq!((site.seen.finished(), site.seen.dropped()), (1, 0));
}
