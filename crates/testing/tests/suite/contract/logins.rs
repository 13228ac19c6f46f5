//! Broken stores of logins.

use std::sync::Arc;

use couplet_auth::{
    Secret,
    client::{MemoryStore, Store, StoreLock},
};
use couplet_core::{BoxFuture, Error};
use couplet_testing::contract;

use super::{finds_all, is_violated};

/// The ways in which a store can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    HasValuesPerProcess,
    IgnoresCase,
    DeletesNothing,
    HasNoEmptyValues,
    Truncates,
    HasNoLock,
    LocksPerProcess,
    NeverUnlocks,
    LocksReadsToo,
}

/// A handle: the store that both share, and one of this process.
struct Flawed {
    shared: Arc<MemoryStore>,
    own: MemoryStore,
    flaw: Option<Flaw>,
}

impl Flawed {
    fn pair(flaw: Option<Flaw>) -> (Self, Self) {
        let shared = Arc::new(MemoryStore::new());
        let handle = || Self { shared: shared.clone(), own: MemoryStore::new(), flaw };
        (handle(), handle())
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn values(&self) -> &MemoryStore {
        if self.has(Flaw::HasValuesPerProcess) { &self.own } else { &self.shared }
    }

    fn key(&self, key: &str) -> String {
        if self.has(Flaw::IgnoresCase) { key.to_lowercase() } else { key.to_owned() }
    }
}

impl Store for Flawed {
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<Secret>, Error>> {
        let key = self.key(key);
        Box::pin(async move {
            let _turn = if self.has(Flaw::LocksReadsToo) { Some(self.shared.lock("").await?) } else { None };
            self.values().load(&key).await
        })
    }

    fn save(&self, key: &str, value: Option<Secret>) -> BoxFuture<'_, Result<(), Error>> {
        let value = match value {
            None if self.has(Flaw::DeletesNothing) => return Box::pin(async { Ok(()) }),
            Some(value) if self.has(Flaw::HasNoEmptyValues) && value.reveal().is_empty() => None,
            Some(value) if self.has(Flaw::Truncates) && value.reveal().len() > 4096 => {
                Some(Secret::new(&value.reveal()[..4096]))
            }
            value => value,
        };
        self.values().save(&self.key(key), value)
    }

    fn lock(&self, server: &str) -> BoxFuture<'_, Result<StoreLock, Error>> {
        match self.flaw {
            Some(Flaw::HasNoLock) => Box::pin(async { Ok(StoreLock::none()) }),
            Some(Flaw::LocksPerProcess) => self.own.lock(server),
            Some(Flaw::NeverUnlocks) => {
                let lock = self.shared.lock(server);
                Box::pin(async { Ok(StoreLock::new(std::mem::ManuallyDrop::new(lock.await?))) })
            }
            _ => self.shared.lock(server),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn broken_stores_of_logins_are_found() {
    use Flaw as F;
    let flaws = [F::HasValuesPerProcess, F::IgnoresCase, F::DeletesNothing, F::HasNoEmptyValues, F::Truncates];
    finds_all(&flaws, |flaw| async move {
        let (one, two) = Flawed::pair(flaw);
        contract::login_store(&one, &two).await;
    })
    .await;
    let flaws = [F::HasNoLock, F::LocksPerProcess, F::NeverUnlocks, F::LocksReadsToo];
    finds_all(&flaws, |flaw| async move {
        let (one, two) = Flawed::pair(flaw);
        contract::login_lock(&one, &two).await;
    })
    .await;
    let away = is_violated(async { contract::login_store_away(&MemoryStore::new()).await });
    assert!(away.await, "a store that answers is not away");
}
