//! Test helpers for servers and clients of the Model Context Protocol: in memory, and in every revision.
//!
//! * [`connect`] returns a client of one revision, connected to a server in this process.
//! * `#[couplet::test]` runs one test in every revision.
//! * [`Replay`] checks that a handler that elicits input does the same in one run and in rounds, and [`replayed`] runs
//!   all handlers of a server in rounds, in any revision.
//! * [`Surface`] is a snapshot of everything that a server lists.
//! * [`assert_golden`] compares any text with a file.
//! * [`Wire`] sends and receives plain JSON, for tests of the wire format.
//! * `contract`, with the feature of that name and `http`, `tasks`, `logins` or `middleware` for their stores, checks
//!   implementations of stores and buses.
//! * `auth`, with the feature of that name, is a local authorization server.
//!
//! This crate does not name revisions either: a test passes the one that it needs.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "auth")]
pub mod auth;
#[cfg(feature = "contract")]
pub mod contract;
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

/// Connects a client of one revision to a server in this process, or to any other target.
///
/// # Errors
/// If the connection fails, or if the server does not support the revision.
pub async fn connect(server: impl Connect + 'static, version: ProtocolVersion) -> Result<Client, Error> {
    Client::new("test", "1.0.0").versions([version]).connect(server).await
}

/// Runs a future on a new tokio runtime.
///
/// # Panics
/// If the runtime cannot be started.
pub fn block_on<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(test)
}
