//! The server of the simulation: tools that are quick, slow, talkative, curious, stuck or broken.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use couplet_server::{
    Ctx, Server, ServerHandle, ToolError,
    extract::{Args, Path, State},
    prompt, resource, tool,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::exec::pauses;

pub(crate) const PLANNED_PANIC: &str = "a handler of the simulation panics";

/// Counts the handlers that are alive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alive(pub(crate) Arc<AtomicUsize>);

impl Alive {
    fn enter(&self) -> Guard {
        self.0.fetch_add(1, Ordering::SeqCst);
        Guard(self.0.clone())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Deserialize, JsonSchema)]
struct Work {
    text: String,
    steps: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Yes {
    yes: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    topic: String,
}

async fn slow(State(alive): State<Alive>, Args(work): Args<Work>) -> String {
    let _alive = alive.enter();
    pauses(work.steps).await;
    work.text
}

async fn talk(State(alive): State<Alive>, Args(work): Args<Work>, ctx: Ctx) -> String {
    let _alive = alive.enter();
    for step in 1..=work.steps {
        ctx.progress_with(step as f64, Some(work.steps as f64), Some(work.text.clone())).await;
        ctx.info(&work.text).await;
        if step % 2 == 0 {
            pauses(1).await;
        }
    }
    work.text
}

async fn ask(State(alive): State<Alive>, Args(work): Args<Work>, ctx: Ctx) -> Result<String, ToolError> {
    let _alive = alive.enter();
    let first: u64 = ctx.step("first", || async { work.steps }).await?;
    pauses(work.steps % 3).await;
    let sure = ctx.elicit::<Yes>("sure", format!("{}?", work.text)).await?.accepted()?;
    let again = ctx.elicit::<Yes>("again", format!("{}, really?", work.text)).await?.accepted()?;
    Ok(if sure.yes && again.yes && first == work.steps { work.text } else { "no".to_owned() })
}

async fn ask_two(State(alive): State<Alive>, Args(work): Args<Work>, ctx: Ctx) -> Result<String, ToolError> {
    let _alive = alive.enter();
    let (a, b) = tokio::join!(ctx.elicit::<Yes>("a", "a?"), ctx.elicit::<Yes>("b", "b?"));
    Ok(if a?.accepted()?.yes && b?.accepted()?.yes { work.text } else { "no".to_owned() })
}

/// Asks and works under the same keys over and over, also at the same time.
async fn ask_again(State(alive): State<Alive>, Args(work): Args<Work>, ctx: Ctx) -> Result<String, ToolError> {
    let _alive = alive.enter();
    let mut sum = 0;
    for round in 0..work.steps % 3 {
        sum += ctx.step("n", || async { round }).await?;
        if !ctx.elicit::<Yes>("n", format!("{}: {round}, {sum}?", work.text)).await?.accepted()?.yes {
            return Ok("no".to_owned());
        }
    }
    let (a, b) = tokio::join!(ctx.elicit::<Yes>("n", "a?"), ctx.elicit::<Yes>("n", "b?"));
    let agreed = a?.accepted()?.yes && b?.accepted()?.yes;
    Ok(if agreed && sum == (0..work.steps % 3).sum::<u64>() { work.text } else { "no".to_owned() })
}

async fn stuck(State(alive): State<Alive>) -> String {
    let _alive = alive.enter();
    std::future::pending().await
}

async fn broken(State(alive): State<Alive>, Args(work): Args<Work>) -> String {
    let _alive = alive.enter();
    pauses(work.steps).await;
    std::panic::panic_any(PLANNED_PANIC)
}

async fn change(State(alive): State<Alive>, ctx: Ctx) -> Result<&'static str, ToolError> {
    let _alive = alive.enter();
    let server = ctx.server();
    if !server.remove_tool("extra") {
        server.add_tool(tool("extra", || "extra"))?;
    }
    server.updated("sim://1");
    server.updated("sim://2");
    Ok("changed")
}

pub(crate) fn server(alive: &Alive) -> ServerHandle {
    Server::new("sim", "1.0.0")
        .tool(tool("echo", |Args(work): Args<Work>| work.text))
        .tool(tool("slow", slow))
        .tool(tool("talk", talk))
        .tool(tool("ask", ask))
        .tool(tool("ask_two", ask_two))
        .tool(tool("ask_again", ask_again))
        .tool(tool("stuck", stuck))
        .tool(tool("broken", broken))
        .tool(tool("change", change))
        .tool(tool("fail", || Err::<String, _>(ToolError::new("failed"))))
        .resource(resource("sim://{n}", |Path(n): Path<u64>| n.to_string()).subscribable())
        .prompt(prompt("about", |Args(topic): Args<Topic>| topic.topic))
        .timeout(None)
        .page_size(3)
        .with_state(alive.clone())
        .build()
}
