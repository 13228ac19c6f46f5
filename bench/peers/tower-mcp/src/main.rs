//! The server of the benchmark with `tower-mcp`: `bench-tower-mcp stdio | http PORT`.

use schemars::JsonSchema;
use serde::Deserialize;
use tower_mcp::{BoxError, CallToolResult, HttpTransport, McpRouter, StdioTransport, ToolBuilder};

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

fn router() -> McpRouter {
    let mut r = McpRouter::new()
        .server_info("bench", "1.0.0")
        .tool(
            ToolBuilder::new("add")
                .description("Add two integers")
                .handler(|p: Add| async move { Ok(CallToolResult::text((p.a + p.b).to_string())) })
                .build(),
        )
        .tool(
            ToolBuilder::new("echo")
                .description("Return the text unchanged")
                .handler(|p: Echo| async move { Ok(CallToolResult::text(p.text)) })
                .build(),
        )
        .tool(
            ToolBuilder::new("payload")
                .description("Return a text of the given size")
                .handler(|p: Payload| async move { Ok(CallToolResult::text("x".repeat(p.bytes))) })
                .build(),
        );
    for i in 0..100 {
        r = r.tool(
            ToolBuilder::new(format!("dummy_{i:03}"))
                .description(format!("Dummy tool number {i}"))
                .handler(|_: Dummy| async move { Ok(CallToolResult::text("ok")) })
                .build(),
        );
    }
    r
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|m| m == "http") {
        let app = HttpTransport::new(router()).max_body_size(64 << 20).max_sessions(1_000_000).into_router_at("/mcp");
        let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{}", args[2])).await?;
        axum::serve(listener, app).await?;
    } else {
        StdioTransport::new(router()).run().await?;
    }
    Ok(())
}
