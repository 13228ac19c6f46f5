//! Shared parts of Couplet's server programs: flags for HTTP, logging, signals and graceful shutdown.
//!
//! * [`SiteArgs`] are the flags of an HTTP endpoint, with its limits; [`bind`] and [`url`] belong to them.
//! * [`LogArgs`] and [`start_logs`]: log lines on standard error, set by `RUST_LOG` and `--log-format`.
//! * [`Signals`]: SIGINT, SIGTERM and SIGHUP; [`drained`] serves until a signal, then shuts down gracefully.
//! * [`ServeArgs`] and [`serve`]: all of these, for a server's `main`.
//!
//! This crate knows the public API of `couplet`. It must not know the servers.

mod logs;
mod serve;
mod signals;
mod site;

pub use logs::{LogArgs, LogFormat, filter, start_logs};
pub use serve::{ServeArgs, drained, serve};
pub use signals::{Caught, Signals};
pub use site::{BindError, SiteArgs, bind, bytes, url};
