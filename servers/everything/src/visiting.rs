//! A tool of the contract for URL elicitation.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet::{
    core::sync::lock,
    prelude::*,
    types::{ContentBlock, ElicitAction, ElicitParams, RpcError, UrlElicitationRequiredData, code},
};
use serde_json::json;

use crate::App;

/// The maximum number of stored calls.
const MAX_STORED: usize = 256;

/// The calls that failed with a required URL elicitation. The same call succeeds next time.
#[derive(Clone, Default)]
pub(crate) struct Prerequisites(Arc<Mutex<VecDeque<String>>>);

impl Prerequisites {
    /// Whether the call failed before; if not, it is stored.
    fn is_met(&self, call: String) -> bool {
        let mut stored = lock(&self.0);
        if let Some(at) = stored.iter().position(|other| *other == call) {
            stored.remove(at);
            return true;
        }
        stored.truncate(MAX_STORED - 1);
        stored.push_front(call);
        false
    }
}

const DESCRIPTION: &str = "Trigger a URL elicitation so the client can direct the user to a browser flow. Supports two \
    mechanisms: the request path (elicitation/create, default) which awaits the user's response, and the error path \
    (UrlElicitationRequiredError, -32042) which signals the client to handle URL elicitation via the error response. Set \
    errorPath=true to use the error path.";

/// Asks the user to open a URL.
#[tool(
    name = "trigger-url-elicitation",
    title = "Trigger URL Elicitation Tool",
    description = DESCRIPTION,
    destructive = false,
    open_world
)]
pub(crate) async fn trigger_url_elicitation(
    /// The URL the user should open
    #[schemars(extend("format" = "uri"))]
    url: String,
    /// Message shown to the user before opening the URL
    #[default("Please open the link to complete this action.")]
    message: String,
    /// Optional explicit elicitation ID. Defaults to a random UUID.
    #[serde(rename = "elicitationId")]
    asked_id: Option<String>,
    /// Controls which elicitation mechanism is used. When false (default), sends an elicitation/create request (request path). When true, throws a UrlElicitationRequiredError (MCP error code -32042) so the client handles the URL elicitation via the error path rather than waiting for a response. To clear the error, satisfy the prerequisite and retry this call with the same arguments; the retry ignores errorPath and proceeds, so the client does not loop on the same error.
    #[serde(rename = "errorPath")]
    #[default(false)]
    error_path: bool,
    State(app): State<App>,
    ctx: Ctx,
) -> Result<Vec<ContentBlock>, ToolError> {
    if error_path {
        let call = json!([ctx.call().principal(), url, asked_id]).to_string();
        prerequisite(&ctx, &app, call).await?;
    }
    // Each round must send the same request, so the random id is created once.
    let id = ctx.step("id", || async { asked_id.unwrap_or_else(random_id) }).await?;
    let visit = ElicitParams::visit(message, url.as_str()).elicitation_id(id.as_str());
    let answer = ctx.elicit_with("visit", visit).await?;
    let said = match answer.action {
        ElicitAction::Accept => {
            format!("✅ User completed the URL elicitation flow.\nElicitation ID: {id}\nURL: {url}")
        }
        ElicitAction::Decline => format!("❌ User declined to open the URL (Elicitation ID: {id})."),
        ElicitAction::Cancel => format!("⚠️ User cancelled the URL elicitation (Elicitation ID: {id})."),
    };
    Ok(vec![said.into(), format!("\nRaw result: {}", serde_json::to_string_pretty(&answer)?).into()])
}

/// Requires a URL elicitation first: with an error in a session, and with one more round in the stateless revision.
async fn prerequisite(ctx: &Ctx, app: &App, call: String) -> Result<(), ToolError> {
    let message = "Open this link to satisfy the prerequisite, then retry the request.";
    let visit = ElicitParams::visit(message, "https://modelcontextprotocol.io");
    if !ctx.call().revision.has_sessions() {
        ctx.elicit_with("prerequisite", visit).await?;
        return Ok(());
    }
    if app.visits.is_met(call) {
        return Ok(());
    }
    let data = UrlElicitationRequiredData::new(vec![visit.elicitation_id(random_id())]);
    let error = RpcError::new(code::URL_ELICITATION_REQUIRED, "This request requires browser-based authorization.");
    Err(error.with_data(json!(data)).into())
}

fn random_id() -> String {
    let mut bytes = [0; 16];
    // On failure, two elicitations may have the same id.
    let _ = getrandom::fill(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}
