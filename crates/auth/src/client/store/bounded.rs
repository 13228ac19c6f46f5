//! A store with a timeout on each operation: requests wait for it.

use std::{fmt, time::Duration};

use couplet_core::{BoxFuture, Error, ErrorKind};

use super::{Store, StoreLock};
use crate::Secret;

/// Wraps a store and limits the duration of each operation.
pub(crate) struct Bounded<S>(pub(crate) S);

impl<S> Bounded<S> {
    /// Longer than the stores of this library wait for a lock, and than a user needs to unlock a keychain.
    const LIMIT: Duration = Duration::from_secs(60);
}

impl<S: Store> Store for Bounded<S> {
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<Secret>, Error>> {
        in_time(Self::LIMIT, self.0.load(key))
    }

    fn save(&self, key: &str, value: Option<Secret>) -> BoxFuture<'_, Result<(), Error>> {
        in_time(Self::LIMIT, self.0.save(key, value))
    }

    fn lock(&self, server: &str) -> BoxFuture<'_, Result<StoreLock, Error>> {
        in_time(Self::LIMIT, self.0.lock(server))
    }
}

fn in_time<'a, T: Send + 'a>(
    limit: Duration,
    work: BoxFuture<'a, Result<T, Error>>,
) -> BoxFuture<'a, Result<T, Error>> {
    Box::pin(async move {
        let late = || Error::new(ErrorKind::Timeout, format!("the store of logins did not answer within {limit:?}"));
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
    })
}

impl<S> fmt::Debug for Bounded<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bounded").finish_non_exhaustive()
    }
}
