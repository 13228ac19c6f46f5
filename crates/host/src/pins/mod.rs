//! Pinned definitions: digests, the lock file, and what changed.
//!
//! A server can change a tool after it was approved. So each definition of a tool, prompt or resource template, and the
//! instructions, has a [`Fingerprint`], and a [`Lock`] has the approved ones. A definition that is new or changed is hidden
//! and blocked until it is approved. A definition that disappears stays in the lock, so that it cannot come back changed.
//! Resources have no definition that a model reads, and are not pinned.
//!
//! The text of a lock file is sorted JSON, so that it can be reviewed. This module must not know where it is stored.

mod canonical;
mod diff;
mod digest;
mod file;
mod hints;
mod lock;
mod node;
mod number;
mod observe;
mod open;
mod store;
#[cfg(test)]
mod tests;
pub(crate) mod time;

pub(crate) use canonical::canonical_text;
pub use canonical::{Fingerprint, Uncanonical, fingerprint};
pub use diff::{Change, Diff};
pub use digest::Digest;
pub use file::LockError;
pub use hints::Hints;
pub use lock::{Approval, Launch, Lock, Pin, Select};
pub use observe::{Baseline, Item, Observed, Seen};
pub use open::Pins;
pub use store::{MemoryPins, PinError, PinStore};
