//! The attributes: what they list, what they do, what they refuse.

#![cfg(feature = "macros")]
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that fails says so")]

mod expansion;
mod hygiene;
mod names;
mod prompt;
mod resource;
mod revisions;
mod settings;
mod support;
mod tool;
