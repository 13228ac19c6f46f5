//! One connection of the pool, and its use by calls.

use std::sync::Arc;

use couplet_core::message::Params;
use couplet_types::{Notification, RootsListChanged};
use tokio::time::Instant;

use super::{Demand, Pool};
use crate::{
    abilities::Abilities,
    session::{Expects, Needs, Owner},
    upstream::Upstream,
};

/// A connection.
pub(super) struct Slot {
    pub(super) id: u64,
    pub(super) upstream: Arc<Upstream>,
    pub(super) owner: Owner,
    pub(super) running: usize,
    pub(super) exclusive: bool,
    /// Whether one of the calls is a [trial](Demand::Trial).
    pub(super) tries: bool,
    /// Whether a new connection is about to replace it.
    pub(super) leaving: bool,
    pub(super) used: Instant,
}

impl Slot {
    /// Whether its owner may run another call on it.
    pub(super) fn is_open(&self, demand: Demand) -> bool {
        let asking = &self.upstream.asking;
        let fits = match demand {
            Demand::Shared => self.owner.session().is_some() || !asking.is_holding(),
            Demand::Trial => !self.tries && !asking.is_holding() && !asking.is_muted(),
            Demand::Exclusive => self.running == 0 && !asking.is_muted(),
        };
        fits && !self.leaving && !self.exclusive
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running == 0 && !self.leaving
    }

    /// Whether another trial of this owner runs on it.
    pub(super) fn tries_for(&self, owner: &Owner) -> bool {
        self.tries && self.owner.is(owner) && !self.leaving
    }

    pub(super) fn belong_to(&mut self, owner: &Owner) {
        if let Some(session) = owner.session() {
            self.upstream.asking.belong_to(Some(session.clone()));
            if session.has_roots() {
                // The server may have requested roots before there was a client with roots.
                self.upstream.client.forward_notification(RootsListChanged::METHOD, &Params::default());
            }
        } else {
            self.upstream.asking.belong_to(None);
        }
        self.owner = owner.clone();
    }

    pub(super) fn lease(&mut self, pool: &Arc<Pool>, needs: &Needs, demand: Demand) -> Lease {
        self.running += 1;
        self.exclusive |= demand == Demand::Exclusive;
        self.tries |= demand == Demand::Trial;
        let trial = match &needs.expects {
            Expects::Requests(name) if demand == Demand::Trial => Some(name.clone()),
            _ => None,
        };
        let is_suspect = match &needs.expects {
            Expects::Nothing => self.upstream.abilities != Abilities::NONE,
            Expects::Requests(_) => demand != Demand::Shared,
        };
        Lease { pool: pool.clone(), slot: self.id, trial, is_suspect, upstream: self.upstream.clone() }
    }
}

/// A connection in use by a call, until it is dropped.
pub(crate) struct Lease {
    pool: Arc<Pool>,
    slot: u64,
    /// The name of a call that is a [trial](Demand::Trial).
    trial: Option<Arc<str>>,
    /// Whether it may be the first call that receives a request of the server.
    pub(crate) is_suspect: bool,
    pub(crate) upstream: Arc<Upstream>,
}

impl Lease {
    /// Notes that the call has ended without a request of the server.
    pub(crate) fn was_quiet(&self) {
        self.trial.iter().for_each(|name| self.pool.quiet.add(self.upstream.abilities, name));
    }

    /// Starts no other call on the connection: the server has sent a request. Trials do not wait for it any longer.
    pub(crate) fn claim(&self) {
        self.pool.hold(self.slot);
        if self.trial.is_some() {
            self.pool.freed.notify_waiters();
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        if let Some(slot) = state.slots.iter_mut().find(|slot| slot.id == self.slot) {
            slot.running -= 1;
            slot.exclusive &= slot.running > 0;
            slot.tries &= self.trial.is_none();
            slot.used = Instant::now();
        }
        drop(state);
        if self.upstream.asking.is_muted() {
            self.pool.close_muted();
        }
        self.pool.freed.notify_waiters();
    }
}
