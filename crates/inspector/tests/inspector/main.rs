//! The inspector over HTTP, with servers in this process.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod feed;
mod kit;
mod refused;
mod targets;
mod tools;
