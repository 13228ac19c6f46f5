//! Shared parts of Couplet's server programs: flags for HTTP, logging, signals and graceful shutdown.
//!
//! * [`SiteArgs`] are the flags of an HTTP endpoint, with its limits; [`bind`] and [`url`] belong to them.
//! * [`LogArgs`] and [`start_logs`]: log lines on standard error, as `RUST_LOG` and `--log-format` say.
//! * [`Signals`] and [`serve_until_signal`]: graceful shutdown on SIGINT, SIGTERM and SIGHUP.
//! * [`ServeArgs`] and [`serve`]: all of it together, for a server's `main`.
//!
//! This crate knows the public API of `couplet`. It must not know the servers. A server without
//! flags of its own can use `couplet::run`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod logs;
mod serve;
mod site;

pub use couplet::signal::{Signal, Signals, serve_until_signal};
pub use logs::{LogArgs, LogFormat, filter, start_logs};
pub use serve::{ServeArgs, serve};
pub use site::{BindError, SiteArgs, bind, bytes, url};
