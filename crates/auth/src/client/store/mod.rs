//! Where logins are kept.

mod file;
#[cfg(feature = "keychain")]
mod keychain;

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
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
/// use couplet_http::client::http;
///
/// let oauth = OAuth::new("Notes").store(FileStore::open("credentials.json")?);
/// let target = http("https://example.com/mcp").authorize(oauth);
/// # drop(target);
/// # Ok(())
/// # }
/// ```
pub trait Store: Send + Sync + 'static {
    /// What is kept under a key.
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<Secret>, Error>>;

    /// Keeps a value in the place of an earlier one, or nothing any more.
    fn save(&self, key: &str, value: Option<Secret>) -> BoxFuture<'_, Result<(), Error>>;
}

/// Keeps logins for as long as the program runs.
#[derive(Default)]
pub struct MemoryStore(Mutex<HashMap<String, Secret>>);

impl MemoryStore {
    /// A store without anything in it.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<Secret>, Error>> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        Box::pin(async { Ok(found) })
    }

    fn save(&self, key: &str, value: Option<Secret>) -> BoxFuture<'_, Result<(), Error>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match value {
            Some(value) => kept.insert(key.to_owned(), value),
            None => kept.remove(key),
        };
        Box::pin(async { Ok(()) })
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}
