//! Each middleware in every revision, with a test that fails without it.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that fails says so")]

mod calls;
#[cfg(feature = "client")]
mod cases;
#[cfg(feature = "client")]
mod client;
mod kit;
mod limits;
mod log;
mod mounted;
mod reads;
#[cfg(feature = "client")]
mod transports;
mod visible;
mod visible_http;
mod visible_random;
mod visible_reads;
