//! Targets of `connect`: what is inferred, which strings are URLs, what is refused.

use couplet_client::{Client, IntoTarget};
use couplet_core::{Connect, ErrorKind};
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

use crate::script::Script;

const VERSION: ProtocolVersion = ProtocolVersion::V2026_07_28;

async fn name<M>(target: impl IntoTarget<M>) -> String {
    let client = Client::new("test", "1").connect(target).await.unwrap();
    client.server().info.clone().unwrap().name
}

#[tokio::test]
async fn every_connect_is_a_target() {
    async fn generic(target: impl Connect) -> String {
        name(target).await
    }
    let script = || Script::speaking(VERSION, json!({}), |_| Vec::new());
    let expected = name(script()).await;
    assert_eq!(generic(script()).await, expected);
    assert_eq!(name(&mut script()).await, expected);
    assert_eq!(name(Box::new(script()) as Box<dyn Connect>).await, expected);
    assert_eq!(name(couplet_client::Reconnecting::new(script())).await, expected);
    // The future of a target can be sent to another thread.
    assert_eq!(tokio::spawn(name(script())).await.unwrap(), expected);
}

/// Answers `server/discover` on a socket, as often as it is asked.
async fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(answer(socket));
        }
    });
    url
}

async fn answer(socket: TcpStream) {
    let mut socket = BufReader::new(socket);
    let (mut line, mut length) = (String::new(), 0);
    while socket.read_line(&mut line).await.unwrap() > 2 {
        let header = std::mem::take(&mut line).to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap();
    let result = json!({
        "resultType": "complete", "supportedVersions": [VERSION.as_str()], "capabilities": {}, "ttlMs": 0, "cacheScope": "public",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "remote", "version": "1" } },
    });
    let body = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    socket.write_all((head + &body).as_bytes()).await.unwrap();
}

#[tokio::test]
async fn a_url_is_a_target() {
    let url = serve().await;
    assert_eq!(name(url.as_str()).await, "remote");
    assert_eq!(name(&url).await, "remote");
    assert_eq!(name(url.replace("http", "HTTP")).await, "remote");
    let uri: http::Uri = url.parse().unwrap();
    assert_eq!(name(&uri).await, "remote");
    assert_eq!(name(uri).await, "remote");
    assert_eq!(name(couplet_http::connect(url)).await, "remote");
}

#[tokio::test]
async fn other_strings_are_refused() {
    let advice = "expected `http://` or `https://`; for a stdio server use `Command::new(...)`";
    for (text, what) in [
        ("node server.js", "a string that is not a URL"),
        ("example.com/mcp", "a string that is not a URL"),
        ("", "a string that is not a URL"),
        ("ftp://user:secret@example.com", "the scheme `ftp`"),
        ("user:secret@host http://example.com", "a string that is not a URL"),
    ] {
        let error = Client::new("test", "1").connect(text).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (ErrorKind::Config, format!("cannot connect to {what}: {advice}"))
        );
    }
    for text in ["https://", "http://user:secret@example.com/"] {
        let error = Client::new("test", "1").connect_with_driver(text.to_owned()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
