//! A server over HTTP with everything beside its endpoint: health checks, metrics for Prometheus, the inspector's page, its
//! card, and CORS for pages of a browser. Two clients call it, one with hyper and one with reqwest.

use std::sync::Arc;

use couplet::{
    http::{
        self,
        client::{HyperClient, ReqwestClient},
        server::HttpTransport,
    },
    prelude::*,
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The origin of the page that may call the server.
const PAGE: &str = "https://app.example.com";

/// The public URL of the server, which its card names.
const URL: &str = "https://example.com/mcp";

/// Adds two numbers.
#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let (listener, metrics) = (TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?);
    let (address, metrics_address) = (listener.local_addr()?.to_string(), metrics.local_addr()?.to_string());
    let transport = HttpTransport::from_listener(listener)
        .metrics_listener(metrics)
        .endpoint(|endpoint| endpoint.allow_origin(PAGE).inspector().card("com.example/calculator", URL));
    let shutdown = transport.shutdown();
    let serving = tokio::spawn(Server::new("calculator", "1.0.0").tool(add).serve(transport));

    // The certificates of the system, for servers with those of a company; and the reqwest of the program.
    let url = format!("http://{address}/mcp");
    let hyper = HyperClient::builder().system_roots().build()?;
    let reqwest = ReqwestClient::new(reqwest::Client::builder().no_proxy())?;
    for target in [http::connect(&*url).client(Arc::new(hyper)), http::connect(&*url).client(Arc::new(reqwest))] {
        let client = Client::new("demo", "1.0.0").connect(target).await?;
        assert_eq!(client.call("add", json!({ "a": 2, "b": 3 })).await?.into_result()?.text(), "5");
        client.close().await?;
    }

    // A browser asks before it sends a call from a page. Pages of others are refused.
    let preflight = |origin: &str| {
        format!(
            "OPTIONS /mcp HTTP/1.1\r\nhost: {address}\r\norigin: {origin}\r\naccess-control-request-method: POST\r\n"
        )
    };
    let allowed = exchange(&address, &preflight(PAGE)).await?.to_lowercase();
    assert!(allowed.contains(&format!("access-control-allow-origin: {PAGE}")), "{allowed}");
    let refused = exchange(&address, &preflight("https://evil.example.com")).await?;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");

    for (address, path, part) in [
        (&address, "/ready", "200 OK"),
        (&address, "/mcp/inspector/", "text/html"),
        (&address, "/mcp/server-card", "com.example/calculator"),
        (&metrics_address, "/metrics", "couplet_requests_total"),
    ] {
        let answer = exchange(address, &format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n")).await?;
        assert!(answer.contains(part), "{path}: {answer}");
        println!("{path} answers");
    }
    shutdown.trigger();
    serving.await.expect("the server does not panic")
}

/// Sends a request without a body, and returns the whole answer.
async fn exchange(address: &str, head: &str) -> couplet::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
