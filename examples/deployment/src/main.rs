//! A server as the chapter on deployment describes it: health and readiness checks, metrics at an address of their own, a
//! state key that all replicas share, and a graceful shutdown that SIGTERM begins.
//!
//! The replicas are in one process here, and a client sends its requests to them in turn, as a load balancer does.

mod replica;

use std::sync::Arc;

use couplet::{
    ProtocolVersion,
    http::{
        self,
        client::{Body, HttpClient, HyperClient},
    },
    prelude::*,
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use replica::{App, Replica};

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let (first, second) = (App::new(), App::new());
    let (a, b) = (Replica::start(first.clone()).await?, Replica::start(second.clone()).await?);

    probes(&a, &first).await?;
    rounds(&a, &b).await?;
    shutdown(a, first).await?;
    b.shutdown.trigger();
    b.serving.await.expect("the server does not panic")
}

/// A process is alive from its start on, and ready when what it needs is there.
async fn probes(replica: &Replica, app: &App) -> couplet::Result<()> {
    assert_eq!(status(&replica.address, "/health").await?, "200");
    assert_eq!(status(&replica.address, "/ready").await?, "200");
    assert!(app.is_checked(), "`/ready` asks the program");

    // Metrics are not for clients: they are at another address.
    assert_eq!(status(&replica.address, "/metrics").await?, "404");
    assert!(get(&replica.metrics, "/metrics").await?.contains("couplet_"));
    println!("probes and metrics answer");
    Ok(())
}

/// One replica asks a question, and another one gets the answer: they share the state key.
async fn rounds(a: &Replica, b: &Replica) -> couplet::Result<()> {
    let balancer =
        Balancer { client: HyperClient::new()?, hosts: [a, b].map(|replica| replica.address.clone()), next: 0.into() };
    let client = Client::new("demo", "1.0.0")
        .versions([ProtocolVersion::V2026_07_28])
        .on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) })
        .connect(http::connect(format!("http://{}/mcp", a.address)).client(Arc::new(balancer)))
        .await?;
    for _ in 0..4 {
        assert_eq!(client.call("release", ()).await?.into_result()?.text(), "released");
    }
    client.close().await?;
    for replica in [a, b] {
        let metrics = get(&replica.metrics, "/metrics").await?;
        assert!(metrics.contains("couplet_requests_total{"), "both replicas had requests: {metrics}");
    }
    println!("questions go on at another replica");
    Ok(())
}

/// What SIGTERM begins: no new work, and the call that runs gets its answer.
async fn shutdown(replica: Replica, app: App) -> couplet::Result<()> {
    let client = Client::new("demo", "1.0.0").connect(http::connect(format!("http://{}/mcp", replica.address))).await?;
    let call = tokio::spawn(async move { client.call("work", ()).await?.into_result() });
    app.started.notified().await;
    replica.shutdown.trigger();
    // The load balancer hears of it here, and sends nothing new.
    while status(&replica.metrics, "/ready").await? != "503" {
        tokio::task::yield_now().await;
    }
    assert_eq!(status(&replica.metrics, "/health").await?, "200");
    app.finish.notify_one();
    assert_eq!(call.await.expect("the client does not panic")?.text(), "done");
    replica.serving.await.expect("the server does not panic")?;
    println!("the running call was answered, and the server has ended");
    Ok(())
}

/// Sends each request to the next replica.
struct Balancer {
    client: HyperClient,
    hosts: [String; 2],
    next: std::sync::atomic::AtomicUsize,
}

impl HttpClient for Balancer {
    fn send(
        &self,
        mut request: ::http::Request<bytes::Bytes>,
    ) -> couplet::core::BoxFuture<'static, couplet::Result<::http::Response<Body>>> {
        let turn = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % self.hosts.len();
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let uri = format!("http://{}{path}", self.hosts[turn]);
        *request.uri_mut() = uri.parse().expect("an address and a path are a URL");
        self.client.send(request)
    }
}

async fn status(address: &str, path: &str) -> couplet::Result<String> {
    let answer = get(address, path).await?;
    Ok(answer.split(' ').nth(1).unwrap_or_default().to_owned())
}

async fn get(address: &str, path: &str) -> couplet::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
