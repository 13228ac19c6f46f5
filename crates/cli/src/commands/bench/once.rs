//! One measurement in a closed loop, for the inspector.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use couplet::{Client, types::RawJson};
use serde_json::{Value, json};

use super::{
    ask::Ask,
    interrupt::Interrupt,
    load::{self, Load, Watch},
    measured::{Measured, Pace},
};
use crate::exit::Failure;

/// What to measure.
#[derive(Debug)]
pub(crate) struct Order {
    /// The tool to call, with its arguments; `None` for `tools/list`.
    pub(crate) call: Option<(String, BTreeMap<String, RawJson>)>,
    /// The number of requests in flight.
    pub(crate) in_flight: usize,
    pub(crate) time: Duration,
    /// The maximum number of requests.
    pub(crate) calls: Option<u64>,
}

/// Measures, and closes the connection. Intermediate results go to `progress`.
///
/// # Errors
/// If the first request fails.
pub(crate) async fn measure(
    client: Client,
    order: Order,
    progress: impl Fn(Value) + Send + Sync + 'static,
) -> Result<Value, Failure> {
    let ask = match order.call {
        Some((name, arguments)) => Ask::CallJson { name, arguments },
        None => Ask::List,
    };
    let watch = Watch(Box::new(move |measured| progress(so_far(measured))));
    let load = Load {
        clients: vec![client],
        ask: Arc::new(ask),
        most: load::MOST,
        grace: load::GRACE,
        calls: order.calls,
        watch: Some(watch),
    };
    let outcome = match load.once().await {
        Ok(()) => Ok(load.run(Pace::InFlight(order.in_flight), order.time, &mut Interrupt::never()).await),
        Err(failure) => Err(failure),
    };
    load.close().await;
    outcome.map(|measured| result(&measured))
}

fn so_far(measured: &Measured) -> Value {
    let done = measured.answered() + measured.failed;
    json!({ "done": done, "errors": measured.failed, "elapsed_ms": measured.elapsed().as_secs_f64() * 1e3 })
}

fn result(measured: &Measured) -> Value {
    let at = |share: f64| measured.at(share).map(|time| (time.as_secs_f64() * 1e7).round() / 10.0);
    json!({
        "calls": measured.answered() + measured.failed,
        "errors": measured.failed,
        "unanswered": measured.unanswered,
        "failures": measured.failures,
        "rps": measured.per_second(),
        "elapsed_ms": measured.elapsed().as_secs_f64() * 1e3,
        "p50_us": at(0.5), "p90_us": at(0.9), "p99_us": at(0.99), "max_us": at(1.0),
        "histogram": measured.histogram(),
    })
}
