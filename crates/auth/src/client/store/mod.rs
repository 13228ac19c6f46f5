//! Where logins are kept.

mod file;
#[cfg(feature = "keychain")]
mod keychain;

use std::{
    any::Any,
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use couplet_core::{BoxFuture, Error};

use crate::Secret;

pub use file::FileStore;
#[cfg(feature = "keychain")]
pub use keychain::Keychain;

/// A place for what a client must not lose and nobody else may have: tokens, and what authorization servers know the
/// client by. Keys name an authorization server and what is kept of it; values are texts.
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
    /// What is kept under a key.
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<Secret>, Error>>;

    /// Keeps a value in the place of an earlier one, or nothing any more.
    fn save(&self, key: &str, value: Option<Secret>) -> BoxFuture<'_, Result<(), Error>>;

    /// Holds off others that use the same store, in this process or another, until the lock is dropped: while a token
    /// for a server is refreshed, which only one of them may do. A store that is not shared needs no lock.
    ///
    /// # Errors
    /// When others hold it for too long.
    fn lock(&self, server: &str) -> BoxFuture<'_, Result<StoreLock, Error>> {
        let _ = server;
        Box::pin(async { Ok(StoreLock::none()) })
    }
}

/// A lock of a [`Store`], which ends when this is dropped.
pub struct StoreLock {
    _held: Option<Box<dyn Any + Send>>,
}

impl StoreLock {
    /// A lock without effect.
    pub fn none() -> Self {
        Self { _held: None }
    }

    /// A lock that lasts for as long as this value lives.
    pub fn new(held: impl Send + 'static) -> Self {
        Self { _held: Some(Box::new(held)) }
    }
}

impl fmt::Debug for StoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreLock").finish_non_exhaustive()
    }
}

/// Keeps logins for as long as the program runs.
#[derive(Default)]
pub struct MemoryStore {
    kept: Mutex<HashMap<String, Secret>>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl MemoryStore {
    /// A store without anything in it.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<Secret>, Error>> {
        let found = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        Box::pin(async { Ok(found) })
    }

    fn save(&self, key: &str, value: Option<Secret>) -> BoxFuture<'_, Result<(), Error>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
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
