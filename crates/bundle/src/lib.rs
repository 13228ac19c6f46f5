//! Packaging and publishing of MCP servers: bundles (`.mcpb`) and `server.json`.
//!
//! A bundle is a ZIP file with a server and a `manifest.json`, which describes how to start the server and what to ask
//! the user; hosts install it with a click. [`pack`] creates one from a folder, reproducibly. `server.json` is the
//! entry of a server in the MCP registry; [`server_json`] generates it from a `Cargo.toml` and checks it against the
//! rules of the registry, before a version is published that cannot be changed.
//!
//! All checks work offline. Each violated rule is a [`Problem`]: the member, what is wrong, and a fix. This crate knows
//! files and rules and does not know the protocol: the tools of a server are passed in as a [`Surface`].

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
