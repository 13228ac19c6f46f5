//! The differences between the lock and a server, for people.

use std::fmt;

use super::{Digest, Item, Launch, Lock, Pin, Seen};
use crate::names::ServerId;

/// The difference in one definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The definition.
    pub item: Item,
    /// Its state.
    pub pin: Pin,
    /// The differences, one member per line, escaped for a terminal.
    pub lines: Vec<String>,
}

/// The differences between the lock and the definitions of a server. Its text is escaped for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// The server.
    pub server: ServerId,
    /// The state of the launch configuration.
    pub launch: Launch,
    /// The definitions that are not approved as they are.
    pub changes: Vec<Change>,
}

impl Lock {
    /// Compares the definitions of a server with the lock, in detail.
    pub fn diff(&self, server: &ServerId, launch: &Digest, seen: &[Seen], now: u64) -> Diff {
        let _ = (server, launch, seen, now);
        todo!()
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}
