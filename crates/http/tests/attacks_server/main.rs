//! Attacks on a server, a row each: `attack_NN` names the kind of attack.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod answers;
mod arguments;
mod bodies;
mod handlers;
mod hosts;
mod quiet;
mod sessions;
mod site;
mod stores;
#[path = "../server/support.rs"]
#[allow(dead_code, reason = "shared with another test binary")]
mod support;
