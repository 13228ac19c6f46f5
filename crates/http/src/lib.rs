//! The Model Context Protocol over HTTP: one endpoint for every revision, and a client that finds out what the other
//! side speaks.
#![doc = include_str!("docs/lib.md")]
#![doc = include_str!("docs/troubleshooting.md")]
//! # Inside
//!
//! This crate knows HTTP. It must not know handlers, and of revisions and eras only what `couplet_core::http` tells it.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "cards")]
pub mod card;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
pub mod server;

#[cfg(feature = "client")]
pub use client::target::connect;
#[cfg(feature = "listen")]
pub use server::listen::listen;
#[cfg(all(feature = "listen", unix))]
pub use server::listen::listen_unix;
