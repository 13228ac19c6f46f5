//! The leases of running tasks, where replicas share a store.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, atomic::Ordering},
    task::Poll,
};

use couplet_core::BoxFuture;
use tokio::time::{Instant, sleep, sleep_until};

use super::{Engine, Live};
use crate::record::Finished;

impl Engine {
    /// The end of a lease that begins now; `None` if no other process can take over.
    pub(super) fn lease_from_now(&self) -> Option<Instant> {
        (!self.store.is_exclusive()).then(|| Instant::now() + self.limits.lease)
    }

    /// Renews leases in the background, while tasks run.
    pub(super) fn renew_leases(self: &Arc<Self>) {
        if !self.renewing.swap(true, Ordering::AcqRel) {
            tokio::spawn(Renewal(self.clone()).run());
        }
    }

    /// Renews the leases of all running tasks, once.
    async fn renew(self: &Arc<Self>, tasks: Vec<(String, u64)>) {
        let until = self.lease_from_now();
        let lost = match self.store.renew(&tasks, self.limits.lease).await {
            Ok(lost) => lost,
            Err(error) => return error.log("the leases of tasks cannot be renewed; retrying"),
        };
        for (id, _) in tasks {
            let Some(live) = self.live(&id) else { continue };
            if !lost.contains(&id) {
                live.lease.send_replace(until);
            } else if let Err(error) = self.read_again(&live).await {
                tracing::debug!(%error, task = id, "a running task cannot be read");
            }
        }
    }
}

/// The background task that renews leases.
struct Renewal(Arc<Engine>);

impl Renewal {
    async fn run(self) {
        loop {
            sleep(self.0.limits.lease / 3).await;
            let tasks: Vec<_> = {
                let live = self.0.lock();
                if live.is_empty() {
                    // With the lock: a task that starts now starts the next renewal.
                    self.0.renewing.store(false, Ordering::Release);
                    return;
                }
                let leased = live.values().filter(|live| live.lease.borrow().is_some());
                leased.map(|live| (live.id.clone(), live.generation)).collect()
            };
            if !tasks.is_empty() {
                self.0.renew(tasks).await;
            }
        }
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        // Also when the runtime ends.
        self.0.renewing.store(false, Ordering::Release);
    }
}

/// Runs the work of a task. If the task may run again elsewhere, it is suspended while the lease has expired: another
/// replica may run it then.
pub(super) async fn leased(live: Arc<Live>, mut work: BoxFuture<'static, Finished>) -> Finished {
    if live.journal.is_none() {
        return work.await;
    }
    let mut lease = live.lease.subscribe();
    loop {
        // The sender is in `live`, so there is no error.
        let valid = lease.wait_for(|until| until.is_none_or(|until| until > Instant::now())).await;
        let Some(until) = valid.ok().and_then(|until| *until) else { return work.await };
        let mut expired = pin!(sleep_until(until));
        let done = poll_fn(|cx| {
            if expired.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(cx).map(Some)
        });
        if let Some(finished) = done.await {
            return finished;
        }
    }
}
