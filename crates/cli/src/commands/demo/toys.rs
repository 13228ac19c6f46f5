//! A server that does a little of everything.

use couplet::prelude::*;
use serde::Deserialize;

/// What to try with it: a command, and what comes after the address.
pub(super) const TRY: &[(&str, &str)] =
    &[("call", "add a=2 b=3"), ("read", "'demo://greeting/{name}' name=Ada"), ("call", "deploy env=staging")];

pub(super) fn server() -> Server {
    Server::new("demo", env!("CARGO_PKG_VERSION"))
        .instructions("Toys to try a client with.")
        .tool(add)
        .tool(deploy)
        .resource(greeting)
        .prompt(explain)
}

/// Adds two numbers.
#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Really?
    yes: bool,
}

/// Deploys nothing to anywhere, but asks first and shows its progress.
#[tool]
async fn deploy(env: String, ctx: Ctx) -> Result<String, ToolError> {
    let answer = ctx.elicit::<Confirm>("confirm", format!("Deploy to {env}?")).await?.accepted()?;
    if !answer.yes {
        return Ok("nothing was deployed".to_owned());
    }
    for step in ["building", "uploading", "starting"].iter().enumerate() {
        ctx.progress(step.0 as f64 / 3.0, *step.1).await;
        tokio::time::sleep(std::time::Duration::from_millis(400)).await;
    }
    Ok(format!("{env} is up to date"))
}

/// A greeting.
#[resource("demo://greeting/{name}")]
fn greeting(name: String) -> String {
    format!("Hello, {name}!")
}

/// Explains an expression.
#[prompt]
fn explain(expr: String) -> String {
    format!("Explain {expr}, step by step.")
}
