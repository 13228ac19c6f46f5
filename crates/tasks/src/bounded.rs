//! A store with a timeout on each operation, which logs its outages.

use std::{sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Error, ErrorKind, Outage, OutageChange};

use crate::{
    record::{Change, Record},
    store::{Store, StoreError},
};

/// Wraps a store and limits the duration of each operation.
pub(crate) struct Bounded {
    store: Arc<dyn Store>,
    limit: Duration,
    outage: Outage,
}

/// What an operation does in a store. One that is full answers reads and deletions in between: an outage ends only with an
/// operation that stores something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Stores,
    Other,
}

impl Bounded {
    pub(crate) fn new(store: Arc<dyn Store>, limit: Duration) -> Self {
        Self { store, limit, outage: Outage::new() }
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        self.store.is_exclusive()
    }

    /// The number of operations that failed.
    #[cfg(feature = "server")]
    pub(crate) fn metric(&self) -> couplet_core::Metric {
        self.outage.metric("tasks")
    }

    /// The time that leases are compared with.
    pub(crate) fn now(&self) -> u64 {
        self.store.now()
    }

    pub(crate) async fn insert(&self, record: Record, lease: Duration) -> Result<Option<Record>, StoreError> {
        self.wait("insert", Effect::Stores, self.limit, self.store.insert(record, lease)).await
    }

    pub(crate) async fn get(&self, id: &str) -> Result<Option<Record>, StoreError> {
        self.wait("get", Effect::Other, self.limit, self.store.get(id)).await
    }

    pub(crate) async fn change(
        &self,
        id: &str,
        fence: Option<u64>,
        change: Change,
    ) -> Result<Option<Record>, StoreError> {
        self.wait("change", Effect::Stores, self.limit, self.store.change(id, fence, change)).await
    }

    pub(crate) async fn claim(&self, id: &str, node: &str, lease: Duration) -> Result<Option<Record>, StoreError> {
        self.wait("claim", Effect::Stores, self.limit, self.store.claim(id, node, lease)).await
    }

    /// Renews leases. There should be time for another attempt before they end.
    pub(crate) async fn renew(&self, tasks: &[(String, u64)], lease: Duration) -> Result<Vec<String>, StoreError> {
        self.wait("renew", Effect::Stores, self.limit.min(lease / 3), self.store.renew(tasks, lease)).await
    }

    pub(crate) async fn release(&self, id: &str, generation: u64) -> Result<bool, StoreError> {
        self.wait("release", Effect::Other, self.limit, self.store.release(id, generation)).await
    }

    pub(crate) async fn list(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        most: usize,
    ) -> Result<Option<Vec<Record>>, StoreError> {
        self.wait("list", Effect::Other, self.limit, self.store.list(owner, after, most)).await
    }

    pub(crate) async fn purge(&self, now: u64) -> Result<(), StoreError> {
        self.wait("purge", Effect::Other, self.limit, self.store.purge(now)).await
    }

    /// Waits for a change of a task, and for `most` at most. A store that fails is polled.
    pub(crate) async fn watch(&self, id: &str, revision: u64, most: Duration) {
        let deadline = tokio::time::Instant::now() + most;
        if let Ok(Err(error)) = tokio::time::timeout_at(deadline, self.store.watch(id, revision)).await {
            tracing::debug!(%error, task = id, "a task cannot be watched; it is polled");
            tokio::time::sleep_until(deadline).await;
        }
    }

    async fn wait<T>(
        &self,
        what: &str,
        effect: Effect,
        limit: Duration,
        work: BoxFuture<'_, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let late = || Error::new(ErrorKind::Timeout, format!("`{what}` timed out after {limit:?}"));
        let done = tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(StoreError::new(late())));
        if done.is_ok() && effect == Effect::Other {
            return done;
        }
        match (self.outage.note(done.as_ref().err().map(StoreError::as_error).as_ref()), &done) {
            (Some(OutageChange::Began), Err(error)) => tracing::warn!(%error, "the store of tasks is away"),
            (Some(OutageChange::Ended), _) => tracing::info!("the store of tasks is back"),
            _ => {}
        }
        done
    }
}
