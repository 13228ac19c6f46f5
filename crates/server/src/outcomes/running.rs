//! The calls with an idempotency key that run in this process.

use std::{fmt, pin::pin, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// A limited number of running calls. Clones are the same.
#[derive(Clone)]
pub(super) struct RunningCalls {
    room: Arc<Semaphore>,
    most: usize,
    ended: Arc<Notify>,
}

/// A running call, until it is dropped.
pub(super) struct RunningCall {
    permit: Option<OwnedSemaphorePermit>,
    ended: Arc<Notify>,
}

impl RunningCalls {
    pub(super) fn new(most: usize) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        Self { room: Arc::new(Semaphore::new(most)), most, ended: Arc::default() }
    }

    /// Begins a call; `None` if too many are running.
    pub(super) fn begin(&self) -> Option<RunningCall> {
        let permit = self.room.clone().try_acquire_owned().ok()?;
        Some(RunningCall { permit: Some(permit), ended: self.ended.clone() })
    }

    /// The number of running calls.
    pub(super) fn len(&self) -> usize {
        self.most.saturating_sub(self.room.available_permits())
    }

    /// Waits until no call runs, and for `grace` at most.
    pub(super) async fn drain(&self, grace: Duration) {
        let idle = async {
            loop {
                let mut ended = pin!(self.ended.notified());
                ended.as_mut().enable();
                if self.len() == 0 {
                    return;
                }
                ended.await;
            }
        };
        if timeout(grace, idle).await.is_err() {
            tracing::warn!(
                calls = self.len(),
                "calls with an idempotency key have not ended: their outcomes will be unknown"
            );
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        // First the permit, so that the one who is notified finds it returned.
        self.permit = None;
        self.ended.notify_waiters();
    }
}

impl fmt::Debug for RunningCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningCalls").field("most", &self.most).finish_non_exhaustive()
    }
}
