//! A store with a timeout on each operation.

use std::{sync::Arc, time::Duration};

use couplet_core::BoxFuture;

use crate::{
    record::{Change, Record},
    store::{Store, StoreError},
};

/// Wraps a store and limits the duration of each operation.
pub(crate) struct Bounded {
    store: Arc<dyn Store>,
    limit: Duration,
}

impl Bounded {
    pub(crate) fn new(store: Arc<dyn Store>, limit: Duration) -> Self {
        Self { store, limit }
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        self.store.is_exclusive()
    }

    /// The time that leases are compared with.
    pub(crate) fn now(&self) -> u64 {
        self.store.now()
    }

    pub(crate) async fn insert(&self, record: Record, lease: Duration) -> Result<Option<Record>, StoreError> {
        self.wait("insert", self.store.insert(record, lease)).await
    }

    pub(crate) async fn get(&self, id: &str) -> Result<Option<Record>, StoreError> {
        self.wait("get", self.store.get(id)).await
    }

    pub(crate) async fn change(
        &self,
        id: &str,
        fence: Option<u64>,
        change: Change,
    ) -> Result<Option<Record>, StoreError> {
        self.wait("change", self.store.change(id, fence, change)).await
    }

    pub(crate) async fn claim(&self, id: &str, node: &str, lease: Duration) -> Result<Option<Record>, StoreError> {
        self.wait("claim", self.store.claim(id, node, lease)).await
    }

    pub(crate) async fn renew(&self, tasks: &[(String, u64)], lease: Duration) -> Result<Vec<String>, StoreError> {
        self.wait("renew", self.store.renew(tasks, lease)).await
    }

    pub(crate) async fn release(&self, id: &str, generation: u64) -> Result<bool, StoreError> {
        self.wait("release", self.store.release(id, generation)).await
    }

    pub(crate) async fn list(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        most: usize,
    ) -> Result<Option<Vec<Record>>, StoreError> {
        self.wait("list", self.store.list(owner, after, most)).await
    }

    pub(crate) async fn purge(&self, now: u64) -> Result<(), StoreError> {
        self.wait("purge", self.store.purge(now)).await
    }

    /// Waits for a change of a task, and for `most` at most. A store that fails is polled.
    pub(crate) async fn watch(&self, id: &str, revision: u64, most: Duration) {
        let deadline = tokio::time::Instant::now() + most;
        if let Ok(Err(error)) = tokio::time::timeout_at(deadline, self.store.watch(id, revision)).await {
            tracing::debug!(%error, task = id, "a task cannot be watched; it is polled");
            tokio::time::sleep_until(deadline).await;
        }
    }

    async fn wait<T>(&self, what: &str, work: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, StoreError> {
        tokio::time::timeout(self.limit, work)
            .await
            .unwrap_or_else(|_| Err(StoreError::new(format!("`{what}` timed out after {:?}", self.limit))))
    }
}
