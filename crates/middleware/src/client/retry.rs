//! Repetition of failed reads.

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use couplet_client::{ClientRequest, Middleware, Next};
use couplet_core::{BoxFuture, Error, ErrorKind, Method, Outcome};
use couplet_types::RequestMethod;
use tokio::time::sleep;

use crate::attempts::Attempts;

/// Repeats requests that fail and only read: lists, resources, prompts, completions, and tools that are
/// [named](ClientRetry::tool).
///
/// By default, requests whose connection was lost are repeated, and no others; the client needs a target that connects
/// again: a URL, or [`Reconnecting`](couplet_client::Reconnecting). The time between attempts doubles, and each attempt has
/// the timeouts of one request. For tools that change something, use
/// [idempotency keys](couplet_client::RequestBuilder::idempotent).
///
/// ```
/// use std::time::Duration;
///
/// use couplet_client::Client;
/// use couplet_middleware::client::ClientRetry;
///
/// let retry = ClientRetry::new(3).backoff(Duration::from_millis(50), Duration::from_secs(1)).tool("search");
/// let client = Client::new("demo", "1.0.0").middleware(retry);
/// # drop(client);
/// ```
#[derive(Clone)]
pub struct ClientRetry {
    attempts: Attempts,
    tools: HashSet<String>,
    is_temporary: Arc<dyn Fn(&Error) -> bool + Send + Sync>,
}

impl ClientRetry {
    /// Creates a policy with a number of attempts, the first one included.
    ///
    /// # Panics
    /// If `attempts` is 0.
    pub fn new(attempts: u32) -> Self {
        Self {
            attempts: Attempts::new(attempts),
            tools: HashSet::new(),
            is_temporary: Arc::new(|error| matches!(error.kind(), ErrorKind::Closed | ErrorKind::Transport)),
        }
    }

    /// Sets the time before the second attempt, which doubles each time, and the longest one.
    #[must_use]
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.attempts.backoff(first, longest);
        self
    }

    /// Repeats calls of a tool that only reads, or that may run several times with the same effect as once.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tools.insert(name.into());
        self
    }

    /// Sets which errors are temporary.
    #[must_use]
    pub fn when(mut self, is_temporary: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        self.is_temporary = Arc::new(is_temporary);
        self
    }

    fn is_read(&self, request: &ClientRequest) -> bool {
        match request.known() {
            Some(RequestMethod::CallTool) => request.target().is_some_and(|name| self.tools.contains(&*name)),
            _ => Method::named(request.method()).is_some_and(|method| method.retry == couplet_core::Retry::Safe),
        }
    }
}

impl Middleware for ClientRetry {
    fn request(&self, request: ClientRequest, next: Next) -> BoxFuture<'static, Result<Outcome, Error>> {
        if !self.is_read(&request) {
            return next.run(request);
        }
        let retry = self.clone();
        Box::pin(async move {
            for pause in retry.attempts.pauses() {
                match next.clone().run(request.clone()).await {
                    Err(error) if (retry.is_temporary)(&error) && !next.client().is_closed() => {
                        tracing::debug!(%error, method = request.method(), "a request is repeated");
                    }
                    outcome => return outcome,
                }
                sleep(pause).await;
            }
            next.run(request).await
        })
    }
}

impl fmt::Debug for ClientRetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.attempts.debug("ClientRetry", f)
    }
}
