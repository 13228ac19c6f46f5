//! A call that runs at an upstream.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use couplet_core::{Error, ErrorKind, Reply};
use couplet_proxy::Proxy;
use tokio::time::Instant;

use super::{
    breaker::Admitted,
    permits::Permit,
    phase::Run,
    shared::Shared,
    unavailable::{self, Unavailable},
};

/// Permission to run one call at an upstream, made by [`Upstream::proxy`](super::Upstream::proxy). While it exists, the
/// call counts toward the limit, and the server is not stopped for being idle.
#[must_use = "the permission ends when this is dropped"]
pub struct Running {
    run: Arc<Run>,
    shared: Arc<Shared>,
    admitted: Admitted,
    began: Instant,
    settled: bool,
    _permit: Permit,
}

impl Running {
    pub(super) async fn begin(shared: &Arc<Shared>) -> Result<Self, Unavailable> {
        let permit = shared.permits.acquire().await.map_err(|refused| Unavailable::refused(&shared.id, &refused))?;
        let run = shared.ready().await?;
        let admitted = shared
            .breaker
            .admit()
            .map_err(|retry| Unavailable::unresponsive(&shared.id, super::breaker::Breaker::TIMEOUTS, retry))?;
        let (shared, began) = (shared.clone(), Instant::now());
        Ok(Self { run, shared, admitted, began, settled: false, _permit: permit })
    }

    /// Returns the proxy to run the call at.
    pub fn proxy(&self) -> &Proxy {
        &self.run.proxy
    }

    /// Ends the call with its result: records its latency, and turns an error of the connection into one that names the
    /// server, the cause, and whether the call may have been executed. Errors of the server itself stay as they are.
    pub fn settle(mut self, method: &str, result: Result<Reply, Error>) -> Reply {
        self.settled = true;
        let shared = &self.shared;
        shared.calls.fetch_add(1, Relaxed);
        let error = match result {
            Ok(reply) => {
                self.answered();
                return reply;
            }
            Err(error) => error,
        };
        if let Some(reported) = error.rpc() {
            self.answered();
            return Reply::Error(reported.clone());
        }
        shared.count_failure();
        match error.kind() {
            ErrorKind::Timeout if !error.is_unsent() => shared.breaker.timed_out(self.admitted),
            _ => shared.breaker.abandoned(self.admitted),
        }
        let cause = shared.cause(&error);
        tracing::warn!(server = shared.id.as_str(), method, "a call was not answered: {cause}");
        Reply::Error(unavailable::lost(&shared.id, method, &error, &cause))
    }

    fn answered(&self) {
        self.shared.latency.record(self.began.elapsed());
        self.shared.breaker.answered();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.settled {
            self.shared.breaker.abandoned(self.admitted);
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("server", &self.shared.id).finish_non_exhaustive()
    }
}
