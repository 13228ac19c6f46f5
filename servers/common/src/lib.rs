//! The shared parts of Couplet's server programs: flags of HTTP, logs, signals, and graceful shutdown.
//!
//! * [`SiteArgs`]: the flags of an HTTP endpoint and its limits; [`bind`] and [`url`] belong to them.
//! * [`LogArgs`] and [`start_logs`]: logs on standard error, configured by `RUST_LOG` and `--log-format`.
//! * [`Signals`] and [`serve_until_signal`]: graceful shutdown on SIGINT, SIGTERM and SIGHUP.
//! * [`ServeArgs`] and [`serve`]: all of them, for a server's `main`.
//!
//! This crate knows the public API of `couplet`. It must not know the servers. For a server without flags of its own, see
//! [`couplet::run`].

mod logs;
mod serve;
mod site;

pub use couplet::signal::{Signal, Signals, serve_until_signal};
pub use logs::{LogArgs, LogFormat, filter, start_logs};
pub use serve::{ServeArgs, serve};
pub use site::{BindError, SiteArgs, bind, bytes, url};
