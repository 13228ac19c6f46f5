//! Clients that log in, in a world without a network: whatever is sent is answered by a function. The names of tests that
//! begin with `line_` give the lines of the checklist that they cover.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that fails, or is skipped, should say where")]

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
mod stores;
mod timeouts;
mod world;
