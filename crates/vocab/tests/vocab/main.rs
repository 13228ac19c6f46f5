//! The vocabulary against the types, the official schemas, the building block and the specification.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[cfg(feature = "cli")]
mod commands;
mod equivalence;
mod log;
mod mistakes;
mod official;
mod pages;
mod recordings;
mod round_trip;
mod sample;
mod seed;
mod terms;
mod types;
