//! Times of requests.

use couplet_client::{ClientRequest, Middleware, Next};
use couplet_core::{BoxFuture, Error, Outcome};
use couplet_types::RequestMethod;
use tokio::time::Instant;

use crate::timing::{CallTimes, Timing};

/// Measures how long requests take, for each tool and for each other method, with percentiles.
///
/// The memory is bounded: beyond 10,000 names, requests count as `other`. Cancelled requests are not counted. A tool that
/// fails is not a request that failed.
///
/// ```
/// use couplet_client::Client;
/// use couplet_middleware::client::ClientTiming;
///
/// let timing = ClientTiming::new();
/// let client = Client::new("demo", "1.0.0").middleware(timing.clone());
/// for times in timing.times() {
///     println!("{}: {} requests, p99 {:?}", times.name, times.count, times.p99);
/// }
/// # drop(client);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ClientTiming(Timing);

impl ClientTiming {
    /// Creates middleware without requests.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the times of all tools and methods that were requested, by name.
    pub fn times(&self) -> Vec<CallTimes> {
        self.0.times()
    }

    /// Removes all measurements.
    pub fn reset(&self) {
        self.0.reset();
    }
}

impl Middleware for ClientTiming {
    fn request(&self, request: ClientRequest, next: Next) -> BoxFuture<'static, Result<Outcome, Error>> {
        let tool = (request.known() == Some(RequestMethod::CallTool)).then(|| request.target()).flatten();
        let name = tool.map_or_else(|| request.method().to_owned(), |tool| tool.into_owned());
        let (timing, started) = (self.0.clone(), Instant::now());
        Box::pin(async move {
            let outcome = next.run(request).await;
            timing.add(&name, started.elapsed(), outcome.is_err());
            outcome
        })
    }
}
