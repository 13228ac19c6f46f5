//! The server of the benchmark with `rmcp`: `bench-rmcp stdio | stdio-pipes | http PORT [json] [nodelay] [arc]`.
//!
//! * Without options it is set up like the SDK's own examples.
//! * `stdio-pipes`: non-blocking pipes, instead of tokio's threads for standard input and output.
//! * `nodelay`: `TCP_NODELAY` on accepted connections. Without it a response of several small writes waits for the
//!   client's delayed acknowledgement, about 40 ms.
//! * `json`: no sessions, and JSON instead of events.
//! * `arc`: one handler behind an `Arc`, instead of a clone of it (with its routers) per session or request.

use std::sync::Arc;

use axum::serve::ListenerExt;
use rmcp::{
    ServerHandler, ServiceExt,
    handler::server::{
        router::tool::{ToolRoute, ToolRouter},
        wrapper::Parameters,
    },
    model::{CallToolResult, ContentBlock, ServerCapabilities, ServerConfig, Tool},
    schemars::JsonSchema,
    tool, tool_handler, tool_router,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde::Deserialize;

type Failure = Box<dyn std::error::Error>;

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

#[derive(Clone)]
struct Server {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Server {
    fn new() -> Self {
        let mut tool_router = Self::tool_router();
        for i in 0..100 {
            let schema = serde_json::json!({"type":"object","properties":{
                "query":{"type":"string","description":"what to look for"},
                "limit":{"type":"integer","description":"how many"}},"required":["query"]});
            let schema = Arc::new(schema.as_object().cloned().unwrap_or_default());
            let dummy = Tool::new(format!("dummy_{i:03}"), format!("Dummy tool number {i}"), schema);
            tool_router.add_route(ToolRoute::new_dyn(dummy, |_| {
                Box::pin(async { Ok(CallToolResult::success(vec![ContentBlock::text("ok")]).into()) })
            }));
        }
        Self { tool_router }
    }

    #[tool(description = "Add two integers")]
    async fn add(&self, Parameters(p): Parameters<Add>) -> String {
        (p.a + p.b).to_string()
    }

    #[tool(description = "Return the text unchanged")]
    async fn echo(&self, Parameters(p): Parameters<Echo>) -> String {
        p.text
    }

    #[tool(description = "Return a text of the given size")]
    async fn payload(&self, Parameters(p): Parameters<Payload>) -> String {
        "x".repeat(p.bytes)
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["stdio"] => drop(Server::new().serve(rmcp::transport::stdio()).await?.waiting().await?),
        ["stdio-pipes"] => drop(Server::new().serve(rmcp::transport::io::stdio_pipes()).await?.waiting().await?),
        ["http", port, words @ ..] => http(port, words).await?,
        _ => return Err("usage: bench-rmcp stdio | stdio-pipes | http PORT [json] [nodelay] [arc]".into()),
    }
    Ok(())
}

async fn http(port: &str, words: &[&str]) -> Result<(), Failure> {
    let mut config = StreamableHttpServerConfig::default().with_max_request_body_bytes(64 << 20);
    if words.contains(&"json") {
        config = config.with_legacy_session_mode(false).with_json_response(true);
    }
    let router = axum::Router::new();
    let router = if words.contains(&"arc") {
        let server = Arc::new(Server::new());
        let service: StreamableHttpService<Arc<Server>, LocalSessionManager> =
            StreamableHttpService::new(move || Ok(server.clone()), Default::default(), config);
        router.nest_service("/mcp", service)
    } else {
        let server = Server::new();
        let service: StreamableHttpService<Server, LocalSessionManager> =
            StreamableHttpService::new(move || Ok(server.clone()), Default::default(), config);
        router.nest_service("/mcp", service)
    };
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    if words.contains(&"nodelay") {
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        return Ok(axum::serve(listener, router).await?);
    }
    Ok(axum::serve(listener, router).await?)
}
