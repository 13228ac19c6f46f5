//! Rate limits.

use std::{fmt, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_core::{BoxFuture, Call, Reply};
use couplet_server::{Middleware, Next};
use couplet_types::RequestMethod;
use hmac_sha256::Hash;

use crate::{
    buckets::{Buckets, MemoryBuckets, Taken},
    names::{caller, refuse, target},
};

/// A rate limit: a token bucket for each caller, and for each tool if wanted.
///
/// The caller is the principal, else the session, else one bucket for all. A tool call beyond the limit is a failed tool
/// with the time to wait, so that the model can wait; other requests get an error with `retryAfterMs` in its data.
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
    per_tool: bool,
    tools_only: bool,
    fail_closed: bool,
}

impl RateLimit {
    /// Creates a limit for each caller with buckets in any store.
    pub fn new(buckets: impl Buckets) -> Self {
        Self { buckets: Arc::new(buckets), per_tool: false, tools_only: false, fail_closed: false }
    }

    /// Creates a limit for each caller in the memory of this process: `burst` calls at once, then one at each interval.
    ///
    /// # Panics
    /// If `burst` is 0, or the interval is shorter than a microsecond.
    pub fn in_memory(burst: u32, interval: Duration) -> Self {
        Self::new(MemoryBuckets::new(burst, interval))
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
        match self.per_tool.then(|| target(call)).flatten() {
            Some(target) => format!("{}\n{}", caller(call), capped(target)),
            None => caller(call),
        }
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
            match limit.buckets.take(&key, 1).await {
                Ok(Taken::Allowed) => next.run(call).await,
                Ok(Taken::Retry(after)) => refuse(&call, "too many calls", Some(after)),
                Err(error) => {
                    tracing::warn!(%error, "the store of rate limits cannot be used");
                    match limit.fail_closed {
                        true => refuse(&call, "the rate limit cannot be checked", None),
                        false => next.run(call).await,
                    }
                }
            }
        })
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
