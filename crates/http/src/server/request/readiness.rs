//! Whether the endpoint accepts work: for the health checks of load balancers.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use couplet_core::BoxFuture;
use tokio::time::Instant;

use crate::server::{endpoint::Endpoint, lock, request::deadline::within};

/// For how long a result is used again, so that a flood of requests does not reach the stores.
const FRESH: Duration = Duration::from_secs(1);

/// A check of something that the server needs.
type Check = dyn Fn() -> BoxFuture<'static, bool> + Send + Sync;

/// The checks of an endpoint, and their last result.
#[derive(Clone, Default)]
pub(crate) struct Readiness {
    checks: Vec<Arc<Check>>,
    last: Arc<Last>,
}

#[derive(Default)]
struct Last {
    result: Mutex<Option<(Instant, bool)>>,
    is_running: AtomicBool,
}

/// One run of the checks, until it is dropped.
struct Run<'a>(&'a AtomicBool);

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Readiness {
    pub(crate) fn add(&mut self, check: Arc<Check>) {
        self.checks.push(check);
        self.last = Arc::default();
    }

    /// Runs the checks, one run at a time: others get the last result meanwhile.
    async fn check(&self, timeout: Duration) -> bool {
        if self.checks.is_empty() {
            return true;
        }
        let last = *lock(&self.last.result);
        let is_ready = last.is_some_and(|(_, is_ready)| is_ready);
        if last.is_some_and(|(at, _)| at.elapsed() < FRESH) || self.last.is_running.swap(true, Ordering::AcqRel) {
            return is_ready;
        }
        let _run = Run(&self.last.is_running);
        let mut is_ready = true;
        for check in &self.checks {
            is_ready &= within(timeout, check()).await.unwrap_or(false);
        }
        if !is_ready {
            tracing::warn!("the server is not ready: a check fails");
        }
        *lock(&self.last.result) = Some((Instant::now(), is_ready));
        is_ready
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness").field("checks", &self.checks.len()).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Adds a check of something that the server needs, such as a store: while it returns false or takes longer than
    /// [`HttpLimits::store_time`](crate::server::HttpLimits::store_time), the endpoint is not
    /// [ready](Endpoint::is_ready). Requests are served nevertheless.
    ///
    /// A result is used for one second, so it may be expensive.
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
    /// use couplet_http::server::Endpoint;
    /// use couplet_server::Server;
    ///
    /// let connected = Arc::new(AtomicBool::new(true));
    /// let endpoint = Endpoint::new(Server::<()>::new("hello", "1.0.0").build()).ready_when(move || {
    ///     let connected = connected.clone();
    ///     Box::pin(async move { connected.load(Ordering::Relaxed) })
    /// });
    /// # drop(endpoint);
    /// ```
    #[must_use]
    pub fn ready_when(self, check: impl Fn() -> BoxFuture<'static, bool> + Send + Sync + 'static) -> Self {
        self.with(|config| config.readiness.add(Arc::new(check)))
    }

    /// Returns whether the endpoint accepts work: no shutdown has begun and every check of [`Endpoint::ready_when`]
    /// returns true. The built-in listener answers `/ready` with it.
    ///
    /// Checks run one after the other, and once at a time: callers that come meanwhile get the last result, and
    /// false before there is one. A failed check is logged. Dropping the future ends the run without a result.
    ///
    /// ```
    /// use couplet_http::server::Endpoint;
    /// use couplet_server::Server;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let endpoint = Endpoint::new(Server::<()>::new("hello", "1.0.0").build());
    /// assert!(endpoint.is_ready().await, "there are no checks");
    /// let failing = endpoint.clone().ready_when(|| Box::pin(async { false }));
    /// assert!(!failing.is_ready().await);
    /// # }
    /// ```
    pub async fn is_ready(&self) -> bool {
        !self.is_draining() && self.config.readiness.check(self.config.limits.store_time).await && !self.is_draining()
    }

    /// Makes the endpoint not [ready](Endpoint::is_ready) and serves as before: for the time in which load balancers
    /// notice, before [`Endpoint::shut_down`]. It cannot be undone, and holds for all clones. A shared session in which nothing
    /// runs goes to the replica that forwards a request for it.
    ///
    /// ```
    /// use couplet_http::server::Endpoint;
    /// use couplet_server::Server;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let endpoint = Endpoint::new(Server::<()>::new("hello", "1.0.0").build());
    /// endpoint.clone().begin_drain();
    /// assert!(!endpoint.is_ready().await);
    /// # }
    /// ```
    pub fn begin_drain(&self) {
        self.state.draining.store(true, Ordering::Release);
    }

    /// Returns whether a shutdown has begun.
    pub(crate) fn is_draining(&self) -> bool {
        self.state.draining.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_result_is_used_for_a_second() {
        let (runs, is_up) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let mut readiness = Readiness::default();
        assert!(readiness.check(Duration::from_secs(5)).await);
        let seen = (runs.clone(), is_up.clone());
        readiness.add(Arc::new(move || {
            seen.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(seen.1.load(Ordering::SeqCst)))
        }));
        let check = async || readiness.check(Duration::from_secs(5)).await;
        assert!(!check().await);
        is_up.store(true, Ordering::SeqCst);
        assert!(!check().await);
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        tokio::time::advance(FRESH).await;
        assert!(check().await && check().await);
        assert_eq!(runs.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_check_has_a_timeout_and_runs_once_at_a_time() {
        let mut readiness = Readiness::default();
        let runs = Arc::new(AtomicUsize::new(0));
        let seen = runs.clone();
        readiness.add(Arc::new(move || {
            seen.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::pending())
        }));
        let begun = Instant::now();
        let timeout = Duration::from_secs(5);
        let (first, second) = tokio::join!(readiness.check(timeout), readiness.check(timeout));
        assert_eq!((first, second, runs.load(Ordering::SeqCst)), (false, false, 1));
        assert_eq!(begun.elapsed(), timeout);
    }
}
