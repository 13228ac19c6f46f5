//! Attacks on a server, a row each: `attack_NN` names the kind of attack.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod arguments;
mod hosts;
mod quiet;
mod sessions;
mod site;
#[path = "../server/support.rs"]
#[allow(dead_code, reason = "shared with another test binary")]
mod support;
