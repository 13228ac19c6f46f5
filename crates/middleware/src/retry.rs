//! Repetition of failed reads.

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Call, Reply};
use couplet_server::{Middleware, Next};
use couplet_types::{RequestMethod, RpcError, code};
use tokio::time::sleep;

use crate::{attempts::Attempts, names::target};

/// Repeats reads that fail: tools that are annotated as `read_only` or `idempotent`, here or in a mounted server,
/// resources and prompts.
///
/// By default, internal errors (-32603) are repeated, and no others: an invalid argument stays invalid. A failed tool
/// (`isError`) is an answer for the model, and is repeated only with [`Retry::failed_tools`]. The time between attempts
/// doubles. A handler that asked the client for input, and a tool that may change something, runs once.
///
/// ```
/// use std::time::Duration;
///
/// use couplet_middleware::Retry;
/// use couplet_server::Server;
///
/// let retry = Retry::new(3).backoff(Duration::from_millis(50), Duration::from_secs(1));
/// let server: Server = Server::new("app", "1.0.0").middleware(retry);
/// # drop(server);
/// ```
#[derive(Clone)]
pub struct Retry {
    attempts: Attempts,
    named: HashSet<String>,
    excluded: HashSet<String>,
    failed_tools: bool,
    is_temporary: Arc<dyn Fn(&RpcError) -> bool + Send + Sync>,
}

impl Retry {
    /// Creates a policy with a number of attempts, the first one included.
    ///
    /// # Panics
    /// If `attempts` is 0.
    pub fn new(attempts: u32) -> Self {
        Self {
            attempts: Attempts::new(attempts),
            named: HashSet::new(),
            excluded: HashSet::new(),
            failed_tools: false,
            is_temporary: Arc::new(|error| error.code == code::INTERNAL_ERROR),
        }
    }

    /// Sets the time before the second attempt, which doubles each time, and the longest one.
    #[must_use]
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.attempts.backoff(first, longest);
        self
    }

    /// Repeats a tool that is not annotated as read-only.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.named.insert(name.into());
        self
    }

    /// Does not repeat a tool, although it is annotated as read-only or idempotent.
    #[must_use]
    pub fn except(mut self, name: impl Into<String>) -> Self {
        self.excluded.insert(name.into());
        self
    }

    /// Repeats failed tools (`isError`), too.
    #[must_use]
    pub fn failed_tools(mut self) -> Self {
        self.failed_tools = true;
        self
    }

    /// Sets which errors are temporary.
    #[must_use]
    pub fn when(mut self, is_temporary: impl Fn(&RpcError) -> bool + Send + Sync + 'static) -> Self {
        self.is_temporary = Arc::new(is_temporary);
        self
    }

    async fn is_read(&self, call: &Call, next: &Next) -> bool {
        match target(call) {
            Some(tool) if call.known() == Some(RequestMethod::CallTool) => {
                let is_read = async || next.tool(call).await.is_some_and(|it| it.is_read_only() || it.is_idempotent());
                !self.excluded.contains(&tool) && (self.named.contains(&tool) || is_read().await)
            }
            target => target.is_some(),
        }
    }

    fn is_failed(&self, reply: &Reply) -> bool {
        match reply {
            Reply::Error(error) => (self.is_temporary)(error),
            Reply::Complete(body) => self.failed_tools && body.is_failed_tool(),
            _ => false,
        }
    }
}

impl Middleware for Retry {
    fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply> {
        if target(&call).is_none() {
            return next.run(call);
        }
        let retry = self.clone();
        Box::pin(async move {
            if !retry.is_read(&call, &next).await {
                return next.run(call).await;
            }
            for pause in retry.attempts.pauses() {
                let reply = next.clone().run(call.clone()).await;
                // A handler that asked the client would ask again.
                if !retry.is_failed(&reply) || call.inputs.are_used() {
                    return reply;
                }
                sleep(pause).await;
            }
            next.run(call).await
        })
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.attempts.debug("Retry", f)
    }
}
