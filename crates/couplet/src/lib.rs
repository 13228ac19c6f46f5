//! The Model Context Protocol for Rust: servers and clients, all revisions, one API.
//!
//! This crate has no logic of its own. It gathers the parts: [`types`], [`core`], and behind features the server, the
//! attributes, the client and the transports.

#[cfg(feature = "client")]
pub use couplet_client as client;
pub use couplet_core as core;
#[cfg(feature = "server")]
pub use couplet_server as server;
#[cfg(feature = "stdio")]
pub use couplet_stdio as stdio;
pub use couplet_types as types;

pub use couplet_core::{Error, ErrorKind};
#[cfg(feature = "macros")]
pub use couplet_macros::{prompt, resource, tool};
#[cfg(feature = "server")]
pub use couplet_server::Server;
#[cfg(feature = "server")]
#[doc(hidden)]
pub use {schemars, serde};

/// The result of what can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;
