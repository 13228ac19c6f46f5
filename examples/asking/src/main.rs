//! Elicitation and sampling: a tool that asks the user for consent and the model (deprecated since 2026-07-28) for a
//! sentence. The handler is written once; with sessions it waits, and in the stateless revision it runs again each round.

use std::sync::atomic::{AtomicU32, Ordering};

use couplet::{
    ProtocolVersion,
    prelude::*,
    types::{CreateMessageParams, CreateMessageResult, SamplingMessage},
};
use serde::Deserialize;
use serde_json::json;

/// The number of builds: one per call, however many rounds the call takes.
static BUILDS: AtomicU32 = AtomicU32::new(0);

#[derive(Deserialize, JsonSchema)]
struct Consent {
    /// Deploy it?
    yes: bool,
    /// Why now?
    reason: Option<String>,
}

/// Deploys a build.
#[tool]
async fn deploy(
    /// Where to.
    env: String,
    ctx: Ctx,
) -> Result<String, ToolError> {
    let build = ctx.step("build", || async { BUILDS.fetch_add(1, Ordering::SeqCst) + 1 }).await?;
    let consent = ctx.elicit::<Consent>("consent", format!("Deploy build {build} to {env}?")).await?.accepted()?;
    if !consent.yes {
        return Ok("left alone".to_owned());
    }
    let question = SamplingMessage::user(format!("One line for the log about build {build}, please."));
    let line = ctx.sample("line", CreateMessageParams::new(vec![question], 50)).await?;
    let reason = consent.reason.unwrap_or_default();
    Ok(format!("build {build} is on {env} because {reason}: {}", line.content.all_text()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let server = Server::new("ops", "1.0.0").tool(deploy).build();
    let versions = [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];
    for (call, version) in versions.into_iter().enumerate() {
        let client = Client::new("operator", "1.0.0")
            .versions([version])
            .on_elicit(|ask| async move { ask.accept(json!({ "yes": true, "reason": "it is Friday" })) })
            .on_sample(|_| async { Ok(CreateMessageResult::new("a-model", "all is well")) })
            .connect(server.clone())
            .await?;
        let text = client.call("deploy", json!({ "env": "production" })).await?.into_result()?.text();
        println!("{version}: {text}");
        assert_eq!(text, format!("build {} is on production because it is Friday: all is well", call + 1));
    }
    assert_eq!(BUILDS.load(Ordering::SeqCst), 3, "one build per call");
    Ok(())
}
