//! Rate limits.

use std::{fmt, future::poll_fn, sync::Arc, task::Poll, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_core::{BoxFuture, Call, Error, ErrorKind, Metric, Outage, OutageChange, Reply};
use couplet_server::{Middleware, Next};
use couplet_types::RequestMethod;
use hmac_sha256::Hash;
use tokio::time::timeout;

use crate::{
    buckets::{Buckets, MemoryBuckets, Taken},
    names::{caller, refuse, target},
};

/// A rate limit: a token bucket for each caller, and for each tool if wanted.
///
/// The caller is the principal, else the session, else one bucket for all: a server with anonymous callers counts them by
/// another key, such as the address ([`RateLimit::by`]). A tool call beyond the limit is a failed tool with the time to
/// wait, so that the model can wait; other requests get an error with `retryAfterMs` in its data.
///
/// A store that fails, or does not answer within a second, allows the call: see [`RateLimit::fail_closed`].
///
/// ```
/// use std::time::Duration;
///
/// use couplet_middleware::RateLimit;
/// use couplet_server::Server;
///
/// // Ten calls at once, then one a second, for each caller and tool.
/// let limit = RateLimit::in_memory(10, Duration::from_secs(1)).per_tool().tools_only();
/// let server: Server = Server::new("app", "1.0.0").middleware(limit);
/// # drop(server);
/// ```
#[derive(Clone)]
pub struct RateLimit {
    buckets: Arc<dyn Buckets>,
    by: Option<Arc<KeyOf>>,
    outage: Arc<Outage>,
    per_tool: bool,
    tools_only: bool,
    fail_closed: bool,
}

/// The key of a call; `None` for the caller.
type KeyOf = dyn Fn(&Call) -> Option<String> + Send + Sync;

/// The time after which a call of the store counts as failed.
const TIMEOUT: Duration = Duration::from_secs(1);

impl RateLimit {
    /// Creates a limit for each caller with buckets in any store.
    pub fn new(buckets: impl Buckets) -> Self {
        Self {
            buckets: Arc::new(buckets),
            by: None,
            outage: Arc::default(),
            per_tool: false,
            tools_only: false,
            fail_closed: false,
        }
    }

    /// Creates a limit for each caller in the memory of this process: `burst` calls at once, then one at each interval.
    ///
    /// # Panics
    /// If `burst` is 0, or the interval is shorter than a microsecond.
    pub fn in_memory(burst: u32, interval: Duration) -> Self {
        Self::new(MemoryBuckets::new(burst, interval))
    }

    /// Counts calls by a key of their own instead of by caller: one bucket for each key. A call for which the function returns
    /// `None` is counted by caller.
    ///
    /// Anonymous callers without a session (2026-07-28) share one bucket otherwise, and one with sessions gets a full bucket
    /// with each new session. Over HTTP they have an address; behind a reverse proxy the endpoint has to trust the proxy to
    /// know it.
    ///
    /// ```
    /// use std::{net::IpAddr, time::Duration};
    ///
    /// use couplet_core::Call;
    /// use couplet_http::server::HttpRequest;
    /// use couplet_middleware::RateLimit;
    /// use couplet_server::Server;
    ///
    /// /// The address of an anonymous caller; of an IPv6 address the network, since a client has all addresses of it.
    /// fn address(call: &Call) -> Option<String> {
    ///     let anonymous = call.principal().is_none().then(|| call.request::<HttpRequest>())?;
    ///     Some(match anonymous?.client_ip()? {
    ///         IpAddr::V4(address) => address.to_string(),
    ///         IpAddr::V6(address) => format!("{:x?}", &address.segments()[..4]),
    ///     })
    /// }
    ///
    /// let limit = RateLimit::in_memory(10, Duration::from_secs(1)).by(address);
    /// let server: Server = Server::new("app", "1.0.0").middleware(limit);
    /// # drop(server);
    /// ```
    #[must_use]
    pub fn by(mut self, key: impl Fn(&Call) -> Option<String> + Send + Sync + 'static) -> Self {
        self.by = Some(Arc::new(key));
        self
    }

    /// Counts the calls of each tool separately.
    #[must_use]
    pub fn per_tool(mut self) -> Self {
        self.per_tool = true;
        self
    }

    /// Limits only the calls of tools, and not lists, resources and prompts.
    #[must_use]
    pub fn tools_only(mut self) -> Self {
        self.tools_only = true;
        self
    }

    /// Refuses calls while the store cannot be used. By default they proceed.
    #[must_use]
    pub fn fail_closed(mut self) -> Self {
        self.fail_closed = true;
        self
    }

    fn key(&self, call: &Call) -> String {
        let chosen = self.by.as_ref().and_then(|by| by(call));
        // No caller has the name of a chosen key.
        let key = chosen.map_or_else(|| caller(call), |key| format!("key {}", capped(key)));
        match self.per_tool.then(|| target(call)).flatten() {
            Some(target) => format!("{key}\n{}", capped(target)),
            None => key,
        }
    }

    /// Takes a token, within limits. An outage is logged when it begins and when it ends.
    ///
    /// # Errors
    /// If the store fails, or takes too long.
    async fn take(&self, key: &str) -> Result<Taken, Error> {
        let late = || Error::new(ErrorKind::Timeout, "the store of rate limits did not answer in time");
        let mut taking = self.buckets.take(key, 1);
        // A store in memory needs no timer.
        let taken = match poll_fn(|cx| Poll::Ready(taking.as_mut().poll(cx))).await {
            Poll::Ready(taken) => taken,
            Poll::Pending => timeout(TIMEOUT, taking).await.unwrap_or_else(|_| Err(late())),
        };
        // A store that answers each call with an error is as good as away.
        let failure = taken.as_ref().err().map(|error| Error::new(ErrorKind::Transport, error.to_string()));
        match (self.outage.note(failure.as_ref()), &taken) {
            (Some(OutageChange::Began), Err(error)) if self.fail_closed => {
                tracing::warn!(%error, "the store of rate limits cannot be used: calls are refused");
            }
            (Some(OutageChange::Began), Err(error)) => {
                tracing::warn!(%error, "the store of rate limits cannot be used: calls are not limited");
            }
            (Some(OutageChange::Ended), _) => tracing::info!("the store of rate limits can be used again"),
            _ => {}
        }
        taken
    }
}

/// Names come from the caller: a long one is replaced by its digest, so that stores have short keys.
fn capped(target: String) -> String {
    match target.len() {
        0..=MAX_TARGET => target,
        _ => URL_SAFE_NO_PAD.encode(Hash::hash(target.as_bytes())),
    }
}

/// The length of the longest name that is part of a key.
const MAX_TARGET: usize = 200;

impl Middleware for RateLimit {
    fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply> {
        if self.tools_only && call.known() != Some(RequestMethod::CallTool) {
            return next.run(call);
        }
        let (limit, key) = (self.clone(), self.key(&call));
        Box::pin(async move {
            match limit.take(&key).await {
                Ok(Taken::Retry(after)) => refuse(&call, "too many calls", Some(after)),
                Err(_) if limit.fail_closed => refuse(&call, "the rate limit cannot be checked", None),
                Ok(Taken::Allowed) | Err(_) => next.run(call).await,
            }
        })
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![self.outage.metric("limits")]
    }
}

impl fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { per_tool, tools_only, fail_closed, .. } = self;
        f.debug_struct("RateLimit")
            .field("per_tool", per_tool)
            .field("tools_only", tools_only)
            .field("fail_closed", fail_closed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_short() {
        assert_eq!(capped("search".to_owned()), "search");
        let (one, two) = (capped("x".repeat(100_000)), capped("x".repeat(100_001)));
        assert!(one.len() < 50 && one != two, "{one}");
    }
}
