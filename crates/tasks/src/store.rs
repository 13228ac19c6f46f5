//! Persistence of tasks.

use std::{fmt, sync::Arc};

use couplet_core::BoxFuture;
use couplet_types::RpcError;

use crate::record::{Change, Record};

/// Persistence of tasks. A store does not run them.
///
/// A store that outlives its process must not leave tasks that are marked as running without a process: when it is
/// opened, mark the tasks of a previous process as failed, with a reason.
///
/// # Cancellation
/// Each operation has a timeout ([`Tasks::store_timeout`](crate::Tasks::store_timeout)) after which its future is
/// dropped and may be called again. An operation must therefore be atomic.
pub trait Store: Send + Sync + 'static {
    /// Inserts a new task. Once this has completed, [`get`](Store::get) must find the task.
    fn insert(&self, record: Record) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns a task by its id.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// Applies a change with [`Record::apply`], atomically. Returns the changed task, or `None` if nothing changed.
    fn change<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// Returns up to `most` tasks of one owner in order of creation, after the task with the id `after`; `None` if that
    /// task is unknown.
    fn list<'a>(
        &'a self,
        owner: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<Record>>, StoreError>>;

    /// Deletes the tasks that expire at or before `now`.
    fn purge(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns whether no other process runs tasks of this store, as in memory or with a locked file (default:
    /// `false`). A task that is marked as running and does not run in this process is then reported as failed. Stores
    /// that replicas share return `false`.
    fn is_exclusive(&self) -> bool {
        false
    }
}

/// A shared store.
impl<S: Store + ?Sized> Store for Arc<S> {
    fn insert(&self, record: Record) -> BoxFuture<'_, Result<(), StoreError>> {
        (**self).insert(record)
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        (**self).get(id)
    }

    fn change<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        (**self).change(id, change)
    }

    fn list<'a>(
        &'a self,
        owner: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<Record>>, StoreError>> {
        (**self).list(owner, after, most)
    }

    fn purge(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        (**self).purge(now)
    }

    fn is_exclusive(&self) -> bool {
        (**self).is_exclusive()
    }
}

/// An error of a [`Store`].
#[derive(Debug)]
pub struct StoreError(Box<dyn std::error::Error + Send + Sync>);

impl StoreError {
    /// Wraps the underlying error.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the task store failed: {}", self.0)
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

/// The underlying error is logged, and not sent to the peer.
impl From<StoreError> for RpcError {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the task store failed");
        Self::internal("the task store is unavailable; retry later")
    }
}
