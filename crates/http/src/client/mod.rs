//! The client side: one URL, and every HTTP transport that a server may speak behind it.
//!
//! ```no_run
//! # async fn example() -> Result<(), couplet_core::Error> {
//! use couplet_client::Client;
//! use couplet_http::connect;
//!
//! let client = Client::new("demo", "1.0.0").connect("https://example.com/mcp").await?;
//! for tool in client.tools().await? {
//!     tracing::info!("{}", tool.name);
//! }
//! // With settings:
//! let client = Client::new("demo", "1.0.0").connect(connect("https://example.com/mcp").bearer("secret")).await?;
//! # Ok(())
//! # }
//! ```
//!
#![doc = include_str!("../docs/client.md")]
//!
//! # Inside
//!
//! A request is a POST of its own. The messages that come back go to a [`Router`](couplet_core::Router), which hands
//! each to its exchange or to the client's [`Inbound`](couplet_core::Inbound). Nothing runs outside of the driver of the
//! connection.

mod address;
mod busy;
mod challenge;
mod channel;
mod dial;
mod driver;
mod eras;
mod failure;
mod fetch;
mod follow;
mod headers;
mod http2;
mod hyper;
mod inline;
mod legacy;
mod listen;
mod plain;
mod proxy;
mod read;
mod redirect;
mod renew;
#[cfg(feature = "reqwest")]
mod reqwest;
mod route;
mod session;
mod settings;
mod setup;
mod shared;
mod stateless;
pub(crate) mod target;
pub(crate) mod tls;
mod tools;
mod uri;

pub use busy::Busy;
pub use challenge::{Challenge, challenges};
pub use eras::EraCache;
pub use failure::ConnectFailure;
pub use fetch::{Authorize, Body, HttpClient};
pub use hyper::HyperClient;
#[cfg(feature = "reqwest")]
pub use reqwest::ReqwestClient;
pub use setup::HyperClientBuilder;
pub use target::{HttpTarget, Url};
