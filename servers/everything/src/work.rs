//! A long-running tool with progress notifications.

use std::time::Duration;

use couplet::prelude::*;

/// Demonstrates a long running operation with progress updates.
#[tool(
    name = "trigger-long-running-operation",
    title = "Trigger Long Running Operation Tool",
    read_only,
    destructive = false,
    idempotent,
    open_world = false
)]
pub(crate) async fn trigger_long_running_operation(
    /// Duration of the operation in seconds
    #[default(10.0)]
    duration: f64,
    /// Number of steps in the operation
    #[default(5.0)]
    steps: f64,
    ctx: Ctx,
) -> Result<String, ToolError> {
    if steps > 10_000.0 {
        return Err(ToolError::new("too many steps; at most 10000 are allowed"));
    }
    let step = Duration::try_from_secs_f64(duration / steps)?;
    for done in 1..=steps as u64 {
        tokio::time::sleep(step).await;
        ctx.progress_with(done as f64, Some(steps), None).await;
    }
    Ok(format!("Long running operation completed. Duration: {duration} seconds, Steps: {steps}."))
}
