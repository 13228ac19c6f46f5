//! The tools, the resource and the prompt of the suite.
//!
//! They look at what arrives: a client that sends something else than the suite tells it to gets an error.

use std::{fmt::Debug, time::Duration};

use couplet::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{expect, ledger};

/// Returns the server of the suite.
pub fn server() -> Server {
    Server::new("interop", "1.0.0").tool(add).tool(count).tool(greet).resource(greeting).prompt(explain)
}

/// Adds the tools whose executions are counted: each call has an id of its own, which is in the ledger once.
pub fn counted(server: Server) -> Server {
    server.tool(mark).tool(confirm)
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
#[resource("interop://greeting", mime_type = "text/plain")]
fn greeting() -> &'static str {
    "Hello from a resource"
}

/// Asks for an explanation.
#[prompt]
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
    let answer = ctx.elicit::<Confirmed>("confirm", format!("Confirm {id}")).await?.accepted()?;
    check("the confirmed id", &answer.id, &id)?;
    ledger::write(&format!("begin {id}"))?;
    Ok(format!("confirmed {id}"))
}
