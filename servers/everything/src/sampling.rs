//! Sampling tools. Sampling is deprecated since 2026-07-28, and still supported.

use couplet::{
    prelude::*,
    types::{ContentBlock, CreateMessageParams, SamplingMessage, Tool, ToolResultContent, ToolUseContent},
};
use serde_json::json;

use crate::clock;

/// The maximum number of rounds.
const ROUNDS: usize = 4;

/// Trigger a Request from the Server for LLM Sampling
#[tool(name = "trigger-sampling-request", title = "Trigger Sampling Request Tool", destructive = false, open_world)]
pub(crate) async fn trigger_sampling_request(
    /// The prompt to send to the LLM
    prompt: String,
    /// Maximum number of tokens to generate
    #[serde(rename = "maxTokens")]
    #[default(100.0)]
    max_tokens: f64,
    ctx: Ctx,
) -> Result<String, ToolError> {
    let answer = ctx.sample("question", question("trigger-sampling-request", &prompt, max_tokens)).await?;
    Ok(format!("LLM sampling result: \n{}", serde_json::to_string_pretty(&answer)?))
}

/// Creates the sampling request of a tool.
pub(crate) fn question(tool: &str, prompt: &str, max_tokens: f64) -> CreateMessageParams {
    let message = SamplingMessage::user(format!("Resource {tool} context: {prompt}"));
    CreateMessageParams::new(vec![message], max_tokens as u64)
        .system_prompt("You are a helpful test server.")
        .temperature(0.7)
}

/// Sends a sampling request with a tool that returns the time, for up to four rounds.
#[tool(name = "trigger-sampling-with-tools", title = "Trigger Sampling With Tools", open_world)]
pub(crate) async fn trigger_sampling_with_tools(
    /// The prompt to send to the LLM
    prompt: String,
    ctx: Ctx,
) -> Result<String, ToolError> {
    let tool = Tool::new("now", json!({ "type": "object" })).description("The time of day in UTC.");
    let mut talk = vec![SamplingMessage::user(prompt)];
    for round in 0..ROUNDS {
        let ask = CreateMessageParams::new(talk.clone(), 200).tools(vec![tool.clone()]);
        let said = ctx.sample(&format!("round {round}"), ask).await?;
        // Stored, because a retry must send the same requests as before.
        let time: String = ctx.step(&format!("time {round}"), || async { clock::now() }).await?;
        let told = |used: &ToolUseContent| ToolResultContent::new(&used.id, vec![time.as_str().into()]).into();
        let results: Vec<ContentBlock> = said.content.tool_uses().map(told).collect();
        if results.is_empty() {
            return Ok(said.content.all_text());
        }
        talk.push(SamplingMessage::assistant(said.content.clone()));
        talk.push(SamplingMessage::user(results));
    }
    Err(ToolError::new("the model called the tool in every round and gave no answer"))
}
