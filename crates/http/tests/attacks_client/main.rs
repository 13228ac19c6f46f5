//! Attacks on a client, a row each: `attack_NN` names the kind of attack.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod busy;
mod early;
#[path = "../client/mock.rs"]
#[allow(dead_code, reason = "it serves other tests, too")]
mod mock;
mod reconnect;
mod refused;
