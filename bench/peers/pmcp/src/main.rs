//! The server of the benchmark with `pmcp`: `bench-pmcp stdio | http PORT`.

use std::{net::SocketAddr, sync::Arc};

use pmcp::{
    Server,
    server::streamable_http_server::{StreamableHttpServer, StreamableHttpServerConfig},
    types::{CallToolResult, Content, ProtocolVersion, capabilities::ServerCapabilities},
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// left operand
    a: i64,
    /// right operand
    b: i64,
}
#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// text to return
    text: String,
}
#[derive(Deserialize, JsonSchema)]
struct Payload {
    /// size of the result text
    bytes: usize,
}
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Dummy {
    /// what to look for
    query: String,
    /// how many
    limit: Option<i64>,
}

fn text(t: String) -> pmcp::Result<CallToolResult> {
    Ok(CallToolResult::new(vec![Content::text(t)]))
}

fn server() -> pmcp::Result<Server> {
    let mut b = Server::builder()
        .name("bench")
        .version("1.0.0")
        .with_supported_protocol_versions(["2025-11-25", "2026-07-28"].map(|v| ProtocolVersion(v.into())))
        .capabilities(ServerCapabilities::tools_only())
        .tool_with_result_and_description("add", "Add two integers", |p: Add, _| {
            Box::pin(async move { text((p.a + p.b).to_string()) })
        })
        .tool_with_result_and_description("echo", "Return the text unchanged", |p: Echo, _| {
            Box::pin(async move { text(p.text) })
        })
        .tool_with_result_and_description("payload", "Return a text of the given size", |p: Payload, _| {
            Box::pin(async move { text("x".repeat(p.bytes)) })
        });
    for i in 0..100 {
        b = b.tool_with_result_and_description(
            format!("dummy_{i:03}"),
            format!("Dummy tool number {i}"),
            |_: Dummy, _| Box::pin(async move { text("ok".into()) }),
        );
    }
    b.build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|m| m == "http") {
        let addr: SocketAddr = format!("127.0.0.1:{}", args[2]).parse()?;
        let config = StreamableHttpServerConfig { max_request_bytes: 64 << 20, ..Default::default() };
        let http = StreamableHttpServer::with_config_concurrent(addr, Arc::new(server()?), config);
        let (_, handle) = http.start().await?;
        handle.await?;
    } else {
        server()?.run_stdio().await?;
    }
    Ok(())
}
