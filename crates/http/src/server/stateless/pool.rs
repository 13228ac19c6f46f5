//! Connections that have served a message that stood alone, and serve the next one.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use couplet_core::{Caller, ServerConnection};

use crate::server::lock;

/// Some connections that are as good as new.
#[derive(Default)]
pub(crate) struct Spare(Mutex<Vec<ServerConnection>>);

impl Spare {
    /// How many are kept.
    const MOST: usize = 64;

    /// One of them, for somebody.
    pub(crate) fn take(&self, caller: Option<Arc<Caller>>) -> Option<ServerConnection> {
        let mut connection = lock(&self.0).pop()?;
        connection.set_caller(caller);
        Some(connection)
    }

    /// Keeps a connection, unless somebody could still say something on it.
    pub(crate) fn give(&self, mut connection: ServerConnection) {
        if connection.try_reset() {
            let mut kept = lock(&self.0);
            if kept.len() < Self::MOST {
                kept.push(connection);
            }
        }
    }
}

impl fmt::Debug for Spare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spare").finish_non_exhaustive()
    }
}
