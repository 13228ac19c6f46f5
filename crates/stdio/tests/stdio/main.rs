//! The crate from outside: a server on pipes of every kind, a client on the other end, and children that misbehave.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod attacks;
mod attacks_rounds;
#[cfg(all(unix, feature = "child"))]
mod child;
#[cfg(all(unix, feature = "child"))]
mod child_attacks;
mod client;
mod serve;
mod support;
