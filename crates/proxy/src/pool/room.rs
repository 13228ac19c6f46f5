//! The connections that a caller can share, take over or open.

use tokio::time::Instant;

use super::{Slot, State};
use crate::{abilities::Abilities, session::Owner};

/// The connections that a caller without one of its own can have.
pub(super) struct Room {
    /// The capabilities of the caller.
    pub(super) can: Abilities,
    /// Whether the target accepts further connections.
    pub(super) may_dial: bool,
    /// Whether there may be further connections.
    pub(super) has_room: bool,
    /// Whether there can be no connection for these capabilities alone.
    pub(super) is_full: bool,
}

impl Room {
    /// Whether a connection declares the capabilities, and if it is full, maybe others.
    pub(super) fn suits(&self, slot: &Slot) -> bool {
        let declared = slot.upstream.abilities;
        declared == self.can || self.is_full && declared.has(self.can)
    }

    /// Whether a caller shares the connection of its principal whatever their capabilities are.
    pub(super) fn is_shared(&self, slot: &Slot, owner: &Owner) -> bool {
        self.is_full && slot.owner.is_like(owner) && self.suits(slot)
    }
}

impl State {
    pub(super) fn room(&self, owner: &Owner, most: usize) -> Room {
        let may_dial = self.alone.is_none_or(|until| until <= Instant::now());
        let has_room = self.slots.len() + self.opening.len() < most;
        let is_replaceable = |slot: &Slot| slot.owner.is_gone() && slot.is_idle();
        let is_full = !may_dial || !has_room && !self.slots.iter().any(is_replaceable);
        Room { can: owner.abilities(), may_dial, has_room, is_full }
    }
}
