use couplet::prelude::*;

/// Adds two numbers.
#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// The square of a number.
#[resource("calc://square/{n}")]
fn square(n: f64) -> f64 {
    n * n
}

/// Explains an expression.
#[prompt]
fn explain(expr: String) -> String {
    format!("Explain {expr}, step by step.")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    Server::new("calculator", "1.0.0").tool(add).resource(square).prompt(explain).serve(stdio()).await
}
