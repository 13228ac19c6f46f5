//! A server to be measured by the tests of `couplet bench`: one that is quick, slow, fails now and then, or dies.

use std::{
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use couplet::prelude::*;

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let server = Server::new("mill", "1.0.0").tool(grind).tool(jam).tool(burn).tool(ask);
    server.serve(stdio()).await
}

static CALLS: AtomicU32 = AtomicU32::new(0);

/// Grinds, which takes a while if it is told so.
#[tool]
async fn grind(#[default(0)] ms: u64) -> &'static str {
    if ms > 0 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
    "flour"
}

/// Fails every second time.
#[tool]
fn jam() -> Result<&'static str, ToolError> {
    if CALLS.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
        Err(ToolError::new("the mill \u{1b}[31mis stuck"))
    } else {
        Ok("flour")
    }
}

/// Burns down the third time.
#[tool]
fn burn() -> &'static str {
    if CALLS.fetch_add(1, Ordering::Relaxed) == 2 {
        #[expect(clippy::print_stderr, reason = "last words")]
        {
            eprintln!("mill: fire!");
        }
        process::exit(3);
    }
    "flour"
}

#[derive(serde::Deserialize, JsonSchema)]
struct Answer {
    /// How much?
    sacks: u32,
}

/// Wants to know something.
#[tool]
async fn ask(ctx: Ctx) -> Result<String, ToolError> {
    let Answer { sacks } = ctx.elicit::<Answer>("sacks", "How much?").await?.accepted()?;
    Ok(format!("{sacks} sacks"))
}
