//! A connection on its way.

use std::sync::{Arc, Weak};

use super::{Pool, State};
use crate::{abilities::Abilities, session::Owner};

/// A connection that is being opened.
pub(super) struct Opening {
    pool: Weak<Pool>,
    id: u64,
    pub(super) abilities: Abilities,
    replaced: Option<u64>,
}

impl Opening {
    pub(super) fn new(
        pool: &Arc<Pool>,
        state: &mut State,
        owner: &Owner,
        abilities: Abilities,
        replaced: Option<u64>,
    ) -> Self {
        state.last += 1;
        state.opening.push((state.last, owner.clone()));
        Self { pool: Arc::downgrade(pool), id: state.last, abilities, replaced }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let Some(pool) = self.pool.upgrade() else { return };
        let mut state = pool.lock();
        state.opening.retain(|(id, _)| *id != self.id);
        if let Some(slot) = state.slots.iter_mut().find(|slot| Some(slot.id) == self.replaced) {
            slot.leaving = false;
        }
        drop(state);
        pool.freed.notify_waiters();
    }
}
