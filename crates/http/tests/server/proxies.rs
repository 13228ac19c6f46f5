//! The client's address behind reverse proxies and load balancers.

use std::{sync::Arc, time::Duration};

use couplet_core::{Limits, Transport};
use couplet_http::server::{HttpRequest, HttpTransport, Network, Shutdown, TrustedProxies};
use couplet_server::{Server, extract::Request, tool};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::{listen, log::Log, support::alone};

/// How a version 2 header of the PROXY protocol begins.
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

struct Site {
    address: String,
    shutdown: Shutdown,
    task: JoinHandle<Result<(), couplet_core::Error>>,
}

/// What a handler knows of the client.
fn who(request: Request<HttpRequest>) -> String {
    let client = request.client_ip().map(|client| client.to_string());
    let parts = [client.as_deref(), request.forwarded_scheme(), request.forwarded_host()];
    parts.map(|part| part.unwrap_or("-")).join(" ")
}

async fn site(configure: impl FnOnce(HttpTransport) -> HttpTransport) -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let transport = configure(HttpTransport::from_listener(listener));
    let shutdown = transport.shutdown();
    let server = Server::<()>::new("who", "1.0.0").tool(tool("who", who)).build();
    let task = tokio::spawn(transport.serve(Arc::new(server), Limits::default()));
    Site { address, shutdown, task }
}

fn networks(texts: &[&str]) -> Vec<Network> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

impl Site {
    /// Calls `who` over a connection that begins with these bytes, with these headers; nothing if the connection is closed.
    async fn who(&self, begin: &[u8], headers: &str) -> Option<String> {
        let text = self.send(begin, headers).await;
        let (head, body) = text.split_once("\r\n\r\n")?;
        assert!(head.starts_with("HTTP/1.1 200"), "{text}");
        let message: Value = serde_json::from_str(body).unwrap();
        Some(message["result"]["content"][0]["text"].as_str().unwrap().to_owned())
    }

    async fn send(&self, begin: &[u8], headers: &str) -> String {
        let request = alone("tools/call", json!({ "name": "who" }), &[]);
        let names = ["mcp-protocol-version", "mcp-method", "mcp-name"];
        let own = names.map(|name| format!("{name}: {}\r\n", request.headers()[name].to_str().unwrap())).concat();
        let text = listen::post(&serde_json::from_str(request.body()).unwrap(), &(own + headers));
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let mut answer = Vec::new();
        // A connection may be closed before all is written.
        if stream.write_all(&[begin, text.as_bytes()].concat()).await.is_ok() {
            let _ = stream.read_to_end(&mut answer).await;
        }
        String::from_utf8(answer).unwrap()
    }
}

const FORWARDED: &str =
    "x-forwarded-for: 127.0.0.7, 192.0.2.1\r\nx-forwarded-proto: https\r\nx-forwarded-host: a.example\r\n";

#[tokio::test]
async fn headers_of_a_trusted_proxy_name_the_client() {
    let (log, _guard) = Log::start();
    let trusting = site(|transport| transport.trust_proxy(TrustedProxies::new(networks(&["127.0.0.1"])))).await;
    assert_eq!(trusting.who(b"", FORWARDED).await.unwrap(), "192.0.2.1 https a.example");
    assert!(log.text().contains("client=192.0.2.1 "), "{}", log.text());
    assert_eq!(trusting.who(b"", "x-forwarded-for: garbage\r\n").await.unwrap(), "127.0.0.1 - -");
    assert!(log.text().contains("header=\"x-forwarded-for\""), "{}", log.text());
    assert_eq!(trusting.who(b"", "forwarded: for=192.0.2.1\r\n").await.unwrap(), "127.0.0.1 - -");
}

#[tokio::test]
async fn headers_of_other_peers_are_ignored() {
    for networks in [&[][..], &networks(&["10.0.0.0/8", "::1", "unix"])] {
        let proxies = TrustedProxies::new(networks.iter().copied());
        let site = site(|transport| transport.trust_proxy(proxies)).await;
        assert_eq!(site.who(b"", FORWARDED).await.unwrap(), "127.0.0.1 - -");
    }
}

#[tokio::test]
async fn too_many_hops_are_too_many_headers() {
    let site = site(|transport| transport.trust_proxy(TrustedProxies::new(networks(&["127.0.0.0/8"])))).await;
    let hops = |count| format!("x-forwarded-for: 192.0.2.1{}\r\n", ",127.0.0.2".repeat(count));
    assert_eq!(site.who(b"", &hops(1000)).await.unwrap(), "192.0.2.1 - -");
    let refused = site.send(b"", &hops(10_000)).await;
    assert!(refused.is_empty() || refused.starts_with("HTTP/1.1 431"), "{refused}");
}

#[tokio::test]
async fn the_proxy_protocol_names_the_client() {
    let site = site(|transport| transport.proxy_protocol(networks(&["127.0.0.0/8"]))).await;
    let line = b"PROXY TCP4 192.0.2.1 127.0.0.1 56324 443\r\n";
    assert_eq!(site.who(line, FORWARDED).await.unwrap(), "192.0.2.1 - -");
    let binary = [SIGNATURE, &[0x21, 0x11, 0, 12, 192, 0, 2, 2, 127, 0, 0, 1, 0, 80, 1, 187]].concat();
    assert_eq!(site.who(&binary, "").await.unwrap(), "192.0.2.2 - -");
    // Health checks are connections of the load balancer itself.
    let local = [SIGNATURE, &[0x20, 0, 0, 0]].concat();
    assert_eq!(site.who(&local, "").await.unwrap(), "127.0.0.1 - -");
    let huge = [SIGNATURE, &[0x21, 0x11, 0xff, 0xff], &[0; 0xffff]].concat();
    for begin in [&b""[..], b"PROXY TCP4 nowhere\r\n", b"PROXY TCP4 192.0.2.1 127.0.0.1 56324 443 \r\n", &huge] {
        assert_eq!(site.who(begin, "").await, None, "{}", begin.escape_ascii());
    }
}

#[tokio::test]
async fn other_peers_have_no_proxy_header() {
    let site = site(|transport| transport.proxy_protocol(networks(&["10.0.0.0/8"]))).await;
    assert_eq!(site.who(b"", "").await.unwrap(), "127.0.0.1 - -");
    let refused = site.send(b"PROXY TCP4 192.0.2.1 127.0.0.1 56324 443\r\n", "").await;
    assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
}

#[tokio::test]
async fn both_may_be_used() {
    let site = site(|transport| {
        let proxies = TrustedProxies::new(networks(&["10.0.0.0/8"]));
        transport.proxy_protocol(networks(&["127.0.0.1"])).trust_proxy(proxies)
    })
    .await;
    let line = |source: &str| format!("PROXY TCP4 {source} 127.0.0.1 56324 443\r\n");
    assert_eq!(site.who(line("10.0.0.1").as_bytes(), FORWARDED).await.unwrap(), "192.0.2.1 https a.example");
    assert_eq!(site.who(line("192.0.2.9").as_bytes(), FORWARDED).await.unwrap(), "192.0.2.9 - -");
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_a_proxy_header() {
    let site =
        site(|transport| transport.proxy_protocol(networks(&["127.0.0.1"])).grace(Duration::from_secs(3600))).await;
    let mut stream = TcpStream::connect(&site.address).await.unwrap();
    stream.write_all(b"PROXY TCP4 ").await.unwrap();
    // A second connection is answered, so the first one has been accepted.
    assert!(site.who(b"PROXY UNKNOWN\r\n", "").await.is_some());
    site.shutdown.trigger();
    site.task.await.unwrap().unwrap();
    assert_eq!(stream.read_to_end(&mut Vec::new()).await.unwrap_or(0), 0);
}
