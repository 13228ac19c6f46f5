//! What the program can do with a server beside calls: lint, measurements, logins.

use std::convert::Infallible;

use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, channel::Channel};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Answer, ok, place, target};
use crate::{
    BenchOrder, Inspector,
    body::{json, typed},
};

/// The longest measurement, in seconds.
const LONGEST: f64 = 600.0;
/// The most requests of a measurement, and the most at once.
const MOST: (u64, usize) = (10_000_000, 1000);

pub(super) async fn lint(inspector: &Inspector, id: &str) -> Answer {
    let findings = place(inspector, id)?.lint().await?;
    Ok(json(&json!({ "findings": findings })))
}

/// Streams the progress of a measurement, and its result. It ends when the reader disconnects.
pub(super) fn bench(inspector: &Inspector, id: &str, mut order: BenchOrder) -> Answer {
    if !(1..=MOST.1).contains(&order.concurrency) {
        return Err(format!("`concurrency` must be from 1 to {}", MOST.1).into());
    }
    if order.seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds <= LONGEST)) {
        return Err(format!("`seconds` must be above 0 and at most {LONGEST}").into());
    }
    if order.calls.is_some_and(|calls| !(1..=MOST.0).contains(&calls)) {
        return Err(format!("`calls` must be from 1 to {}", MOST.0).into());
    }
    order.revision = crate::target::asked(Some(&target(inspector, id)?.state().asked))?;
    let (progress, mut made) = mpsc::channel(4);
    let mut running = place(inspector, id)?.bench(order, progress);
    let (mut sender, body) = Channel::<Bytes, Infallible>::new(1);
    tokio::spawn(async move {
        loop {
            let (event, is_last) = tokio::select! {
                biased;
                Some(step) = made.recv() => (step, false),
                done = &mut running => (done.map_or_else(|why| json!({ "error": why }), |result| json!({ "result": result })), true),
            };
            // Dropping the measurement ends it.
            if sender.send_data(event_text(&event)).await.is_err() || is_last {
                return;
            }
        }
    });
    Ok(typed(StatusCode::OK, "text/event-stream", body.boxed_unsync()))
}

fn event_text(event: &Value) -> Bytes {
    format!("data: {event}\n\n").into()
}

pub(super) fn login(inspector: &Inspector, id: &str) -> Answer {
    Ok(json(&place(inspector, id)?.login()))
}

/// Starts a login, and connects again so that it is used.
pub(super) async fn log_in(inspector: &Inspector, id: &str) -> Answer {
    let target = target(inspector, id)?;
    place(inspector, id)?.log_in().await?;
    let revision = crate::target::asked(Some(&target.state().asked))?;
    target.connect(revision, &inspector.0.mount);
    Ok(ok())
}
