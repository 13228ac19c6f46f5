//! The vocabulary against the types, the official schemas, the building block and the specification.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod equivalence;
mod mistakes;
mod pages;
mod sample;
mod types;
