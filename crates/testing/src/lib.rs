//! Tests for servers and clients of the Model Context Protocol: in memory, and in every revision.
//!
//! * [`connect`] gives a real client of one revision, connected to a server in this process.
//! * `#[couplet::test]` runs one test in every revision.
//! * [`Replay`] checks that a handler that asks does the same in one run and in rounds, and [`replayed`] runs all
//!   handlers of a server in rounds, in any revision.
//! * [`Surface`] is everything that a server offers, as a text to compare with a file.
//! * [`assert_golden`] compares any text with a file.
//! * [`Wire`] speaks to a server in plain JSON, for tests of what is on the wire.
//! * `auth`, with the feature of that name, is an authorization server on this machine.
//!
//! This crate knows no revision either: a test says which one it wants.

#[cfg(feature = "auth")]
pub mod auth;
mod golden;
mod replay;
mod rounds;
mod surface;
mod wire;

pub use couplet_types as types;
pub use golden::assert_golden;
pub use replay::{Difference, Replay};
pub use rounds::{Replayed, replayed};
pub use surface::Surface;
pub use wire::Wire;

use std::future::Future;

use couplet_client::Client;
use couplet_core::{Connect, Error};
use couplet_types::ProtocolVersion;

/// Connects a client that speaks one revision to a server: one in this process, or any other place.
///
/// # Errors
/// When the two cannot agree.
pub async fn connect(server: impl Connect + 'static, version: ProtocolVersion) -> Result<Client, Error> {
    Client::new("test", "1.0.0").versions([version]).connect(server).await
}

/// Runs a test's future on a runtime of its own.
///
/// # Panics
/// When the runtime cannot be started.
pub fn block_on<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(test)
}
