//! Tools with elicitation or sampling.

use couplet::{
    prelude::*,
    types::{CreateMessageParams, ElicitParams, ElicitResult, SamplingMessage},
};
use serde_json::{Value, json};

pub(crate) fn register(server: Server) -> Server {
    server
        .tool(test_sampling)
        .tool(test_elicitation)
        .tool(test_elicitation_sep1034_defaults)
        .tool(test_elicitation_sep1330_enums)
        .tool(test_streaming_elicitation)
}

/// Sends a sampling request.
#[tool]
async fn test_sampling(prompt: String, ctx: Ctx) -> Result<String, ToolError> {
    let question = CreateMessageParams::new(vec![SamplingMessage::user(prompt.as_str())], 100);
    Ok(format!("LLM response: {}", ctx.sample("question", question).await?.content.all_text()))
}

/// Sends an elicitation request.
#[tool]
async fn test_elicitation(message: String, ctx: Ctx) -> Result<String, ToolError> {
    let form = json!({
        "username": { "type": "string", "description": "User's response" },
        "email": { "type": "string", "description": "User's email address" }
    });
    let answer = ask(&ctx, "user", &message, &form, &["username", "email"]).await?;
    Ok(format!("User response: {}", tell(&answer)))
}

/// Elicits a form with a default for each kind of field.
#[tool]
async fn test_elicitation_sep1034_defaults(ctx: Ctx) -> Result<String, ToolError> {
    let form = json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true }
    });
    let answer = ask(&ctx, "defaults", "Please review and update the form fields", &form, &[]).await?;
    Ok(format!("Elicitation completed: {}", tell(&answer)))
}

/// Elicits every kind of choice.
#[tool]
async fn test_elicitation_sep1330_enums(ctx: Ctx) -> Result<String, ToolError> {
    let titled = json!([
        { "const": "value1", "title": "First Option" },
        { "const": "value2", "title": "Second Option" },
        { "const": "value3", "title": "Third Option" }
    ]);
    let form = json!({
        "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
        "titledSingle": { "type": "string", "oneOf": titled },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": ["option1", "option2", "option3"] } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled } }
    });
    let answer = ask(&ctx, "enums", "Please select options", &form, &[]).await?;
    Ok(format!("Elicitation completed: {}", tell(&answer)))
}

/// Elicits while the response is a stream.
#[tool]
async fn test_streaming_elicitation(ctx: Ctx) -> Result<String, ToolError> {
    let form = json!({ "name": { "type": "string" } });
    let answer = ask(&ctx, "name", "What is your name?", &form, &["name"]).await?;
    Ok(format!("Elicitation completed: {}", tell(&answer)))
}

pub(crate) async fn ask(
    ctx: &Ctx,
    key: &str,
    message: &str,
    properties: &Value,
    required: &[&str],
) -> Result<ElicitResult, ToolError> {
    let mut params = ElicitParams::default();
    params.message = message.to_owned();
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    params.requested_schema = Some(schema.into());
    Ok(ctx.elicit_with(key, params).await?)
}

fn tell(answer: &ElicitResult) -> String {
    json!({ "action": answer.action, "content": answer.content }).to_string()
}
