//! A host for the Model Context Protocol: many servers as one.
//!
//! A [`Host`] supervises its servers, lists what they offer in catalogs, and gives each tool, prompt and resource a unique
//! name. A program uses it [as a client](Host::call); a gateway serves a [`View`] of it. Every request passes one
//! [`policy`], definitions can be pinned ([`pins`]), calls can need the [`consent`] of a person, and all of it
//! can be [recorded](audit). What is not configured costs nothing.
//!
//! This crate knows clients, proxies and the protocol. It must not know configuration files, HTTP or terminals.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod audit;
mod builder;
pub mod catalog;
pub mod consent;
mod host;
pub mod names;
pub mod pins;
pub mod policy;
mod profile;
mod service;
pub mod upstream;

pub use builder::{HostBuilder, Server};
pub use host::{Host, ServerStatus};
pub use profile::Profile;
pub use service::View;
