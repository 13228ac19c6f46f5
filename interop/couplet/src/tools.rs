//! The tools, the resource and the prompt of the suite.
//!
//! They look at what arrives: a client that sends something else than the suite tells it to gets an error.

use couplet::prelude::*;
use serde::{Deserialize, Serialize};

use crate::expect;

/// Returns the server of the suite.
pub fn server() -> Server {
    Server::new("interop", "1.0.0").tool(add).tool(count).tool(greet).resource(greeting).prompt(explain)
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

/// Adds two integers.
#[tool]
fn add(a: i64, b: i64) -> Result<Json<Sum>, ToolError> {
    expect("the numbers", (a, b), (2, 3)).map_err(ToolError::new)?;
    Ok(Json(Sum { sum: a + b }))
}

/// Counts, and tells how far it is.
#[tool]
async fn count(to: u32, ctx: Ctx) -> Result<String, ToolError> {
    expect("the number", to, 3).map_err(ToolError::new)?;
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
    expect("the answer", &person, &Person { name: "Ada".to_owned(), age: 36 }).map_err(ToolError::new)?;
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
    expect("the topic", topic.as_str(), "MCP").map_err(ToolError::new)?;
    Ok(format!("Explain {topic}, please."))
}
