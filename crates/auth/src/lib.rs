//! OAuth 2.1 for the Model Context Protocol, over HTTP: clients that log in ([`client`]) and servers that check who
//! asks ([`server`]).
//!
//! It must not know of tools, resources or prompts, nor of any transport but HTTP.

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
pub mod server;
