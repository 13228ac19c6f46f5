//! A client's place at a cache.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use couplet_core::{Change, Dialect, JsonText};
use couplet_types::RequestMethod;

use super::{
    Cache,
    flights::{Begun, Lead},
    memory::Memory,
    shelf::{Key, Who},
};

/// Who asks which server, in a memory that others may use, too.
#[derive(Debug)]
pub(crate) struct Seat {
    memory: Arc<Memory>,
    server: Who,
    owner: Who,
}

impl Seat {
    /// A place for a new connection to a server that may have a name.
    pub(crate) fn new(cache: &Cache, name: Option<String>) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let only = Who::Only(LAST.fetch_add(1, Ordering::Relaxed));
        let named = cache.server.clone().map(Who::Named);
        let server = named.or_else(|| name.map(|name| Who::At(name.into())));
        // A principal of one server is nobody at another.
        let principal = cache.principal.clone().filter(|_| server.is_some()).map(Who::Named);
        Self {
            memory: cache.memory.clone(),
            server: server.unwrap_or_else(|| only.clone()),
            owner: principal.unwrap_or(only),
        }
    }

    /// A request whose answer may be kept.
    pub(crate) fn ticket(&self, dialect: &Dialect, method: RequestMethod, params: Bytes) -> Ticket {
        let (server, voice) = (self.server.clone(), dialect.voice().clone());
        let own = Key { server, owner: Some(self.owner.clone()), voice, method, params };
        Ticket { memory: self.memory.clone(), shared: Key { owner: None, ..own.clone() }, own }
    }

    /// The server tells of a change, or there is reason to believe in one.
    pub(crate) fn change(&self, change: &Change) {
        self.memory.change(&self.server, change);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // Nobody else can ever have the same place.
        if let Who::Only(_) = &self.owner {
            self.memory.forget(|key| key.owner.as_ref() == Some(&self.owner) || key.server == self.owner);
        }
    }
}

/// A request whose answer may be kept.
#[derive(Debug)]
pub(crate) struct Ticket {
    memory: Arc<Memory>,
    own: Key,
    shared: Key,
}

impl Ticket {
    /// What to do about it.
    pub(crate) fn begin(&self) -> Begun {
        self.memory.begin(&self.own, &self.shared)
    }

    /// The answer, if it is here.
    pub(crate) fn kept(&self) -> Option<JsonText> {
        self.memory.kept(&self.own, &self.shared)
    }

    /// It is sent, whatever is known.
    pub(crate) fn lead(&self) -> Lead {
        self.memory.lead(&self.own)
    }
}
