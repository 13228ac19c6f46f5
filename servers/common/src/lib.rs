//! Shared parts of Couplet's server programs: flags for HTTP, sockets, logging, signals and graceful shutdown.
//!
//! * [`SiteArgs`] are the flags of an HTTP endpoint, with its limits. [`SocketArgs`] and [`bind`] open its [`Socket`]: an
//!   address, a Unix domain socket, or one that systemd passes.
//! * [`SharedArgs`] and [`Shared`]: the keys ([`StateKeyArgs`]) and the store that replicas share.
//! * [`LogArgs`] and [`start_logs`]: log lines on standard error, as `RUST_LOG` and `--log-format` say.
//! * [`Signals`], [`serve_http`] and [`serve_until_signal`]: graceful shutdown on SIGINT, SIGTERM and SIGHUP.
//! * [`ServeArgs`] and [`serve`]: all of it together, for a server's `main`.
//!
//! This crate knows the public API of `couplet`. It must not know the servers. A server without
//! flags of its own can use `couplet::run`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod files;
mod group;
mod key;
mod logs;
mod notify;
mod serve;
mod shared;
mod site;
mod socket;

pub use couplet::signal::{Signal, Signals, serve_until_signal};
pub use key::{KeyError, StateKeyArgs, StateKeys};
pub use logs::{LogArgs, LogFormat, filter, start_logs};
pub use serve::{ServeArgs, serve, serve_http};
pub use shared::{Shared, SharedArgs};
pub use site::{SiteArgs, bytes};
pub use socket::{BindError, Socket, SocketArgs, bind};
