//! Several replicas of one server that share a store of tasks.
#![allow(clippy::unwrap_used, reason = "a test reports by panicking")]

mod drain;
mod journal;
mod keys;
mod kit;
mod lease;
mod mailbox;
