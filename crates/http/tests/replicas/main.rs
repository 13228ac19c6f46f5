//! Several replicas of one server, without sticky routing: requests reach the owner of their session.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod forged;
mod lost;
mod mailbox;
mod member;
mod owners;
#[cfg(feature = "client")]
mod secure;
mod signals;
#[path = "../server/store.rs"]
#[allow(dead_code, reason = "shared with another test binary")]
mod store;
mod streams;
#[path = "../server/support.rs"]
#[allow(dead_code, reason = "shared with another test binary")]
mod support;
mod users;
