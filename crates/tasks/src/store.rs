//! Where tasks are kept.

use std::{fmt, sync::Arc};

use couplet_core::BoxFuture;
use couplet_types::RpcError;

use crate::record::{Change, Record};

/// Where tasks are kept. It only keeps them; whoever runs them is elsewhere.
///
/// A store that outlives its process must not keep a task that claims to run and has nobody who runs it: when it is
/// opened, tasks of a process that is gone fail, with a reason.
pub trait Store: Send + Sync + 'static {
    /// Keeps a new task. When this is done, the task can be found, whatever happens.
    fn insert(&self, record: Record) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Finds a task.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// Applies a change with [`Record::apply`], in one step; the task as it is then, or `None` if nothing changed.
    fn change<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// The tasks of one owner in the order of their beginning, after one of them; `None` if that one is not known.
    fn list<'a>(
        &'a self,
        owner: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<Record>>, StoreError>>;

    /// Forgets tasks that expired before a time.
    fn purge(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Whether no other process runs tasks of this store, as in memory or in a locked file. Then a task that claims to
    /// run and does not run in this process has failed, and is shown so. Stores that several processes share say no.
    fn is_exclusive(&self) -> bool {
        false
    }
}

/// A store that is shared is one store.
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

/// Why a store could not do something.
#[derive(Debug)]
pub struct StoreError(Box<dyn std::error::Error + Send + Sync>);

impl StoreError {
    /// What went wrong.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store of tasks: {}", self.0)
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

/// The peer is not told what is inside.
impl From<StoreError> for RpcError {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "a task cannot be kept or found");
        Self::internal("the tasks cannot be reached at the moment")
    }
}
