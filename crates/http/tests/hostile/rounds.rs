//! A handler that asks until the answer is good, and clients that never give a good one.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use couplet_client::Client;
use couplet_core::{Limits, Transport};
use couplet_http::server::HttpTransport;
use couplet_server::{Ctx, Server, ToolError, tool};
use couplet_types::ProtocolVersion;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::{net::TcpListener, runtime::Runtime};

use crate::peer::memory::say;

/// A safety net: on a server that is stuck nothing else ends the wait.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Deserialize, JsonSchema)]
struct Age {
    age: u64,
}

async fn register(ctx: Ctx) -> Result<String, ToolError> {
    loop {
        let answer = ctx.elicit::<Age>("age", "How old are you? (18 or more)").await?.accepted()?;
        if answer.age >= 18 {
            return Ok(format!("welcome, {}", answer.age));
        }
    }
}

/// A runtime that is never dropped: dropping one waits for handlers that spin.
fn runtime() -> &'static Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    Box::leak(Box::new(runtime.unwrap()))
}

/// How long `/health` takes to answer, over a connection of its own and outside of any runtime.
fn health(address: &str) -> Duration {
    let began = Instant::now();
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("`/health` answers");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    began.elapsed()
}

/// Calls the tool again and again, and answers 7 to everything; returns what the calls came to.
async fn insist(url: String, version: ProtocolVersion) -> Vec<String> {
    let client = Client::new("child", "1.0.0")
        .versions([version])
        .on_elicit(|ask| async move { ask.accept(json!({ "age": 7 })) })
        .connect(couplet_http::connect(url))
        .await
        .unwrap();
    let mut outcomes = Vec::new();
    for _ in 0..20 {
        outcomes.push(client.call("register", json!({})).await.map_or_else(|e| e.to_string(), |r| r.text()));
    }
    outcomes
}

#[test]
fn attack_01_a_handler_that_asks_in_a_loop_does_not_stop_the_server() {
    let server = Server::new("s", "1.0.0").tool(tool("register", register)).build();
    let served = runtime();
    let listener = served.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    served
        .spawn(async move { HttpTransport::from_listener(listener).serve(Arc::new(server), Limits::default()).await });
    let (done, ended) = mpsc::channel();
    let clients = runtime();
    for _ in 0..3 {
        let (url, done) = (format!("http://{address}/mcp"), done.clone());
        clients.spawn(async move {
            let _ = done.send(insist(url, ProtocolVersion::V2026_07_28).await);
        });
    }
    let (mut times, mut outcomes) = (Vec::new(), Vec::new());
    while outcomes.len() < 3 {
        times.push(health(&address));
        outcomes.extend(ended.try_recv());
        assert!(times.iter().sum::<Duration>() < 4 * PATIENCE, "the clients come to their end");
    }
    times.push(health(&address));
    times.sort();
    let (median, slowest) = (times[times.len() / 2], times[times.len() - 1]);
    say(&format!("/health answered {} times: {median:.1?} in the middle, {slowest:.1?} at most", times.len()));
    for outcome in outcomes.into_iter().flatten() {
        assert!(outcome.contains("10 rounds"), "{outcome}");
    }
}
