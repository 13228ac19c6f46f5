//! Targets whose messages come from elsewhere: from a recording, or from a program between a host and a server.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use couplet_core::clock::unix_time;

use super::{Phase, Target, TargetState, watch::handshake};
use crate::{
    feed::{Feed, Happening},
    place::PlaceKind,
    tap::Direction,
};

/// A target that can only be watched. Clones are the same.
#[derive(Clone, Debug)]
pub struct PassiveTarget(pub(crate) Arc<Target>);

impl PassiveTarget {
    pub(crate) fn new(id: &str, name: &str, target: &str, kind: PlaceKind, feed: &Feed) -> Self {
        let state = TargetState::new(id, name.to_owned(), target.to_owned(), kind);
        Self(Target::with(id, None, feed, state))
    }

    /// Adds a message that was sent now.
    pub fn message(&self, direction: Direction, text: impl Into<Bytes>) {
        self.message_at(unix_time(), direction, text);
    }

    /// Adds a message that was sent at a time since 1970.
    pub fn message_at(&self, time: Duration, direction: Direction, text: impl Into<Bytes>) {
        let (text, target) = (text.into(), &self.0);
        couplet_core::sync::lock(&target.watch).message(direction, &text);
        let mut state = target.state();
        let is_handshake = handshake(&mut state, direction, &text);
        target.feed.add_at(time, &target.id, Happening::Message(direction, text));
        if is_handshake {
            target.change(|old| *old = state);
        }
    }

    /// Adds a line of standard error.
    pub fn stderr(&self, line: impl Into<String>) {
        self.0.feed.add(&self.0.id, Happening::Stderr(line.into()));
    }

    /// Sets the state: messages are passed on.
    pub fn connected(&self, detail: impl Into<String>) {
        self.0.change(|state| state.enter(Phase::Connected, detail));
    }

    /// Sets the state: there will be no more messages.
    pub fn ended(&self, detail: impl Into<String>) {
        self.0.change(|state| state.enter(Phase::Ended, detail));
    }
}
