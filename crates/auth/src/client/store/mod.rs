//! Storage of logins.

mod bounded;
mod file;
#[cfg(feature = "keychain")]
mod keychain;

use std::{
    any::Any,
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
};

use couplet_core::{BoxFuture, Error, sync::lock};

use crate::Secret;

pub(crate) use bounded::Bounded;
pub use file::FileStore;
#[cfg(feature = "keychain")]
pub use keychain::Keychain;

/// Storage for a client's secrets: tokens and client registrations. Keys name an authorization server and the kind of
/// secret; values are opaque strings. Each operation has a timeout of a minute, so an implementation needs none of its own.
///
/// The contract is a test in `couplet_testing::contract`: `login_store`, and `login_lock` for stores with a lock.
///
/// ```no_run
/// # fn example() -> Result<(), couplet_core::Error> {
/// use couplet_auth::client::{FileStore, OAuth};
///
/// let oauth = OAuth::new("Notes").store(FileStore::open("credentials.json")?);
/// let target = couplet_http::connect("https://example.com/mcp").authorize(oauth);
/// # drop(target);
/// # Ok(())
/// # }
/// ```
pub trait Store: Send + Sync + 'static {
    /// Returns the value of a key.
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<Secret>, Error>>;

    /// Replaces the value of a key, or deletes it if `value` is `None`.
    fn save(&self, key: &str, value: Option<Secret>) -> BoxFuture<'_, Result<(), Error>>;

    /// Acquires an exclusive lock across all users of the store, in this process and others, until the returned guard
    /// is dropped. It is held while a token for `server` is refreshed, which only one process may do at a time. The
    /// default is no lock, for stores that are not shared.
    ///
    /// # Errors
    /// Fails if the lock cannot be acquired in time. The token is then refreshed without it.
    fn lock(&self, server: &str) -> BoxFuture<'_, Result<StoreLock, Error>> {
        let _ = server;
        Box::pin(async { Ok(StoreLock::none()) })
    }
}

/// The guard of a [`Store::lock`]. Dropping it releases the lock.
pub struct StoreLock {
    _held: Option<Box<dyn Any + Send>>,
}

impl StoreLock {
    /// Creates a guard that locks nothing.
    pub fn none() -> Self {
        Self { _held: None }
    }

    /// Creates a guard that holds a value, such as a locked file, until it is dropped.
    pub fn new(held: impl Send + 'static) -> Self {
        Self { _held: Some(Box::new(held)) }
    }
}

impl fmt::Debug for StoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreLock").finish_non_exhaustive()
    }
}

/// A [`Store`] in memory, lost with the process.
#[derive(Default)]
pub struct MemoryStore {
    kept: Mutex<HashMap<String, Secret>>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<Secret>, Error>> {
        let found = lock(&self.kept).get(key).cloned();
        Box::pin(async { Ok(found) })
    }

    fn save(&self, key: &str, value: Option<Secret>) -> BoxFuture<'_, Result<(), Error>> {
        let mut kept = lock(&self.kept);
        match value {
            Some(value) => kept.insert(key.to_owned(), value),
            None => kept.remove(key),
        };
        Box::pin(async { Ok(()) })
    }

    fn lock(&self, _: &str) -> BoxFuture<'_, Result<StoreLock, Error>> {
        Box::pin(async { Ok(StoreLock::new(self.turn.clone().lock_owned().await)) })
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}
