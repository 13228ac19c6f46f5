//! A pool of connections for stateless requests.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use couplet_core::{Caller, ServerConnection};

use crate::server::lock;

/// Some connections that are as good as new.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Vec<ServerConnection>>);

impl Pool {
    /// How many are kept.
    const MOST: usize = 64;

    /// Takes a connection for a caller.
    pub(crate) fn take(&self, caller: Option<Arc<Caller>>) -> Option<ServerConnection> {
        let mut connection = lock(&self.0).pop()?;
        connection.set_caller(caller);
        Some(connection)
    }

    /// Returns a connection to the pool, unless a handler could still send on it.
    pub(crate) fn give(&self, mut connection: ServerConnection) {
        if connection.try_reset() {
            let mut kept = lock(&self.0);
            if kept.len() < Self::MOST {
                kept.push(connection);
            }
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}
