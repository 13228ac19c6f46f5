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

    pub(crate) async fn insert(&self, record: Record) -> Result<(), StoreError> {
        self.wait("insert", self.store.insert(record)).await
    }

    pub(crate) async fn get(&self, id: &str) -> Result<Option<Record>, StoreError> {
        self.wait("get", self.store.get(id)).await
    }

    pub(crate) async fn change(&self, id: &str, change: Change) -> Result<Option<Record>, StoreError> {
        self.wait("change", self.store.change(id, change)).await
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

    async fn wait<T>(&self, what: &str, work: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, StoreError> {
        tokio::time::timeout(self.limit, work)
            .await
            .unwrap_or_else(|_| Err(StoreError::new(format!("`{what}` timed out after {:?}", self.limit))))
    }
}
