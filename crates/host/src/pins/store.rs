//! Storage of the lock.

use std::{fmt, sync::Mutex};

use couplet_core::{BoxFuture, sync::lock};

/// Storage of the text of a lock, such as a file.
pub trait PinStore: Send + Sync + 'static {
    /// Loads the text; `None` if there is none yet.
    fn load(&self) -> BoxFuture<'_, Result<Option<String>, PinError>>;

    /// Stores the text, entirely or not at all.
    fn save<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), PinError>>;
}

/// A store in memory, which ends with the process.
#[derive(Debug, Default)]
pub struct MemoryPins(Mutex<Option<String>>);

impl PinStore for MemoryPins {
    fn load(&self) -> BoxFuture<'_, Result<Option<String>, PinError>> {
        Box::pin(async { Ok(lock(&self.0).clone()) })
    }

    fn save<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), PinError>> {
        Box::pin(async move {
            *lock(&self.0) = Some(text.to_owned());
            Ok(())
        })
    }
}

/// A lock that cannot be loaded, parsed or stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinError(String);

impl PinError {
    /// Creates an error.
    pub fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string())
    }
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PinError {}
