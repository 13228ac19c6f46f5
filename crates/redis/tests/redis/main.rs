//! Against a real server, a process of each test.
#![cfg(unix)]

mod connection;
#[cfg(feature = "limits")]
mod limits;
#[cfg(feature = "auth")]
mod logins;
mod server;
#[path = "../../../testing/tests/common/skipped.rs"]
mod skipped;
