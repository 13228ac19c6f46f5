//! OAuth 2.1 for the Model Context Protocol over HTTP: clients that log in ([`client`]) and servers that authenticate
//! callers ([`server`]).
//!
//! It must not know of tools, resources or prompts, nor of any transport but HTTP. Data from other parties (a server
//! about its authorization server, that one about its endpoints) is untrusted and used only as far as it can be
//! verified.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod fetch;
#[cfg(any(feature = "client", feature = "server"))]
mod places;
mod secret;

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
pub mod server;

pub use secret::Secret;
