//! Sampling with tools: the server uses the client's model, offers it a tool, and runs the tool when the model calls it.
//! Deprecated since 2026-07-28, but it works in every revision.

use couplet::{
    ProtocolVersion,
    prelude::*,
    types::{
        ContentBlock, CreateMessageParams, CreateMessageResult, SamplingMessage, StopReason, Tool, ToolResultContent,
        ToolUseContent,
    },
};
use serde_json::json;

/// Answers a question about the weather.
#[tool]
async fn weather(question: String, ctx: Ctx) -> Result<String, ToolError> {
    let thermometer = Tool::new("thermometer", json!({ "type": "object" })).description("The temperature outside.");
    let mut talk = vec![SamplingMessage::user(question)];
    for round in 0..3 {
        let ask = CreateMessageParams::new(talk.clone(), 200).tools(vec![thermometer.clone()]);
        let said = ctx.sample(&format!("round {round}"), ask).await?;
        let measured =
            |used: &ToolUseContent| ToolResultContent::new(&used.id, vec![ContentBlock::text("-3 °C")]).into();
        let results: Vec<ContentBlock> = said.content.tool_uses().map(measured).collect();
        if results.is_empty() {
            return Ok(said.content.all_text());
        }
        talk.push(SamplingMessage::assistant(said.content.clone()));
        talk.push(SamplingMessage::user(results));
    }
    Err(ToolError::new("the model cannot make up its mind"))
}

/// A fake model: it calls the tool once, then answers.
fn model(ask: &CreateMessageParams) -> CreateMessageResult {
    assert_eq!(ask.tools.as_ref().map(|tools| tools[0].name.as_str()), Some("thermometer"));
    match ask.messages.len() {
        1 => {
            let look = ToolUseContent::new("1", "thermometer", json!({}));
            CreateMessageResult::new("a-model", ContentBlock::from(look)).stop_reason(StopReason::ToolUse)
        }
        _ => CreateMessageResult::new("a-model", "Take a coat."),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let server = Server::new("weather", "1.0.0").tool(weather).build();
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let client = Client::new("agent", "1.0.0").versions([version]).sampling_tools(true);
        let client = client.on_sample(|ask| async move { Ok(model(&ask)) }).connect(server.clone()).await?;
        let text = client.call("weather", json!({ "question": "What do I wear?" })).await?.into_result()?.text();
        println!("{version}: {text}");
        assert_eq!(text, "Take a coat.");
    }
    Ok(())
}
