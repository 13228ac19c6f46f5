//! The everything server: its contract, each of its tools in every revision, and both of its transports.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod additions;
#[cfg(unix)]
mod balancers;
mod contract;
mod kit;
#[cfg(unix)]
mod operations;
#[cfg(unix)]
#[path = "../../../../crates/testing/tests/common/replicas.rs"]
mod replicas;
mod resources;
#[cfg(unix)]
#[path = "../../../../crates/testing/tests/common/skipped.rs"]
mod skipped;
mod tools;
mod transports;
