//! What a server may do to a client: tests named after the number that the attack has in the list of sharp edges.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod busy;
mod early;
#[path = "../client/mock.rs"]
#[allow(dead_code, reason = "it serves other tests, too")]
mod mock;
mod reconnect;
mod refused;
