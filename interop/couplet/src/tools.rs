//! The tools, the resource and the prompt of the suite.
//!
//! They look at what arrives: a client that sends something else than the suite tells it to gets an error.

use std::{fmt::Debug, time::Duration};

use couplet::{
    prelude::*,
    server::extract::Completing,
    tasks::Tasks,
    types::{CreateMessageParams, SamplingMessage},
};
use serde::{Deserialize, Serialize};

use crate::{expect, ledger, waiting};

/// The resource whose changes are reported.
const GREETING: &str = "interop://greeting";
/// The time between two looks of a client at its task.
const POLL: Duration = Duration::from_millis(100);

/// Returns the server of the suite. A tool that has an id as its argument writes it down when it is executed.
pub fn server(tasks: Tasks) -> Server {
    let server = Server::new("interop", "1.0.0").extension(tasks.poll_interval(POLL));
    let server = server.tool(add).tool(count).tool(greet).tool(touch).resource(greeting).prompt(explain);
    waiting::register(server.tool(mark).tool(confirm).tool(ask).tool(job))
}

/// Compares what arrived with what the suite sends. A difference is in the ledger too, if there is one.
fn check<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Result<(), ToolError> {
    expect(what, found, expected).map_err(|wrong| {
        let _ = ledger::write(&format!("wrong {wrong}"));
        ToolError::new(wrong)
    })
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

/// Adds two integers.
#[tool]
fn add(a: i64, b: i64) -> Result<Json<Sum>, ToolError> {
    check("the numbers", (a, b), (2, 3))?;
    Ok(Json(Sum { sum: a + b }))
}

/// Counts, and tells how far it is.
#[tool]
async fn count(to: u32, ctx: Ctx) -> Result<String, ToolError> {
    check("the number", to, 3)?;
    for n in 1..=to {
        ctx.progress_with(f64::from(n), Some(f64::from(to)), Some(format!("step {n}"))).await;
    }
    Ok(format!("counted to {to}"))
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Person {
    name: String,
    age: i64,
}

/// Asks for a name and greets.
#[tool]
async fn greet(ctx: Ctx) -> Result<String, ToolError> {
    let person = ctx.elicit::<Person>("person", "Who are you?").await?.accepted()?;
    check("the answer", &person, &Person { name: "Ada".to_owned(), age: 36 })?;
    Ok(format!("Hello {}, {}", person.name, person.age))
}

/// A greeting.
#[resource("interop://greeting", mime_type = "text/plain", subscribable)]
fn greeting() -> &'static str {
    "Hello from a resource"
}

/// Reports that the greeting has changed.
#[tool]
fn touch(ctx: Ctx) -> &'static str {
    ctx.server().updated(GREETING);
    "touched"
}

fn topics(typed: Completing) -> Vec<&'static str> {
    ["MCP", "tides"].into_iter().filter(|topic| topic.starts_with(&typed.value)).collect()
}

/// Asks for an explanation.
#[prompt(complete(topic = topics))]
fn explain(topic: String) -> Result<String, ToolError> {
    check("the topic", topic.as_str(), "MCP")?;
    Ok(format!("Explain {topic}, please."))
}

/// Writes the id down and reports three steps, each with the id.
#[tool]
async fn mark(id: String, ctx: Ctx) -> Result<String, ToolError> {
    ledger::write(&format!("begin {id}"))?;
    for n in 1..=3 {
        ctx.progress_with(f64::from(n), Some(3.0), Some(format!("{id} {n}"))).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(format!("marked {id}"))
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Confirmed {
    id: String,
}

/// Asks for the id, and writes it down afterwards.
#[tool]
async fn confirm(id: String, ctx: Ctx) -> Result<String, ToolError> {
    confirmed(&id, &ctx).await?;
    Ok(format!("confirmed {id}"))
}

/// Does the same as a task.
#[tool(task)]
async fn job(id: String, ctx: Ctx) -> Result<String, ToolError> {
    confirmed(&id, &ctx).await?;
    Ok(format!("done {id}"))
}

async fn confirmed(id: &str, ctx: &Ctx) -> Result<(), ToolError> {
    let answer = ctx.elicit::<Confirmed>("confirm", format!("Confirm {id}")).await?.accepted()?;
    check("the confirmed id", answer.id.as_str(), id)?;
    Ok(ledger::write(&format!("begin {id}"))?)
}

/// Asks the model of the client for the id, and writes it down afterwards.
#[tool]
async fn ask(id: String, ctx: Ctx) -> Result<String, ToolError> {
    let question = CreateMessageParams::new(vec![SamplingMessage::user(format!("Say {id}"))], 100);
    let answer = ctx.sample("model", question).await?.content.all_text();
    check("the answer of the model", answer.as_str(), id.as_str())?;
    ledger::write(&format!("begin {id}"))?;
    Ok(format!("said {id}"))
}
