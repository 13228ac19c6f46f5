//! State that replicas of a server share, in Redis or Valkey.
//!
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(feature = "auth"), allow(dead_code, reason = "each store uses a part of the connection"))]

mod client;
mod connection;
mod error;
#[cfg(feature = "limits")]
mod limits;
#[cfg(feature = "auth")]
mod logins;
mod names;

mod script;
mod seal;

pub use client::{Redis, RedisBuilder};
#[cfg(feature = "limits")]
pub use limits::{Limits, Taken};
#[cfg(feature = "auth")]
pub use logins::Logins;
pub use seal::Keys;
