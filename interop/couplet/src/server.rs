//! The server of the interop suite: `interop-server stdio` or `interop-server http <port>`.
//!
//! It looks at what arrives: a client that sends something else than the suite tells it to gets an error.

use std::{env, fmt::Debug, process::ExitCode};

use couplet::prelude::*;
use serde::{Deserialize, Serialize};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let served = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["stdio"] => server().serve(stdio()).await,
        ["http", port] => server().serve(couplet::http::listen(format!("127.0.0.1:{port}"))).await,
        _ => {
            eprintln!("usage: interop-server stdio | http <port>");
            return ExitCode::from(2);
        }
    };
    if let Err(error) = served {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn server() -> Server {
    Server::new("interop", "1.0.0").tool(add).tool(count).tool(greet).resource(greeting).prompt(explain)
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

/// Adds two integers.
#[tool]
fn add(a: i64, b: i64) -> Result<Json<Sum>, ToolError> {
    expect("the numbers", (a, b), (2, 3))?;
    Ok(Json(Sum { sum: a + b }))
}

/// Counts, and tells how far it is.
#[tool]
async fn count(to: u32, ctx: Ctx) -> Result<String, ToolError> {
    expect("the number", to, 3)?;
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
    expect("the answer", &person, &Person { name: "Ada".to_owned(), age: 36 })?;
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
    expect("the topic", topic.as_str(), "MCP")?;
    Ok(format!("Explain {topic}, please."))
}

fn expect<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Result<(), ToolError> {
    if found == expected { Ok(()) } else { Err(ToolError::new(format!("{what}: {found:?}, not {expected:?}"))) }
}
