//! A server that has one of everything, and no clock.

use std::future::pending;

use couplet_core::Limits;
use couplet_server::{
    Ctx, Json, Server, ServerHandle, ToolError,
    extract::{Args, Path, RawArgs},
    prompt, resource,
    schemars::JsonSchema,
    tool,
};
use couplet_types::LoggingLevel;
use serde::{Deserialize, Serialize};

/// Limits that a short input can reach.
pub(crate) fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.message = 4096;
    limits.running = 4;
    limits.waiting = 4;
    limits.queue = 16;
    limits.questions = 2;
    limits.subscriptions = 2;
    limits.uris = 3;
    limits
}

pub(crate) fn service() -> ServerHandle {
    Server::new("fuzz", "1.0.0")
        .timeout(None)
        .request_state_key([7; 32])
        .limits(limits())
        .page_size(3)
        .advertise_empty_lists()
        .tool(tool("add", |Args(n): Args<Numbers>| n.a + n.b))
        .tool(tool("shape", |Args(shape): Args<Shape>| Json(shape)))
        .tool(tool("echo", |RawArgs(arguments): RawArgs| arguments.as_str().to_owned()))
        .tool(tool("fail", || -> Result<String, ToolError> { Err(ToolError::new("as it should")) }))
        .tool(tool("talk", talk))
        .tool(tool("ask", ask))
        .tool(tool("never", || async { pending::<String>().await }))
        .resource(resource("fuzz://fixed", || "fixed").subscribable())
        .resource(
            resource("fuzz://square/{n}", |Path(n): Path<f64>| n * n)
                .complete_from("n", ["1", "12", "123"])
                .subscribable(),
        )
        .resource(resource("fuzz://bytes/{+path}{?a,b}", |Path(path): Path<Parts>| path.path.into_bytes()))
        .prompt(
            prompt("explain", |Args(e): Args<Explain>| format!("Explain {} {}.", e.what, e.times.unwrap_or(1)))
                .complete_from("what", ["one", "two", "three"]),
        )
        .build()
}

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: f64,
    b: f64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
enum Shape {
    Circle { radius: u8 },
    Many { shapes: Vec<Shape>, name: Option<String> },
}

#[derive(Deserialize)]
struct Parts {
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct Explain {
    what: String,
    times: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct Yes {
    yes: bool,
}

/// Says everything that can be said without an answer.
async fn talk(ctx: Ctx) -> String {
    ctx.log(LoggingLevel::Error, "an error").await;
    ctx.debug("a detail").await;
    ctx.progress(0.5, "half").await;
    ctx.progress_with(2.0, None, None).await;
    ctx.server().updated("fuzz://fixed");
    "said".to_owned()
}

/// Asks twice, with a step in between.
async fn ask(ctx: Ctx) -> Result<String, ToolError> {
    let first = ctx.elicit::<Yes>("first", "Really?").await?.accepted()?;
    let step: u32 = ctx.step("step", || async { 7 }).await?;
    let roots = ctx.roots().await.map(|roots| roots.len()).unwrap_or_default();
    Ok(format!("{} {step} {roots}", first.yes))
}
