//! A call that runs at an upstream.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use couplet_core::{Error, ErrorKind, Reply};
use couplet_proxy::Proxy;
use tokio::time::Instant;

use super::{
    breaker::Admission,
    permits::Permit,
    phase::Run,
    shared::UpstreamShared,
    unavailable::{self, Unavailable},
};

/// Permission to run one call at an upstream, made by [`Upstream::proxy`](super::Upstream::proxy). While it exists, the
/// call counts toward the limit, and the server is not stopped for being idle.
#[must_use = "the permission ends when this is dropped"]
pub struct Running {
    run: Arc<Run>,
    shared: Arc<UpstreamShared>,
    admitted: Admission,
    began: Instant,
    settled: bool,
    _permit: Permit,
}

impl Running {
    /// The time in which the supervisor notices the end of a run.
    const ABOUT_TO_END: Duration = Duration::from_millis(250);

    pub(super) async fn begin(shared: &Arc<UpstreamShared>) -> Result<Self, Unavailable> {
        let permit = shared.permits.acquire().await.map_err(|refused| Unavailable::refused(&shared.id, &refused))?;
        let (run, admitted) = loop {
            let run = shared.ready().await?;
            match run.breaker.admit() {
                Ok(admitted) => break (run, admitted),
                // The calls of a run that is about to end have failed, too.
                Err(_) if Box::pin(shared.is_over(&run, Self::ABOUT_TO_END)).await => {}
                Err(retry) => return Err(Unavailable::unresponsive(&shared.id, retry)),
            }
        };
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
            // What was not sent because all connections are in use says nothing about the server.
            ErrorKind::Timeout if error.is_unsent() => self.run.breaker.abandoned(self.admitted),
            ErrorKind::Timeout | ErrorKind::Transport => self.run.breaker.failed(self.admitted),
            // A connection that is closed ends the run. One that is not has lost a session, for example.
            ErrorKind::Closed if !self.run.proxy.client().is_closed() => self.run.breaker.failed(self.admitted),
            _ => self.run.breaker.abandoned(self.admitted),
        }
        let cause = shared.cause(&error);
        tracing::warn!(server = shared.id.as_str(), method, "a call was not answered: {cause}");
        Reply::Error(unavailable::lost(&shared.id, method, &error, &cause))
    }

    fn answered(&self) {
        self.shared.latency.record(self.began.elapsed());
        self.run.breaker.answered();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.settled {
            self.run.breaker.abandoned(self.admitted);
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("server", &self.shared.id).finish_non_exhaustive()
    }
}
