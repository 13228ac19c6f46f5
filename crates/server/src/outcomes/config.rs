//! The configuration of idempotency keys.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use couplet_core::{Error, ErrorKind, Metric, Outage, OutageChange};
use tokio::time::timeout;

use super::{OutcomeStore, running::RunningCalls};

/// The configuration of idempotency keys: a store, and how long outcomes are stored; see
/// [`Server::outcomes`](crate::Server::outcomes).
///
/// ```
/// use std::time::Duration;
/// use couplet_server::outcomes::{MemoryOutcomes, Outcomes};
///
/// let outcomes = Outcomes::new(MemoryOutcomes::new()).lifetime(Duration::from_secs(3600)).max_size(64 << 10);
/// # let _ = outcomes;
/// ```
#[derive(Clone)]
pub struct Outcomes {
    pub(super) store: Arc<dyn OutcomeStore>,
    pub(super) lease: Duration,
    pub(super) lifetime: Duration,
    pub(super) max_size: usize,
    pub(super) running: RunningCalls,
    outage: Arc<Outage>,
    /// The number of outcomes that wait for the store.
    unstored: Arc<AtomicU64>,
}

/// An outcome that waits for the store, until it is dropped.
pub(super) struct Unstored(Arc<AtomicU64>);

impl Drop for Unstored {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Outcomes {
    /// The time after which a call of the store counts as failed.
    const TIMEOUT: Duration = Duration::from_secs(5);

    /// Creates the default configuration of a store: a lease of 15 seconds, a lifetime of 24 hours, outcomes of up to
    /// 1 MiB, 1,024 calls at once.
    pub fn new(store: impl OutcomeStore) -> Self {
        Self {
            store: Arc::new(store),
            lease: Duration::from_secs(15),
            lifetime: Duration::from_secs(24 * 60 * 60),
            max_size: 1 << 20,
            running: RunningCalls::new(1024),
            outage: Arc::default(),
            unstored: Arc::default(),
        }
    }

    /// Sets the lease of a running call, which is renewed three times in that time: the time after which a replica that
    /// does not renew it counts as lost.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets how long an outcome is stored. A call that is repeated later is executed again.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Sets the maximum size of an outcome in bytes. In place of a larger one it is stored that there was one: a repeated
    /// call fails, and is not executed again.
    #[must_use]
    pub fn max_size(mut self, bytes: usize) -> Self {
        self.max_size = bytes;
        self
    }

    /// Sets the maximum number of calls with a key that run at once, or wait for the outcome of the first. Further ones
    /// are refused.
    #[must_use]
    pub fn max_running(mut self, calls: usize) -> Self {
        self.running = RunningCalls::new(calls);
        self
    }

    /// Counts an outcome that the store has not taken yet.
    pub(super) fn unstored(&self) -> Unstored {
        self.unstored.fetch_add(1, Ordering::Relaxed);
        Unstored(self.unstored.clone())
    }

    /// The failures of the store, and what runs or waits because of it.
    pub(crate) fn metrics(&self) -> [Metric; 3] {
        let running = u64::try_from(self.running.len()).unwrap_or(u64::MAX);
        let unstored = self.unstored.load(Ordering::Relaxed);
        [
            self.outage.metric("outcomes"),
            Metric::gauge("couplet_keyed_calls", "calls with an idempotency key in progress", running),
            Metric::gauge("couplet_unstored_outcomes", "outcomes of calls that wait for their store", unstored),
        ]
    }

    /// Waits until the running calls have ended and their outcomes are stored, and for `grace` at most. Those whose client
    /// is gone run on without a connection.
    pub(crate) async fn drain(self, grace: Duration) {
        self.running.drain(grace).await;
    }

    /// Waits for a call of the store, within limits.
    ///
    /// # Errors
    /// If it fails, or takes too long.
    pub(super) async fn in_time<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let late = || Error::new(ErrorKind::Timeout, "the store of outcomes did not answer in time");
        let done = timeout(Self::TIMEOUT, call).await.unwrap_or_else(|_| Err(late()));
        match (self.outage.note(done.as_ref().err()), &done) {
            (Some(OutageChange::Began), Err(error)) => {
                tracing::warn!(%error, "the store of outcomes is away: calls with an idempotency key are refused");
            }
            (Some(OutageChange::Ended), _) => tracing::info!("the store of outcomes is back"),
            _ => {}
        }
        done
    }
}

/// Logs that an operation has failed. During an outage that is a detail: one line says that the store is away.
pub(super) fn log_failure(error: &Error, what: &str) {
    if Outage::is_outage(error) {
        tracing::debug!(%error, "{what}");
    } else {
        tracing::warn!(%error, "{what}");
    }
}

/// The same as [`Outcomes::new`].
impl<S: OutcomeStore> From<S> for Outcomes {
    fn from(store: S) -> Self {
        Self::new(store)
    }
}

impl fmt::Debug for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lease, lifetime, max_size, .. } = self;
        f.debug_struct("Outcomes")
            .field("lease", lease)
            .field("lifetime", lifetime)
            .field("max_size", max_size)
            .finish_non_exhaustive()
    }
}
