//! Against a real server, a process of each test.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

#[cfg(feature = "bus")]
mod bus;
#[cfg(all(
    feature = "bus",
    feature = "cluster",
    feature = "limits",
    feature = "outcomes",
    feature = "sessions",
    feature = "tasks"
))]
mod cluster;
mod connection;
#[cfg(feature = "sessions")]
mod events;
#[cfg(feature = "limits")]
mod limits;
#[cfg(feature = "auth")]
mod logins;
#[cfg(feature = "outcomes")]
mod outcomes;
#[cfg(all(feature = "bus", feature = "sessions"))]
mod replicas;
#[cfg(all(feature = "bus", feature = "sentinel", feature = "sessions"))]
mod sentinel;
mod server;
#[cfg(feature = "sessions")]
mod sessions;
#[path = "../../../testing/tests/common/skipped.rs"]
mod skipped;
#[cfg(all(feature = "bus", feature = "sessions"))]
#[path = "../../../http/tests/server/support.rs"]
#[allow(dead_code, reason = "shared with the tests of another crate")]
mod support;
#[cfg(feature = "tasks")]
mod tasks;
#[cfg(feature = "tls")]
mod tls;
