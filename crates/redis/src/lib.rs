//! State that replicas of a server share, in Redis or Valkey.
//!
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "auth", feature = "bus", feature = "limits", feature = "sessions", feature = "tasks")),
    allow(dead_code, reason = "each store uses a part of the connection")
)]
#![doc = include_str!("docs/lib.md")]

#[cfg(feature = "bus")]
mod bus;
mod client;
mod connection;
mod error;
#[cfg(feature = "sessions")]
mod events;
#[cfg(feature = "limits")]
mod limits;
#[cfg(feature = "auth")]
mod logins;
mod names;
#[cfg(feature = "outcomes")]
mod outcomes;
mod random;
mod script;
mod seal;
#[cfg(feature = "sessions")]
mod sessions;
mod subscribe;
#[cfg(feature = "tasks")]
mod tasks;

#[cfg(feature = "bus")]
pub use bus::RedisBus;
pub use client::{Redis, RedisBuilder};
#[cfg(feature = "sessions")]
pub use events::RedisEvents;
#[cfg(feature = "limits")]
pub use limits::{RedisLimits, Taken};
#[cfg(feature = "auth")]
pub use logins::RedisLogins;
#[cfg(feature = "outcomes")]
pub use outcomes::RedisOutcomes;
pub use seal::Keys;
#[cfg(feature = "sessions")]
pub use sessions::RedisSessions;
#[cfg(feature = "tasks")]
pub use tasks::RedisTasks;

/// The commands that are sent in one go.
const BATCH: usize = 256;
