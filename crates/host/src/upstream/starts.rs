//! The limit on servers that start at the same time.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::Semaphore,
    time::{error::Elapsed, timeout},
};

/// A limit on the number of upstreams that start at the same time. Clones share it.
///
/// A start that takes longer than a second does not count any more: the limit spreads the load of many starts, and a
/// server that hangs must not delay the others.
#[derive(Clone, Debug)]
pub struct StartLimit(Arc<Semaphore>);

impl StartLimit {
    /// The time after which a start makes room for the next one.
    const SLOT: Duration = Duration::from_secs(1);

    /// Creates a limit; at least one upstream can start.
    pub fn new(starts: usize) -> Self {
        Self(Arc::new(Semaphore::new(starts.clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// Runs a start with a timeout that does not include the time until its turn.
    pub(super) async fn run<T>(&self, limit: Duration, start: impl Future<Output = T>) -> Result<T, Elapsed> {
        // It is never closed.
        let slot = self.0.acquire().await.ok();
        let mut start = std::pin::pin!(timeout(limit, start));
        match timeout(Self::SLOT, start.as_mut()).await {
            Ok(done) => done,
            Err(_) => {
                drop(slot);
                start.await
            }
        }
    }
}

impl Default for StartLimit {
    /// Four at the same time.
    fn default() -> Self {
        Self::new(4)
    }
}
