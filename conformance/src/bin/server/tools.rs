//! Tools that send notifications, change the server, or have a schema of their own.

use std::time::Duration;

use couplet::{
    prelude::*,
    server::extract::RawArgs,
    types::{ClientCapabilities, CreateMessageParams, LoggingLevel, SamplingCapability, SamplingMessage},
};
use serde_json::{Value, json};
use tokio::time::sleep;

pub(crate) fn register(server: Server) -> Server {
    server
        .tool(test_tool_with_logging)
        .tool(test_tool_with_progress)
        .tool(test_logging_tool)
        .tool(test_missing_capability)
        .tool(test_reconnection)
        .tool(test_trigger_tool_change)
        .tool(test_trigger_prompt_change)
        .tool(
            tool("test_custom_header", |RawArgs(arguments): RawArgs| arguments.as_str().to_owned())
                .description("Has an argument that is also a header.")
                .input_schema(header_schema()),
        )
        .tool(
            tool("json_schema_2020_12_tool", |RawArgs(_): RawArgs| "ok")
                .description("Has a schema with the keywords of 2020-12.")
                .input_schema(schema_2020_12()),
        )
}

/// Logs three messages.
#[tool]
async fn test_tool_with_logging(ctx: Ctx) -> &'static str {
    ctx.info("Tool execution started").await;
    sleep(Duration::from_millis(50)).await;
    ctx.info("Tool processing data").await;
    sleep(Duration::from_millis(50)).await;
    ctx.info("Tool execution completed").await;
    "Tool with logging executed successfully"
}

/// Reports progress.
#[tool]
async fn test_tool_with_progress(ctx: Ctx) -> &'static str {
    for done in [0.0, 50.0, 100.0] {
        ctx.progress_with(done, Some(100.0), Some(format!("{done} of 100"))).await;
        sleep(Duration::from_millis(20)).await;
    }
    "Tool with progress executed successfully"
}

/// Logs if the request enables it.
#[tool]
async fn test_logging_tool(ctx: Ctx) -> &'static str {
    ctx.log(LoggingLevel::Info, "a line of the log").await;
    "logged, if that was wanted"
}

/// Needs a client with sampling.
#[tool]
async fn test_missing_capability(ctx: Ctx) -> Result<String, ToolError> {
    ctx.require(&ClientCapabilities::new().sampling(SamplingCapability::new()))?;
    let question = CreateMessageParams::new(vec![SamplingMessage::user("Anything")], 10);
    Ok(ctx.sample("anything", question).await?.content.all_text())
}

/// Ends its stream early; the client reconnects for the result.
#[tool]
async fn test_reconnection(ctx: Ctx) -> &'static str {
    ctx.release_stream(Duration::from_millis(500));
    sleep(Duration::from_millis(100)).await;
    "Reconnection test completed successfully"
}

/// Adds or removes a tool.
#[tool]
async fn test_trigger_tool_change(ctx: Ctx) -> Result<&'static str, ToolError> {
    let server = ctx.server();
    if !server.remove_tool("test_changing_tool") {
        server.add_tool(tool("test_changing_tool", || "here").description("Comes and goes."))?;
    }
    Ok("the list of tools has changed")
}

/// Adds or removes a prompt.
#[tool]
async fn test_trigger_prompt_change(ctx: Ctx) -> Result<&'static str, ToolError> {
    let server = ctx.server();
    if !server.remove_prompt("test_changing_prompt") {
        server.add_prompt(prompt("test_changing_prompt", || "here").description("Comes and goes."))?;
    }
    Ok("the list of prompts has changed")
}

fn header_schema() -> Value {
    json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } })
}

fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    })
}
