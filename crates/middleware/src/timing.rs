//! Times of calls.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::{BoxFuture, Call, Reply, sync::lock};
use couplet_server::{Middleware, Next};
use couplet_types::RequestMethod;
use tokio::time::Instant;

use crate::histogram::Histogram;

/// Measures how long calls take, for each tool and for each other method, with percentiles.
///
/// The memory is bounded: a name that is no tool of the server or of a mounted one counts as `other`. Cancelled calls are
/// not counted.
///
/// ```
/// use couplet_middleware::Timing;
/// use couplet_server::Server;
///
/// let timing = Timing::new();
/// let server: Server = Server::new("app", "1.0.0").middleware(timing.clone());
/// for times in timing.times() {
///     println!("{}: {} calls, p99 {:?}", times.name, times.count, times.p99);
/// }
/// # drop(server);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Timing(Arc<Mutex<BTreeMap<String, Measured>>>);

#[derive(Debug)]
struct Measured {
    times: Histogram,
    failed: u64,
}

/// The times of the calls of a tool or method. Percentiles are at most 1/16 too long.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallTimes {
    /// The name of the tool, or the method.
    pub name: String,
    /// The number of calls.
    pub count: u64,
    /// The number of calls that failed: errors and failed tools.
    pub failed: u64,
    /// The time that half of the calls do not exceed.
    pub p50: Duration,
    /// The time that 90 % of the calls do not exceed.
    pub p90: Duration,
    /// The time that 99 % of the calls do not exceed.
    pub p99: Duration,
    /// The longest time.
    pub max: Duration,
}

/// The maximum number of names. Tools may be added while the server runs.
const MAX_NAMES: usize = 10_000;

impl Timing {
    /// Creates middleware without calls.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the times of all tools and methods that were called, by name.
    pub fn times(&self) -> Vec<CallTimes> {
        let all = lock(&self.0);
        let one = |(name, measured): (&String, &Measured)| CallTimes {
            name: name.clone(),
            count: measured.times.count(),
            failed: measured.failed,
            p50: measured.times.percentile(0.5),
            p90: measured.times.percentile(0.9),
            p99: measured.times.percentile(0.99),
            max: measured.times.max(),
        };
        all.iter().map(one).collect()
    }

    /// Removes all measurements.
    pub fn reset(&self) {
        lock(&self.0).clear();
    }

    pub(crate) fn add(&self, name: &str, time: Duration, failed: bool) {
        let mut all = lock(&self.0);
        let name = if all.len() >= MAX_NAMES && !all.contains_key(name) { OTHER } else { name };
        if !all.contains_key(name) {
            all.insert(name.to_owned(), Measured { times: Histogram::new(), failed: 0 });
        }
        if let Some(measured) = all.get_mut(name) {
            measured.times.add(time);
            measured.failed += u64::from(failed);
        }
    }
}

const OTHER: &str = "other";

/// Returns the name under which a call is counted.
async fn name(call: &Call, next: &Next) -> String {
    match call.known() {
        Some(RequestMethod::CallTool) => {
            next.tool(call).await.map_or_else(|| OTHER.to_owned(), |tool| tool.name.clone())
        }
        Some(_) => call.method.to_string(),
        None => OTHER.to_owned(),
    }
}

impl Middleware for Timing {
    fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply> {
        let (timing, started) = (self.clone(), Instant::now());
        Box::pin(async move {
            let name = name(&call, &next).await;
            let reply = next.run(call).await;
            let failed = match &reply {
                Reply::Error(_) => true,
                Reply::Complete(body) => body.is_failed_tool(),
                _ => false,
            };
            timing.add(&name, started.elapsed(), failed);
            reply
        })
    }
}
