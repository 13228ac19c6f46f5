//! The lock of a running host.

use std::sync::{Arc, Mutex};

use couplet_core::sync::lock;

use super::{Lock, PinError, PinStore};

/// The lock of a running host, and its store. Clones are the same.
#[derive(Clone)]
pub struct Pins(Arc<PinsInner>);

struct PinsInner {
    store: Box<dyn PinStore>,
    lock: Mutex<Arc<Lock>>,
    saving: tokio::sync::Mutex<()>,
}

impl Pins {
    /// Loads the lock from a store. A store without one is empty.
    ///
    /// # Errors
    /// If the store fails, or if its text is not a lock. Nothing is replaced then.
    pub async fn open(store: impl PinStore) -> Result<Self, PinError> {
        let lock = match store.load().await? {
            Some(text) => Lock::parse(&text).map_err(PinError::new)?,
            None => Lock::default(),
        };
        let lock = Mutex::new(Arc::new(lock));
        Ok(Self(Arc::new(PinsInner { store: Box::new(store), lock, saving: tokio::sync::Mutex::default() })))
    }

    /// Returns the lock as it is now.
    pub fn snapshot(&self) -> Arc<Lock> {
        lock(&self.0.lock).clone()
    }

    /// Changes the lock, and stores it if it is another one then. The change counts only when it is stored.
    ///
    /// # Errors
    /// If the store fails; the lock is the old one then.
    pub async fn update<T>(&self, change: impl FnOnce(&mut Lock) -> T) -> Result<T, PinError> {
        let _saving = self.0.saving.lock().await;
        let before = self.snapshot();
        let mut after = Lock::clone(&before);
        let result = change(&mut after);
        if after != *before {
            self.0.store.save(&after.to_string()).await?;
            *lock(&self.0.lock) = Arc::new(after);
        }
        Ok(result)
    }

    /// Loads the lock again, for a store that another program has changed.
    ///
    /// # Errors
    /// If the store fails, or if its text is not a lock; the lock is the old one then.
    pub async fn reload(&self) -> Result<(), PinError> {
        let _saving = self.0.saving.lock().await;
        if let Some(text) = self.0.store.load().await? {
            let loaded = Lock::parse(&text).map_err(PinError::new)?;
            *lock(&self.0.lock) = Arc::new(loaded);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Pins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pins").finish_non_exhaustive()
    }
}
