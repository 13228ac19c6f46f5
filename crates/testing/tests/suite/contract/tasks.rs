//! Broken stores of tasks.

use std::{sync::Arc, time::Duration};

use couplet_core::BoxFuture;
use couplet_tasks::{Change, Memory, Record, Store, StoreError};
use couplet_testing::contract;

use super::{finds_all, is_violated};

/// The ways in which a store can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    IgnoresKeys,
    HasNoFence,
    ChangesNothing,
    LeasesNeverExpire,
    RenewsForAll,
    NeverReleases,
    ListsAllOwners,
    ListsNoPages,
    IgnoresCase,
    PurgesAll,
}

struct Flawed(Memory, Option<Flaw>);

impl Flawed {
    fn has(&self, flaw: Flaw) -> bool {
        self.1 == Some(flaw)
    }

    fn lease(&self, lease: Duration) -> Duration {
        if self.has(Flaw::LeasesNeverExpire) { Duration::from_secs(3600) } else { lease }
    }
}

impl Store for Flawed {
    fn insert(&self, mut record: Record, lease: Duration) -> BoxFuture<'_, Result<Option<Record>, StoreError>> {
        if self.has(Flaw::IgnoresKeys) {
            record.key = None;
        }
        if self.has(Flaw::ListsAllOwners) {
            record.owner = None;
        }
        if self.has(Flaw::IgnoresCase) {
            record.id = record.id.to_lowercase();
        }
        self.0.insert(record, self.lease(lease))
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let id = if self.has(Flaw::IgnoresCase) { id.to_lowercase() } else { id.to_owned() };
        Box::pin(async move { self.0.get(&id).await })
    }

    fn change<'a>(
        &'a self,
        id: &'a str,
        fence: Option<u64>,
        change: Change,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        match self.1 {
            Some(Flaw::HasNoFence) => self.0.change(id, None, change),
            Some(Flaw::ChangesNothing) => self.0.get(id),
            _ => self.0.change(id, fence, change),
        }
    }

    fn claim<'a>(
        &'a self,
        id: &'a str,
        node: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.0.claim(id, node, self.lease(lease))
    }

    fn renew<'a>(
        &'a self,
        tasks: &'a [(String, u64)],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        Box::pin(async move {
            let lost = self.0.renew(tasks, self.lease(lease)).await?;
            Ok(if self.has(Flaw::RenewsForAll) { Vec::new() } else { lost })
        })
    }

    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        if self.has(Flaw::NeverReleases) {
            return Box::pin(async { Ok(true) });
        }
        self.0.release(id, generation)
    }

    fn list<'a>(
        &'a self,
        owner: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<Record>>, StoreError>> {
        match self.1 {
            Some(Flaw::ListsAllOwners) => self.0.list(None, after, most),
            Some(Flaw::ListsNoPages) => self.0.list(owner, None, most),
            _ => self.0.list(owner, after, most),
        }
    }

    fn purge(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        match self.1 {
            Some(Flaw::PurgesAll) => self.0.purge(u64::MAX),
            _ => self.0.purge(now),
        }
    }

    fn now(&self) -> u64 {
        self.0.now()
    }

    fn is_exclusive(&self) -> bool {
        self.0.is_exclusive()
    }
}

#[tokio::test]
async fn broken_stores_of_tasks_are_found() {
    use Flaw as F;
    let flaws = [
        F::IgnoresKeys,
        F::HasNoFence,
        F::ChangesNothing,
        F::LeasesNeverExpire,
        F::RenewsForAll,
        F::NeverReleases,
        F::ListsAllOwners,
        F::ListsNoPages,
        F::IgnoresCase,
        F::PurgesAll,
    ];
    finds_all(&flaws, |flaw| async move {
        contract::task_store(Arc::new(Flawed(Memory::new().shared(), flaw))).await;
    })
    .await;
    let away = is_violated(async { contract::task_store_away(&Memory::new()).await });
    assert!(away.await, "a store that answers is not away");
}
