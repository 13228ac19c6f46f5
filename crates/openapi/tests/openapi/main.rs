//! The crate through its public API: calls of a real HTTP API, credentials, real documents.

#[path = "../../../testing/tests/common/skipped.rs"]
mod skipped;

mod auth;
mod bounds;
mod calls;
mod documents;
mod files;
mod hostile;
mod kit;
mod nulls;
mod resources;
mod swagger2;
