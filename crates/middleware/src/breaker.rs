//! Circuit breakers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::{BoxFuture, Call, Reply, sync::lock};
use couplet_server::{Middleware, Next};
use couplet_types::RequestMethod;
use tokio::time::Instant;

use crate::names::refuse;

/// A circuit breaker for each tool: after several failures in a row, calls are refused for a while.
///
/// After that time one call is let through. If it succeeds, the tool is called as before; if it fails, calls are refused
/// again. Internal errors count as failures, and failed tools (`isError`) with [`CircuitBreaker::failed_tools`]. Each
/// tool of the server and of mounted ones has a breaker.
///
/// ```
/// use std::time::Duration;
///
/// use couplet_middleware::CircuitBreaker;
/// use couplet_server::Server;
///
/// let breaker = CircuitBreaker::new(5, Duration::from_secs(30));
/// let server: Server = Server::new("app", "1.0.0").middleware(breaker);
/// # drop(server);
/// ```
#[derive(Clone, Debug)]
pub struct CircuitBreaker {
    failures: u32,
    open_for: Duration,
    failed_tools: bool,
    tools: Arc<Mutex<HashMap<String, Circuit>>>,
}

#[derive(Clone, Copy, Debug)]
enum Circuit {
    /// Calls proceed; so many of the last ones failed.
    Closed(u32),
    /// Calls are refused since then.
    Open(Instant),
    /// One call is tried.
    Trying,
}

impl CircuitBreaker {
    /// Creates a breaker that opens after so many failures in a row, for some time.
    ///
    /// # Panics
    /// If `failures` is 0.
    pub fn new(failures: u32, open_for: Duration) -> Self {
        assert!(failures > 0, "expected at least one failure");
        Self { failures, open_for, failed_tools: false, tools: Arc::default() }
    }

    /// Counts failed tools (`isError`) as failures.
    #[must_use]
    pub fn failed_tools(mut self) -> Self {
        self.failed_tools = true;
        self
    }

    /// Admits a call, or returns the time until the next attempt.
    fn admit(&self, tool: &str) -> Result<Admitted, Duration> {
        let mut tools = lock(&self.tools);
        let circuit = tools.get(tool).copied().unwrap_or(Circuit::Closed(0));
        let is_trial = match circuit {
            Circuit::Closed(_) => false,
            Circuit::Open(since) if since.elapsed() >= self.open_for => true,
            Circuit::Open(since) => return Err(self.open_for.saturating_sub(since.elapsed())),
            Circuit::Trying => return Err(Duration::from_secs(1)),
        };
        if is_trial {
            tools.insert(tool.to_owned(), Circuit::Trying);
        }
        Ok(Admitted { breaker: self.clone(), tool: tool.to_owned(), is_trial, ended: false })
    }

    fn is_failure(&self, reply: &Reply) -> bool {
        match reply {
            Reply::Error(error) => error.code == couplet_types::code::INTERNAL_ERROR,
            Reply::Complete(body) => self.failed_tools && body.is_failed_tool(),
            _ => false,
        }
    }
}

/// A call that was admitted.
struct Admitted {
    breaker: CircuitBreaker,
    tool: String,
    is_trial: bool,
    ended: bool,
}

impl Admitted {
    fn end(mut self, failed: bool) {
        self.ended = true;
        let mut tools = lock(&self.breaker.tools);
        let circuit = tools.get(&self.tool).copied().unwrap_or(Circuit::Closed(0));
        let next = match (circuit, failed) {
            (_, true) if self.is_trial => Circuit::Open(Instant::now()),
            (_, false) if self.is_trial => Circuit::Closed(0),
            (Circuit::Closed(count), true) if count + 1 >= self.breaker.failures => {
                tracing::warn!(tool = self.tool, failures = count + 1, "the circuit breaker opens");
                Circuit::Open(Instant::now())
            }
            (Circuit::Closed(count), true) => Circuit::Closed(count + 1),
            (Circuit::Closed(_), false) => Circuit::Closed(0),
            // A call that began before the breaker opened changes nothing.
            (circuit, _) => circuit,
        };
        match next {
            Circuit::Closed(0) => drop(tools.remove(&self.tool)),
            next => drop(tools.insert(std::mem::take(&mut self.tool), next)),
        }
    }
}

impl Drop for Admitted {
    /// A trial that is cancelled leaves the breaker as it was: the next call is tried.
    fn drop(&mut self) {
        if self.is_trial && !self.ended {
            let since = Instant::now().checked_sub(self.breaker.open_for).unwrap_or_else(Instant::now);
            lock(&self.breaker.tools).insert(std::mem::take(&mut self.tool), Circuit::Open(since));
        }
    }
}

impl Middleware for CircuitBreaker {
    fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply> {
        if call.known() != Some(RequestMethod::CallTool) {
            return next.run(call);
        }
        let breaker = self.clone();
        Box::pin(async move {
            let Some(tool) = next.tool(&call).await else { return next.run(call).await };
            match breaker.admit(&tool.name) {
                Err(after) => {
                    let what = format!("the tool `{}` failed several times, and is not called for now", tool.name);
                    refuse(&call, &what, Some(after))
                }
                Ok(admitted) => {
                    let reply = next.run(call).await;
                    admitted.end(breaker.is_failure(&reply));
                    reply
                }
            }
        })
    }
}
