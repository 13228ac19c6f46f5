//! Clients that log in, in a world without a network: whatever is sent is answered by a function. The names of tests that
//! begin with `line_` give the lines of `docs/checklist.md` that they cover.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod attacks;
mod bound;
mod device;
mod discovery;
mod door;
mod exposed;
mod fetching;
mod grants;
mod identity;
#[cfg(feature = "keychain")]
mod keychain;
mod logout;
mod paste;
mod renewal;
mod scopes;
#[path = "../../../testing/tests/common/skipped.rs"]
mod skipped;
mod stores;
mod timeouts;
mod world;
