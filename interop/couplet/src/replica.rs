//! `interop-replica`: one of several replicas of a server, with the flags of every server program.
//!
//! With `--plain` it is the server of the interop suite; otherwise its tools do what replicas have to share: they ask, take
//! long, change resources, run as tasks, and write down that they ran. A task also writes down which process runs it.

use std::{error::Error, process::ExitCode, sync::Arc, time::Duration};

use clap::Parser;
use couplet::{
    prelude::*,
    tasks::Task,
    types::{CreateMessageParams, SamplingMessage},
};
use couplet_interop::{ledger, tools};
use couplet_serve::{ServeArgs, Shared, SharedArgs, serve};
use serde::Deserialize;

#[derive(Parser)]
struct Flags {
    /// Serve the tools of the interop suite, and no others
    #[arg(long)]
    plain: bool,
    #[command(flatten)]
    shared: SharedArgs,
    #[command(flatten)]
    serve: ServeArgs,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Flags::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("interop-replica: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(flags: Flags) -> Result<(), Box<dyn Error>> {
    let shared = flags.shared.open()?;
    let server = if flags.plain { tools::server(shared.tasks()) } else { replica(&shared) };
    serve(Arc::new(shared.configure(server).build()), &flags.serve, &shared).await
}

fn replica(shared: &Shared) -> Server {
    Server::new("replica", "1.0.0")
        .extension(shared.tasks())
        .tool(whoami)
        .tool(echo)
        .tool(pay)
        .tool(wait)
        .tool(greet)
        .tool(ask_model)
        .tool(count)
        .tool(touch)
        .tool(job)
        .tool(long_job)
        .tool(stepped)
        .resource(note)
}

/// Names the process that answers.
#[tool]
fn whoami() -> String {
    std::process::id().to_string()
}

/// Returns the text unchanged.
#[tool]
fn echo(text: String) -> String {
    text
}

/// Pays once, and takes its time.
#[tool]
async fn pay(id: String, millis: u64) -> Result<String, ToolError> {
    ledger::write(&format!("begin {id}"))?;
    tokio::time::sleep(Duration::from_millis(millis)).await;
    ledger::write(&format!("paid {id}"))?;
    Ok(format!("paid {id}"))
}

/// Waits, and writes down if it was dropped before its end.
#[tool]
async fn wait(id: String, millis: u64) -> Result<String, ToolError> {
    wait_or_drop(id, millis).await
}

/// The same as a task.
#[tool(task)]
async fn long_job(id: String, millis: u64) -> Result<String, ToolError> {
    runs(&id)?;
    wait_or_drop(id, millis).await
}

/// Writes down which process runs a task.
fn runs(id: &str) -> std::io::Result<()> {
    ledger::write(&format!("runner {id} {}", std::process::id()))
}

/// Does its work in steps, so that another replica can go on with it. Each step writes down that it begins and that it is
/// done.
#[tool(task = Task::optional().repeatable())]
async fn stepped(id: String, steps: u32, millis: u64, ctx: Ctx) -> Result<String, ToolError> {
    runs(&id)?;
    for n in 0..steps {
        let written = ctx.step("step", || async {
            ledger::write(&format!("step {id} {n}")).map_err(|e| e.to_string())?;
            tokio::time::sleep(Duration::from_millis(millis)).await;
            ledger::write(&format!("stepped {id} {n}")).map_err(|e| e.to_string())
        });
        written.await?.map_err(ToolError::new)?;
    }
    Ok(format!("{steps} steps of {id}"))
}

struct Dropped(Option<String>);

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(id) = self.0.take() {
            let _ = ledger::write(&format!("dropped {id}"));
        }
    }
}

async fn wait_or_drop(id: String, millis: u64) -> Result<String, ToolError> {
    ledger::write(&format!("begin {id}"))?;
    let mut dropped = Dropped(Some(id));
    tokio::time::sleep(Duration::from_millis(millis)).await;
    let id = dropped.0.take().unwrap_or_default();
    ledger::write(&format!("ended {id}"))?;
    Ok(id)
}

#[derive(Deserialize, JsonSchema)]
struct Person {
    name: String,
}

/// Asks for a name, then for another one, and greets both.
#[tool]
async fn greet(ctx: Ctx) -> Result<String, ToolError> {
    let first = ctx.elicit::<Person>("first", "Who is first?").await?.accepted()?;
    let second = ctx.elicit::<Person>("second", "Who is second?").await?.accepted()?;
    Ok(format!("Hello {} and {}", first.name, second.name))
}

/// Asks the model of the client.
#[tool]
async fn ask_model(question: String, ctx: Ctx) -> Result<String, ToolError> {
    let ask = CreateMessageParams::new(vec![SamplingMessage::user(question)], 100);
    Ok(ctx.sample("model", ask).await?.content.all_text())
}

/// Reports its progress, step by step. With an id it writes down that it ran, and if it was dropped before its end.
#[tool]
async fn count(id: Option<String>, to: u32, millis: u64, ctx: Ctx) -> Result<String, ToolError> {
    if let Some(id) = &id {
        ledger::write(&format!("begin {id}"))?;
    }
    let mut dropped = Dropped(id);
    for n in 1..=to {
        ctx.progress_with(f64::from(n), Some(f64::from(to)), None).await;
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }
    if let Some(id) = dropped.0.take() {
        ledger::write(&format!("ended {id}"))?;
    }
    Ok(format!("counted to {to}"))
}

/// Reports a change of the note.
#[tool]
fn touch(ctx: Ctx) -> String {
    ctx.server().updated("replica://note");
    std::process::id().to_string()
}

/// A note.
#[resource("replica://note", mime_type = "text/plain", subscribable)]
fn note() -> &'static str {
    "a note"
}

/// A long piece of work that asks once.
#[tool(task)]
async fn job(id: String, ctx: Ctx) -> Result<String, ToolError> {
    ledger::write(&format!("begin {id}"))?;
    let person = ctx.elicit::<Person>("who", "Who is it for?").await?.accepted()?;
    ledger::write(&format!("done {id}"))?;
    Ok(format!("done for {}", person.name))
}
