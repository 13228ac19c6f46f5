//! The server of the benchmark with `rust-mcp-sdk` + `rust-mcp-axum`: `bench-rust-mcp-sdk stdio | http PORT [json]`.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rust_mcp_axum::{AxumServerOptions, create_axum_server};
use rust_mcp_sdk::{
    McpServer, RequestContext, ServerDetails, StdioTransport, TransportOptions,
    error::SdkResult,
    macros::{JsonSchema, mcp_tool},
    mcp_server::{McpServerOptions, ServerHandler, ToMcpServerHandler, server_runtime},
    schema::{
        CallToolRequestParams, CallToolResult, Implementation, ListToolsResult, ListToolsResultCacheScope,
        PaginatedRequestParams, RpcError, ServerCapabilities, ServerCapabilitiesTools, ServerResult, TextContent, Tool,
        schema_utils::CallToolError,
    },
    tool_box,
};

#[mcp_tool(name = "add", description = "Add two integers")]
#[derive(Debug, serde::Deserialize, serde::Serialize, JsonSchema)]
pub struct Add {
    /// left operand
    a: i64,
    /// right operand
    b: i64,
}
#[mcp_tool(name = "echo", description = "Return the text unchanged")]
#[derive(Debug, serde::Deserialize, serde::Serialize, JsonSchema)]
pub struct Echo {
    /// text to return
    text: String,
}
#[mcp_tool(name = "payload", description = "Return a text of the given size")]
#[derive(Debug, serde::Deserialize, serde::Serialize, JsonSchema)]
pub struct Payload {
    /// size of the result text
    bytes: u64,
}
#[mcp_tool(name = "dummy", description = "Dummy tool")]
#[derive(Debug, serde::Deserialize, serde::Serialize, JsonSchema)]
pub struct Dummy {
    /// what to look for
    query: String,
    /// how many
    limit: Option<i64>,
}
tool_box!(Tools, [Add, Echo, Payload]);

fn tools() -> &'static Vec<Tool> {
    static TOOLS: OnceLock<Vec<Tool>> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let mut all = Tools::tools();
        all.extend((0..100).map(|i| {
            let mut t = Dummy::tool();
            t.name = format!("dummy_{i:03}");
            t.description = Some(format!("Dummy tool number {i}"));
            t
        }));
        all
    })
}

struct Handler;

#[async_trait]
impl ServerHandler for Handler {
    async fn handle_list_tools_request(
        &self,
        _params: Option<PaginatedRequestParams>,
        _context: &RequestContext,
        _runtime: Arc<dyn McpServer>,
    ) -> Result<ListToolsResult, RpcError> {
        Ok(ListToolsResult {
            cache_scope: ListToolsResultCacheScope::Private,
            result_type: "complete".to_string(),
            ttl_ms: 0,
            meta: None,
            next_cursor: None,
            tools: tools().clone(),
        })
    }

    async fn handle_call_tool_request(
        &self,
        params: CallToolRequestParams,
        _context: &RequestContext,
        _runtime: Arc<dyn McpServer>,
    ) -> Result<ServerResult, CallToolError> {
        let text = match Tools::try_from(params).map_err(CallToolError::new)? {
            Tools::Add(p) => (p.a + p.b).to_string(),
            Tools::Echo(p) => p.text,
            Tools::Payload(p) => "x".repeat(p.bytes as usize),
        };
        Ok(CallToolResult::text_content(vec![TextContent::from(text)]).into())
    }
}

#[tokio::main]
async fn main() -> SdkResult<()> {
    let args: Vec<String> = std::env::args().collect();
    let details = ServerDetails {
        server_info: Implementation {
            name: "bench".into(),
            version: "1.0.0".into(),
            title: None,
            description: None,
            icons: vec![],
            website_url: None,
        },
        capabilities: ServerCapabilities {
            tools: Some(ServerCapabilitiesTools { list_changed: None }),
            ..Default::default()
        },
        meta: None,
        instructions: None,
    };
    let handler = Handler.to_mcp_server_handler();
    if args.get(1).is_some_and(|m| m == "http") {
        let options = AxumServerOptions {
            host: "127.0.0.1".into(),
            port: args[2].parse().expect("port"),
            max_request_body_size: Some(64 << 20),
            enable_json_response: Some(args.iter().any(|m| m == "json")),
            ..Default::default()
        };
        create_axum_server(details, handler, options).start().await?;
    } else {
        let transport = StdioTransport::new(TransportOptions::default())?;
        server_runtime::create_server(McpServerOptions {
            server_details: details,
            transport,
            handler,
            message_observer: None,
        })
        .start()
        .await?;
    }
    Ok(())
}
