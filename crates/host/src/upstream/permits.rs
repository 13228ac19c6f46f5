//! Permits to run calls: a limit, and a bounded queue before it.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use couplet_core::sync::lock;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

use super::UpstreamOptions;

/// The calls of one upstream.
pub(super) struct Permits {
    semaphore: Arc<Semaphore>,
    queue: usize,
    queue_timeout: Duration,
    queued: AtomicUsize,
    /// Calls, and other uses that keep the server running.
    uses: AtomicUsize,
    used: Mutex<Instant>,
    running: AtomicUsize,
}

/// A call that may run. The next one may when it is dropped.
pub(super) struct Permit {
    permits: Arc<Permits>,
    _permit: OwnedSemaphorePermit,
    _use: InUse,
}

/// Why there is no permit.
#[derive(Debug, PartialEq)]
pub(super) enum Refused {
    /// As many calls as allowed are waiting.
    Full { running: usize, queued: usize },
    /// The call waited for this long.
    Waited { running: usize, timeout: Duration },
}

impl Permits {
    pub(super) fn new(options: &UpstreamOptions) -> Arc<Self> {
        let calls = options.calls.clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self {
            semaphore: Arc::new(Semaphore::new(calls)),
            queue: options.queue,
            queue_timeout: options.queue_timeout,
            queued: AtomicUsize::new(0),
            uses: AtomicUsize::new(0),
            used: Mutex::new(Instant::now()),
            running: AtomicUsize::new(0),
        })
    }

    /// Waits for a permit, unless too many calls do. Cancel safe.
    pub(super) async fn acquire(self: &Arc<Self>) -> Result<Permit, Refused> {
        let in_use = self.hold();
        if let Ok(permit) = self.semaphore.clone().try_acquire_owned() {
            return Ok(self.permit(permit, in_use));
        }
        let place = Place::new(self);
        if place.before >= self.queue {
            return Err(Refused::Full { running: self.running(), queued: place.before });
        }
        match timeout(self.queue_timeout, self.semaphore.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(self.permit(permit, in_use)),
            // It is never closed.
            Ok(Err(_)) | Err(_) => Err(Refused::Waited { running: self.running(), timeout: self.queue_timeout }),
        }
    }

    fn permit(self: &Arc<Self>, permit: OwnedSemaphorePermit, in_use: InUse) -> Permit {
        self.running.fetch_add(1, SeqCst);
        Permit { permits: self.clone(), _permit: permit, _use: in_use }
    }

    /// Keeps the server running until the returned value is dropped.
    pub(super) fn hold(self: &Arc<Self>) -> InUse {
        self.uses.fetch_add(1, SeqCst);
        InUse(self.clone())
    }

    pub(super) fn running(&self) -> usize {
        self.running.load(SeqCst)
    }

    pub(super) fn queued(&self) -> usize {
        self.queued.load(SeqCst)
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.uses.load(SeqCst) > 0
    }

    /// Starts the idle time again.
    pub(super) fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// The time since the last use.
    pub(super) fn idle_for(&self) -> Duration {
        if self.is_in_use() { Duration::ZERO } else { lock(&self.used).elapsed() }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.permits.running.fetch_sub(1, SeqCst);
    }
}

/// A use that keeps the server running.
pub(super) struct InUse(Arc<Permits>);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.touch();
        self.0.uses.fetch_sub(1, SeqCst);
    }
}

/// A place in the queue.
struct Place<'a> {
    permits: &'a Permits,
    before: usize,
}

impl<'a> Place<'a> {
    fn new(permits: &'a Permits) -> Self {
        Self { permits, before: permits.queued.fetch_add(1, SeqCst) }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.permits.queued.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits() -> Arc<Permits> {
        let mut options = UpstreamOptions::default();
        (options.calls, options.queue) = (2, 1);
        Permits::new(&options)
    }

    #[tokio::test(start_paused = true)]
    async fn calls_beyond_the_limit_wait_and_beyond_the_queue_fail() {
        let permits = permits();
        let (first, _second) = (permits.acquire().await.ok().unwrap(), permits.acquire().await.ok().unwrap());
        let waiting = tokio::spawn({
            let permits = permits.clone();
            async move { permits.acquire().await.is_ok() }
        });
        tokio::task::yield_now().await;
        assert_eq!((permits.running(), permits.queued()), (2, 1));
        assert_eq!(permits.acquire().await.err(), Some(Refused::Full { running: 2, queued: 1 }));
        drop(first);
        assert!(waiting.await.unwrap());
        assert_eq!((permits.running(), permits.queued()), (1, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_no_longer_than_the_queue_timeout() {
        let permits = permits();
        let _running = (permits.acquire().await.ok().unwrap(), permits.acquire().await.ok().unwrap());
        let began = Instant::now();
        let timeout = Duration::from_secs(10);
        assert_eq!(permits.acquire().await.err(), Some(Refused::Waited { running: 2, timeout }));
        assert_eq!(began.elapsed(), timeout);
        assert_eq!(permits.queued(), 0);
        // A caller that gives up frees its place.
        assert!(tokio::time::timeout(Duration::from_secs(1), permits.acquire()).await.is_err());
        assert_eq!(permits.queued(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_begins_with_the_end_of_the_last_use() {
        let permits = permits();
        let (running, hold) = (permits.acquire().await.ok().unwrap(), permits.hold());
        tokio::time::sleep(Duration::from_secs(5)).await;
        drop(running);
        assert_eq!(permits.idle_for(), Duration::ZERO);
        drop(hold);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(permits.idle_for(), Duration::from_secs(3));
    }
}
