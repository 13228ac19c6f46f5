//! Many of everything, over sockets of this machine: what it costs, and what is left of it afterwards.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod killed;
mod many;
#[path = "../peer/mod.rs"]
mod peer;
