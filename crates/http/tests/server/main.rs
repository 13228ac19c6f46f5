//! The endpoint, duty by duty: `line_NNN` names the line of `docs/checklist.md` that a test is for.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod access;
mod alone;
mod authorize;
mod change_bus;
mod context;
mod cors;
mod events;
#[cfg(feature = "listen")]
mod http2;
mod idempotency;
mod legacy;
mod limits;
#[cfg(feature = "listen")]
mod listen;
#[path = "../client/log.rs"]
#[allow(dead_code, reason = "shared with another test binary")]
mod log;
mod mirrored;
mod principals;
mod sessionless;
mod sessions;
mod shutdown;
mod stateless;
mod streams;
mod support;
mod takeover;
