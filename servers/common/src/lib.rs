//! What the programs of Couplet share that serve: flags for HTTP, logs, signals, and a graceful shutdown.
//!
//! * [`SiteArgs`] are the flags of an HTTP endpoint, with its limits; [`bind`] and [`url`] belong to them.
//! * [`LogArgs`] and [`start_logs`]: log lines on standard error, as `RUST_LOG` and `--log-format` say.
//! * [`Signals`]: SIGINT, SIGTERM and SIGHUP; [`drained`] serves until one comes, and then finishes what runs.
//! * [`ServeArgs`] and [`serve`]: all of it together, for a server's `main`.
//!
//! It knows the public API of `couplet`. It must not know what is served.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod logs;
mod serve;
mod signals;
mod site;

pub use logs::{LogArgs, LogFormat, filter, start_logs};
pub use serve::{ServeArgs, drained, serve};
pub use signals::{Caught, Signals};
pub use site::{BindError, SiteArgs, bind, bytes, url};
