//! Model Context Protocol servers made ready to give away.
//!
//! A bundle (`.mcpb`) is a ZIP file with a server and a `manifest.json` that says how to start it and what to ask the
//! user; hosts install it with a click. [`pack`] makes one from a folder, the same bytes every time. `server.json` is what
//! the registry of servers wants to know; [`server_json`] makes it from a `Cargo.toml` and checks it by the registry's
//! rules before anything is published that cannot be taken back.
//!
//! All rules are checked here, without a network. What is wrong is a [`Problem`]: where it is, what it is, what to do.
//! This crate knows files and rules and does not know the protocol: what tools a server has comes in as a [`Surface`].

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "cli")]
pub mod cli;
mod error;
mod files;
mod ignore;
pub mod manifest;
mod pack;
mod package;
mod problem;
mod rules;
pub mod server_json;

pub use error::{Error, ErrorKind};
pub use files::Files;
pub use manifest::Surface;
pub use pack::{Packed, pack};
pub use package::Package;
pub use problem::{Problem, Severity};
