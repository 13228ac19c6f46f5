//! A graceful shutdown: tasks that can go on elsewhere are released, and the others get time to end.

#![cfg_attr(not(feature = "server"), allow(dead_code, reason = "clients have no graceful shutdown"))]

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::timeout};

use super::{Engine, Live, live::Departure};

/// The time in which the end of aborted tasks is stored.
const LAST: Duration = Duration::from_secs(2);

/// The shutdowns that are in progress, and the news for them.
#[derive(Debug, Default)]
pub(super) struct Draining {
    count: AtomicUsize,
    /// A task was started, or has ended.
    news: Notify,
}

impl Draining {
    /// Whether a shutdown is in progress: this process takes no task over.
    pub(super) fn is_active(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    pub(super) fn note(&self) {
        self.news.notify_waiters();
    }
}

impl Engine {
    /// Waits until no task runs here. Where replicas share the store, tasks that may run again are released at once, so
    /// that others go on with them. Tasks that have not ended within `grace` are aborted: those that may run again are
    /// released, and the others have failed.
    pub(crate) async fn drain(self: Arc<Self>, grace: Duration) {
        let _active = Active::begin(&self.draining);
        if timeout(grace, self.idle()).await.is_ok() {
            return;
        }
        let left = self.all_live();
        tracing::warn!(tasks = left.len(), "tasks have not ended within the grace period and are aborted");
        for live in left {
            live.depart(if live.journal.is_some() { Departure::Released } else { Departure::Aborted });
        }
        let _ = timeout(LAST, self.idle()).await;
    }

    /// Waits until no task runs here.
    async fn idle(&self) {
        loop {
            let mut news = pin!(self.draining.news.notified());
            news.as_mut().enable();
            let live = self.all_live();
            if live.is_empty() {
                return;
            }
            if !self.store.is_exclusive() {
                let repeatable = live.iter().filter(|live| live.journal.is_some());
                repeatable.for_each(|live| live.depart(Departure::Released));
            }
            news.await;
        }
    }

    fn all_live(&self) -> Vec<Arc<Live>> {
        self.lock().values().cloned().collect()
    }
}

/// A shutdown, until it is dropped.
struct Active<'a>(&'a Draining);

impl<'a> Active<'a> {
    fn begin(draining: &'a Draining) -> Self {
        draining.count.fetch_add(1, Ordering::AcqRel);
        Self(draining)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
    }
}
