//! The endpoint, line by line of the specification: `line_NNN` names the line of the checklist that a test is for.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod events;
mod legacy;
mod limits;
#[cfg(feature = "listen")]
mod listen;
mod sessions;
mod stateless;
mod support;
