//! A store with a timeout on each operation: requests wait for it.

use std::{fmt, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Error, ErrorKind, Outage, OutageChange};

use super::{Store, StoreLock};
use crate::Secret;

/// Wraps a store, limits the duration of each operation, and counts those that fail.
pub(crate) struct Bounded<S> {
    pub(crate) store: S,
    pub(crate) outage: Arc<Outage>,
}

/// Longer than the stores of this library wait for a lock, and than a user needs to unlock a keychain.
const LIMIT: Duration = Duration::from_secs(60);

impl<S: Store> Store for Bounded<S> {
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<Secret>, Error>> {
        in_time(&self.outage, self.store.load(key))
    }

    fn save(&self, key: &str, value: Option<Secret>) -> BoxFuture<'_, Result<(), Error>> {
        in_time(&self.outage, self.store.save(key, value))
    }

    fn lock(&self, server: &str) -> BoxFuture<'_, Result<StoreLock, Error>> {
        in_time(&self.outage, self.store.lock(server))
    }
}

fn in_time<'a, T: Send + 'a>(
    outage: &'a Outage,
    work: BoxFuture<'a, Result<T, Error>>,
) -> BoxFuture<'a, Result<T, Error>> {
    Box::pin(async move {
        let late = || Error::new(ErrorKind::Timeout, format!("the store of logins did not answer within {LIMIT:?}"));
        let done = tokio::time::timeout(LIMIT, work).await.unwrap_or_else(|_| Err(late()));
        match (outage.note(done.as_ref().err()), &done) {
            (Some(OutageChange::Began), Err(error)) => tracing::warn!(%error, "the store of logins is away"),
            (Some(OutageChange::Ended), _) => tracing::info!("the store of logins is back"),
            _ => {}
        }
        done
    })
}

impl<S> fmt::Debug for Bounded<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bounded").finish_non_exhaustive()
    }
}
