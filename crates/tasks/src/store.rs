//! Persistence of tasks.

use std::{fmt, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Error, ErrorKind, Outage};
use couplet_types::RpcError;

use crate::{
    clock,
    record::{Change, Record},
};

/// Persistence of tasks. A store does not run them.
///
/// Several replicas of a server can share a store. A task then has one runner with a lease, which the runner renews. A
/// replica that finds the lease expired takes the task over with [`claim`](Store::claim); the generation of the runner
/// grows, and writes of the previous runner are rejected.
///
/// `couplet_testing::contract::task_store` tests an implementation.
///
/// # Cancellation
/// Each operation but [`watch`](Store::watch) has a timeout
/// ([`Tasks::store_timeout`](crate::Tasks::store_timeout)) after which its future is dropped and may be called again. An
/// operation must therefore be atomic.
pub trait Store: Send + Sync + 'static {
    /// Inserts a new task, and starts the lease of its runner with [`Record::start_lease`]. Once this has completed,
    /// [`get`](Store::get) must find the task.
    ///
    /// If the owner has an unexpired task with the same idempotency key, nothing is inserted, and that task is returned.
    fn insert(&self, record: Record, lease: Duration) -> BoxFuture<'_, Result<Option<Record>, StoreError>>;

    /// Returns a task by its id.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// Applies a change with [`Record::apply`], atomically. Returns the changed task, or `None` if nothing changed: the
    /// task is unknown, has ended, or has another runner than the generation in `fence`.
    fn change<'a>(
        &'a self,
        id: &'a str,
        fence: Option<u64>,
        change: Change,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// Takes over a task without a live runner with [`Record::claim`], atomically. Returns the task with its new runner,
    /// or `None` if nothing changed.
    fn claim<'a>(
        &'a self,
        id: &'a str,
        node: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// Extends the leases of tasks with [`Record::renew`], each atomically: ids, and the generations of their runners.
    /// Returns the ids whose lease was not extended, because they have ended, have another runner or do not exist.
    fn renew<'a>(
        &'a self,
        tasks: &'a [(String, u64)],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;

    /// Ends the lease of a runner with [`Record::release`], atomically, so that another replica can take the task over at
    /// once: the generation of the runner, which does not run the task any more. Returns whether it was released.
    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Returns up to `most` tasks of one owner in order of creation, after the task with the id `after`; `None` if that
    /// task is unknown.
    fn list<'a>(
        &'a self,
        owner: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<Record>>, StoreError>>;

    /// Deletes the tasks that expire at or before `now`, in milliseconds since 1970. A store that deletes tasks by
    /// itself when they expire need not do anything.
    fn purge(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Waits until the [`revision`](Record::revision) of a task differs from `revision`, or the task does not exist. It
    /// may return early, and it may miss a change: callers read the task again, and poll as well.
    ///
    /// The default never returns, so that changes are found by polling. Cancel safe.
    fn watch<'a>(&'a self, id: &'a str, revision: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        let _ = (id, revision);
        Box::pin(std::future::pending())
    }

    /// Returns the time of the clock that leases are compared with, in milliseconds; the default is the system's clock.
    /// Only a hint that a lease may have expired: [`claim`](Store::claim) decides.
    fn now(&self) -> u64 {
        clock::now()
    }

    /// Returns whether no other process runs tasks of this store, as in memory or with a locked file (default:
    /// `false`). A task that is marked as running and does not run in this process is then reported as failed at once,
    /// and leases are not renewed. Stores that replicas share return `false`.
    fn is_exclusive(&self) -> bool {
        false
    }
}

/// A shared store.
impl<S: Store + ?Sized> Store for Arc<S> {
    fn insert(&self, record: Record, lease: Duration) -> BoxFuture<'_, Result<Option<Record>, StoreError>> {
        (**self).insert(record, lease)
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        (**self).get(id)
    }

    fn change<'a>(
        &'a self,
        id: &'a str,
        fence: Option<u64>,
        change: Change,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        (**self).change(id, fence, change)
    }

    fn claim<'a>(
        &'a self,
        id: &'a str,
        node: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        (**self).claim(id, node, lease)
    }

    fn renew<'a>(
        &'a self,
        tasks: &'a [(String, u64)],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        (**self).renew(tasks, lease)
    }

    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        (**self).release(id, generation)
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

    fn watch<'a>(&'a self, id: &'a str, revision: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        (**self).watch(id, revision)
    }

    fn now(&self) -> u64 {
        (**self).now()
    }

    fn is_exclusive(&self) -> bool {
        (**self).is_exclusive()
    }
}

/// An error of a [`Store`].
#[derive(Debug)]
pub struct StoreError(Box<dyn std::error::Error + Send + Sync>);

impl StoreError {
    /// Wraps the underlying error. An [`Error`] of the kind `Config` is a mistake, and logged whenever it occurs; with any
    /// other error the store is away, which is logged once.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }

    /// The error as one of a store that is away, or as a mistake in the configuration.
    pub(crate) fn as_error(&self) -> Error {
        let is_mistake = self.0.downcast_ref::<Error>().is_some_and(|error| error.kind() == ErrorKind::Config);
        let kind = if is_mistake { ErrorKind::Config } else { ErrorKind::Transport };
        Error::new(kind, self.to_string())
    }

    /// Logs what failed because of the error. During an outage that is a detail: one line says that the store is away.
    pub(crate) fn log(&self, what: &str) {
        if Outage::is_outage(&self.as_error()) {
            tracing::debug!(error = %self, "{what}");
        } else {
            tracing::error!(error = %self, "{what}");
        }
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
        error.log("a request needs the task store");
        Self::internal("the task store is unavailable; retry later")
    }
}
