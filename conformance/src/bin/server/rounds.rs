//! Multi-round-trip requests: tools and a prompt.

use couplet::{
    prelude::*,
    types::{CreateMessageParams, PromptMessage, RpcError, SamplingMessage},
};
use serde::Deserialize;
use serde_json::json;

use crate::asks::ask;

pub(crate) fn register(server: Server) -> Server {
    server
        .tool(test_input_required_result_elicitation)
        .tool(test_input_required_result_sampling)
        .tool(test_input_required_result_list_roots)
        .tool(test_input_required_result_request_state)
        .tool(test_input_required_result_multiple_inputs)
        .tool(test_input_required_result_multi_round)
        .tool(test_input_required_result_tampered_state)
        .tool(test_input_required_result_capabilities)
        .prompt(test_input_required_result_prompt)
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirmed {
    ok: bool,
}

/// Elicits a name.
#[tool]
async fn test_input_required_result_elicitation(ctx: Ctx) -> Result<String, ToolError> {
    let name = ctx.elicit::<Name>("user_name", "What is your name?").await?.accepted()?;
    Ok(format!("Hello, {}!", name.name))
}

/// Sends a sampling request.
#[tool]
async fn test_input_required_result_sampling(ctx: Ctx) -> Result<String, ToolError> {
    let answer = ctx.sample("capital_question", question("What is the capital of France?")).await?;
    Ok(format!("The model says: {}", answer.content.all_text()))
}

/// Requests the roots.
#[tool]
async fn test_input_required_result_list_roots(ctx: Ctx) -> Result<String, ToolError> {
    Ok(format!("{} roots", ctx.roots().await?.len()))
}

/// Stores a value from the first round.
#[tool]
async fn test_input_required_result_request_state(ctx: Ctx) -> Result<String, ToolError> {
    let secret: u64 = ctx.step("secret", || async { 42 }).await?;
    let confirmed = ctx.elicit::<Confirmed>("confirm", "Go on?").await?.accepted()?;
    Ok(format!("state-ok: {secret}, {}", confirmed.ok))
}

/// Sends elicitation, sampling and roots requests in one round.
#[tool]
async fn test_input_required_result_multiple_inputs(ctx: Ctx) -> Result<String, ToolError> {
    let name = ctx.elicit::<Name>("user_name", "What is your name?");
    let greeting = ctx.sample("greeting", question("Write a greeting."));
    let (name, greeting, roots) = tokio::join!(name, greeting, ctx.roots());
    let (name, greeting) = (name?.accepted()?, greeting?);
    Ok(format!("{}, {}: {} roots", greeting.content.all_text(), name.name, roots?.len()))
}

/// Elicits twice.
#[tool]
async fn test_input_required_result_multi_round(ctx: Ctx) -> Result<String, ToolError> {
    let first = ctx.elicit::<Name>("step1", "What is your name?").await?.accepted()?;
    ask(&ctx, "step2", "And your colour?", &json!({ "color": { "type": "string" } }), &[]).await?;
    Ok(format!("Done, {}", first.name))
}

/// Rejects request state that it did not create.
#[tool]
async fn test_input_required_result_tampered_state(ctx: Ctx) -> Result<String, ToolError> {
    let confirmed = ctx.elicit::<Confirmed>("confirm", "Go on?").await?.accepted()?;
    Ok(format!("confirmed: {}", confirmed.ok))
}

/// Sends only requests that the client supports.
#[tool]
async fn test_input_required_result_capabilities(ctx: Ctx) -> Result<String, ToolError> {
    if ctx.can_elicit() {
        let name = ctx.elicit::<Name>("user_name", "What is your name?").await?.accepted()?;
        return Ok(name.name);
    }
    let answer = ctx.sample("greeting", question("Write a greeting.")).await?;
    Ok(answer.content.all_text())
}

/// A prompt that elicits its context.
#[prompt]
async fn test_input_required_result_prompt(ctx: Ctx) -> Result<Vec<PromptMessage>, RpcError> {
    let form = json!({ "context": { "type": "string" } });
    let answer = ask(&ctx, "user_context", "What is it about?", &form, &[]).await;
    let answer = answer.map_err(|e| RpcError::invalid_params(e.to_string()))?;
    let context = answer.content.as_ref().and_then(|c| c.get("context")).map(ToString::to_string).unwrap_or_default();
    Ok(vec![PromptMessage::user(format!("Use this context: {context}"))])
}

fn question(text: &str) -> CreateMessageParams {
    CreateMessageParams::new(vec![SamplingMessage::user(text)], 100)
}
