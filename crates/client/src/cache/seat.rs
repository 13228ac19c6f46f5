//! A client's access to a cache.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use couplet_core::{Change, Dialect, JsonText};
use couplet_types::RequestMethod;

use super::{
    Cache,
    entries::{Identity, Key},
    flights::{Begun, Lead},
    memory::Memory,
};

/// The identity of a client and its server, in a cache that other clients may share.
#[derive(Debug)]
pub(crate) struct Seat {
    memory: Arc<Memory>,
    server: Identity,
    owner: Identity,
}

impl Seat {
    /// Creates the access for a new connection to a server that may have a name.
    pub(crate) fn new(cache: &Cache, name: Option<String>) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let only = Identity::Only(LAST.fetch_add(1, Ordering::Relaxed));
        let named = cache.server.clone().map(Identity::Named);
        let server = named.or_else(|| name.map(|name| Identity::At(name.into())));
        // A principal is one of its server only.
        let principal = cache.principal.clone().filter(|_| server.is_some()).map(Identity::Named);
        Self {
            memory: cache.memory.clone(),
            server: server.unwrap_or_else(|| only.clone()),
            owner: principal.unwrap_or(only),
        }
    }

    /// A request whose result may be cached.
    pub(crate) fn ticket(&self, dialect: &Dialect, method: RequestMethod, params: Bytes) -> Ticket {
        let (server, voice) = (self.server.clone(), dialect.voice().clone());
        let own = Key { server, owner: Some(self.owner.clone()), voice, method, params };
        Ticket { memory: self.memory.clone(), shared: Key { owner: None, ..own.clone() }, own }
    }

    /// Invalidates the results that a change of the server affects.
    pub(crate) fn change(&self, change: &Change) {
        self.memory.change(&self.server, change);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // No other client can have the same identity.
        if let Identity::Only(_) = &self.owner {
            self.memory.forget(|key| key.owner.as_ref() == Some(&self.owner) || key.server == self.owner);
        }
    }
}

/// A request whose result may be cached.
#[derive(Debug)]
pub(crate) struct Ticket {
    memory: Arc<Memory>,
    own: Key,
    shared: Key,
}

impl Ticket {
    /// Decides what to do about it.
    pub(crate) fn begin(&self) -> Begun {
        self.memory.begin(&self.own, &self.shared)
    }

    /// Returns the cached result, if there is one.
    pub(crate) fn cached(&self) -> Option<JsonText> {
        self.memory.cached(&self.own, &self.shared)
    }

    /// Sends it, whatever is cached.
    pub(crate) fn lead(&self) -> Lead {
        self.memory.lead(&self.own)
    }
}
