//! Servers without TLS that the gateway speaks HTTP/2 with.

use std::sync::{Arc, Mutex};

use couplet_core::{BoxFuture, sync::lock};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::kit::{File, SHORT, Upstream, client};

/// The beginnings of the connections at an address, each of which is served with a function.
async fn listening(
    serve: impl Fn(TcpStream, Vec<u8>) -> BoxFuture<'static, ()> + Send + 'static,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let beginnings = Arc::new(Mutex::new(Vec::new()));
    let seen = beginnings.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut first = vec![0; 4];
            if socket.read_exact(&mut first).await.is_ok() {
                lock(&seen).push(String::from_utf8_lossy(&first).into_owned());
                tokio::spawn(serve(socket, first));
            }
        }
    });
    (url, beginnings)
}

#[tokio::test]
async fn all_calls_share_a_connection() {
    let server = Upstream::start(&["one"]).await;
    let address = server.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let (url, beginnings) = listening(move |mut socket, first| {
        let address = address.clone();
        Box::pin(async move {
            let mut server = TcpStream::connect(&address).await.unwrap();
            server.write_all(&first).await.unwrap();
            let _ = copy_bidirectional(&mut socket, &mut server).await;
        })
    })
    .await;
    for (more, expected) in
        [(r#", "http2": true"#, "PRI "), (r#", "http2": true, "revision": "2025-11-25""#, "PRI "), ("", "POST")]
    {
        lock(&beginnings).clear();
        let file =
            File::new(&format!(r#"{{ "mcpServers": {{ "far": {{ "url": "{url}"{more} }} }}, "names": "bare" }}"#));
        let gateway = file.start().await.unwrap();
        gateway.ready(SHORT).await;
        let mut calls = JoinSet::new();
        for _ in 0..8 {
            let client = client(&gateway, None).await;
            for _ in 0..4 {
                let client = client.clone();
                calls.spawn(async move { client.call("one", ()).await.unwrap().text() });
            }
        }
        assert!(calls.join_all().await.iter().all(|said| said == "one"));
        let begun = lock(&beginnings).clone();
        assert!(begun.iter().all(|first| first == expected), "{more}: {begun:?}");
        assert_eq!(begun.len() == 1, expected == "PRI ", "{more}: {begun:?}");
        gateway.close().await;
    }
}

#[tokio::test]
async fn a_server_without_http2_is_named() {
    let (url, _) = listening(|mut socket, _| {
        Box::pin(async move {
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
        })
    })
    .await;
    let file = File::new(&format!(
        r#"{{ "mcpServers": {{ "far": {{ "url": "{url}", "http2": true, "start": "eager" }} }} }}"#
    ));
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    let status = gateway.host().status()[0].upstream.clone();
    let cause = format!("{status:?}");
    assert!(cause.contains("did not answer in HTTP/2, which is demanded of it without TLS"), "{cause}");
    gateway.close().await;
}
