//! The endpoint, duty by duty: `line_NNN` names the line of `docs/checklist.md` that a test is for.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod access;
#[cfg(feature = "listen")]
mod addresses;
mod alone;
mod authorize;
#[cfg(feature = "cards")]
mod card;
mod change_bus;
mod confirmed;
mod context;
mod cors;
#[cfg(feature = "listen")]
mod drain;
mod events;
#[cfg(feature = "listen")]
mod http2;
mod idempotency;
#[cfg(feature = "inspector")]
mod inspector;
mod legacy;
mod limits;
#[cfg(feature = "listen")]
mod listen;
#[path = "../client/log.rs"]
#[allow(dead_code, reason = "shared with another test binary")]
mod log;
#[cfg(all(feature = "listen", feature = "metrics"))]
mod metrics;
mod mirrored;
mod owners;
mod ownership;
mod principals;
#[cfg(feature = "listen")]
mod proxies;
#[cfg(feature = "listen")]
mod ready;
#[cfg(feature = "listen")]
mod routes;
mod sessionless;
mod sessions;
mod shutdown;
#[cfg(all(feature = "listen", feature = "metrics"))]
#[path = "../../../testing/tests/common/skipped.rs"]
mod skipped;
mod stateless;
mod store;
mod store_faults;
mod streams;
mod support;
mod takeover;
