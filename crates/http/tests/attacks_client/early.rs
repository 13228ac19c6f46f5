//! Servers that answer before they have read the whole request, and close.

use std::sync::Arc;

use couplet_client::{Client, ClientBuilder};
use couplet_core::{Limits, Transport};
use couplet_http::{client::HyperClient, server::HttpTransport};
use couplet_server::{Server, extract::Args, tool};
use couplet_types::ProtocolVersion;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

const SIZES: [usize; 3] = [5 << 20, 17 << 20, 40 << 20];

/// What a call with an argument of this size fails with.
async fn call(builder: ClientBuilder, url: &str, size: usize) -> String {
    let sender = HyperClient::builder().direct().build().unwrap();
    let client = builder.connect(couplet_http::connect(url).client(Arc::new(sender))).await.unwrap();
    let error = client.call("length", json!({ "text": "x".repeat(size) })).await.unwrap_err();
    error.to_string()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

async fn length(Args(text): Args<Text>) -> String {
    text.text.len().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_07_our_own_server_says_that_a_body_is_too_long() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = Server::new("test", "1").tool(tool("length", length));
    let served =
        tokio::spawn(HttpTransport::from_listener(listener).serve(Arc::new(server.build()), Limits::default()));
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        for size in SIZES {
            let told = call(Client::new("test", "1").versions([version]), &url, size).await;
            assert!(told.contains("the body is longer than 4194304 bytes"), "{version} {size}: {told}");
        }
    }
    served.abort();
}

/// Reads the head of a request and a little of its body, answers, and closes with the rest unread.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_07_what_a_server_said_before_it_closed_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut read = vec![0; 64 << 10];
                while let Ok(length) = socket.read(&mut read).await
                    && length > 0
                {
                    let text = String::from_utf8_lossy(&read[..length]);
                    let (status, body) = match text.contains("server/discover") {
                        true => ("200 OK", discovered(&text)),
                        false => ("413 Content Too Large", String::new()),
                    };
                    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n");
                    let reply = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
                    socket.write_all(reply.as_bytes()).await.unwrap();
                    if body.is_empty() {
                        return;
                    }
                }
            });
        }
    });
    for size in SIZES {
        let told = call(Client::new("test", "1"), &url, size).await;
        assert!(told.contains("too large for the server (413)"), "{size}: {told}");
    }
    served.abort();
}

fn discovered(request: &str) -> String {
    let body = request.split_once("\r\n\r\n").unwrap().1;
    let id = serde_json::from_str::<serde_json::Value>(body).unwrap()["id"].clone();
    json!({ "jsonrpc": "2.0", "id": id, "result": crate::mock::discovered() }).to_string()
}
