//! Tasks that replicas share.
//!
//! | file | subject |
//! |---|---|
//! | `stored` | one task: reading, and compare-and-set |
//! | `keys` | idempotency keys: at most one task for each |
//! | `index` | the tasks of an owner, in the order of creation |
//! | `changes` | notifications of changes |

mod changes;
mod index;
mod keys;
mod stored;

use std::{sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Error};
use couplet_tasks::{Change, Record, Store, StoreError};

use crate::client::Redis;
use changes::TaskChanges;
use stored::Clock;

/// Tasks that all replicas of a server share, sealed. They are deleted when they expire.
///
/// Leases of runners are measured by the clock of the Redis server. Changes are published, so that replicas learn of a
/// cancellation or an answer at once; for that a replica has one more connection while it waits for any.
///
/// ```
/// # fn main() -> Result<(), couplet_core::Error> {
/// use couplet_redis::{Redis, RedisTasks};
///
/// let redis = Redis::new("redis://localhost", [7; 32])?;
/// let tasks = RedisTasks::new(&redis); // for `couplet_tasks::Tasks::new`
/// # drop(tasks);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RedisTasks {
    redis: Redis,
    channel: Arc<str>,
    changes: Arc<TaskChanges>,
    clock: Arc<Clock>,
}

impl RedisTasks {
    /// Creates a store.
    pub fn new(redis: &Redis) -> Self {
        let channel = redis.names().channel("tasks").into();
        Self { redis: redis.clone(), channel, changes: Arc::default(), clock: Arc::default() }
    }

    async fn insert_record(&self, record: Record, lease: Duration) -> Result<Option<Record>, Error> {
        // The idempotency key comes last: until then no other process knows the task, and afterwards it is complete.
        self.create(&record, lease).await?;
        self.add_to_index(&record).await?;
        let existing = self.claim_key(&record).await?;
        if existing.is_some() {
            self.delete(&record).await?;
        }
        Ok(existing)
    }
}

impl Store for RedisTasks {
    fn insert(&self, record: Record, lease: Duration) -> BoxFuture<'_, Result<Option<Record>, StoreError>> {
        Box::pin(async move { self.insert_record(record, lease).await.map_err(StoreError::new) })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Box::pin(async move {
            let found = self.read(&self.task_name(id)).await.map_err(StoreError::new)?;
            Ok(found.map(|found| found.record))
        })
    }

    fn change<'a>(
        &'a self,
        id: &'a str,
        fence: Option<u64>,
        change: Change,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Box::pin(async move {
            let changed = self.update(id, |record, now| record.apply(fence, change.clone(), now));
            changed.await.map_err(StoreError::new)
        })
    }

    fn claim<'a>(
        &'a self,
        id: &'a str,
        node: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Box::pin(async move {
            let claimed = self.update(id, |record, now| record.claim(node, now, lease));
            claimed.await.map_err(StoreError::new)
        })
    }

    fn renew<'a>(
        &'a self,
        tasks: &'a [(String, u64)],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        Box::pin(async move { self.extend(tasks, lease).await.map_err(StoreError::new) })
    }

    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let released = self.update(id, |record, _| record.release(generation)).await;
            Ok(released.map_err(StoreError::new)?.is_some())
        })
    }

    fn list<'a>(
        &'a self,
        owner: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<Record>>, StoreError>> {
        Box::pin(async move { self.page(owner, after, most).await.map_err(StoreError::new) })
    }

    fn purge(&self, _: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        // Keys expire by themselves.
        Box::pin(std::future::ready(Ok(())))
    }

    fn watch<'a>(&'a self, id: &'a str, revision: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.wait_for_change(id, revision).await.map_err(StoreError::new) })
    }

    fn now(&self) -> u64 {
        self.clock.now()
    }
}
