//! Tools that take long: one that is cancelled, and one whose stream is cut.

use std::time::Duration;

use couplet::prelude::*;

use crate::ledger;

/// How long a call takes that is to be cancelled.
const LONG: Duration = Duration::from_secs(6);
/// How long a call goes on after its stream was cut.
const SHORT: Duration = Duration::from_millis(400);

pub(crate) fn register(server: Server) -> Server {
    server.tool(wait).tool(waited).tool(stall)
}

/// Writes down that a call was dropped before its end.
struct Dropped(Option<String>);

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(id) = self.0.take() {
            let _ = ledger::write(&format!("dropped {id}"));
        }
    }
}

/// Waits to be cancelled.
#[tool]
async fn wait(id: String) -> Result<String, ToolError> {
    ledger::write(&format!("begin {id}"))?;
    let mut dropped = Dropped(Some(id.clone()));
    tokio::time::sleep(LONG).await;
    dropped.0 = None;
    ledger::write(&format!("ended {id}"))?;
    Ok(format!("waited {id}"))
}

/// Says what became of a call of `wait`.
#[tool]
fn waited(id: String) -> Result<&'static str, ToolError> {
    let counts = ledger::counts()?;
    let is_there = |what: &str| counts.contains_key(&format!("{what} {id}"));
    Ok(match () {
        () if is_there("dropped") => "cancelled",
        () if is_there("ended") => "ended",
        () if is_there("begin") => "running",
        () => "unknown",
    })
}

/// Reports a step at which the stream is cut, and two more afterwards.
#[tool]
async fn stall(id: String, ctx: Ctx) -> Result<String, ToolError> {
    ledger::write(&format!("begin {id}"))?;
    for n in 1..=3 {
        let message = if n == 1 { format!("cut {id} here") } else { format!("{id} {n}") };
        ctx.progress_with(f64::from(n), Some(3.0), Some(message)).await;
        tokio::time::sleep(SHORT).await;
    }
    Ok(format!("stalled {id}"))
}
