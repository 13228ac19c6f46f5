//! The Model Context Protocol over bytes: one JSON message per line, on standard input and output, on the pipes of a
//! child process, or on any other pair of byte streams.
//!
//! * [`stdio`] serves a server on the standard input and output of this process.
//! * [`pipe`] serves, or connects a client, on any reader and writer: a Unix socket, TCP, an in-memory pipe.
#![cfg_attr(feature = "child", doc = "* [`Command`] starts a server as a child process and connects a client to it.")]
#![cfg_attr(not(feature = "child"), doc = "* `Command`, with the feature `child`, starts a server as a child process.")]
//!
//! What this crate must not know: what a message means. It cuts lines, hands them to a
//! [`Connection`](couplet_core::Connection) or a [`Link`](couplet_core::Link), and writes what they give.
//!
//! Invariants:
//!
//! * Every line that was read is handed over, and every message that was given is written before the end is reported.
//! * Nothing is read while the machine does not want input, so memory is bounded by the
//!   [`Limits`](couplet_core::Limits) whatever the peer does.
//! * Reading never waits for writing, and writing never waits for reading.
//! * A child process is never waited for by its own standard error: that is read whatever else happens.
//! * Nothing here spawns a task: dropping the future drops the connection with everything that runs on it.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "child")]
mod child;
#[cfg(feature = "child")]
pub mod children;
#[cfg(feature = "child")]
mod drive;
mod ends;
#[cfg(all(unix, feature = "child"))]
mod guard;
mod leash;
mod machine;
mod pipe;
mod pump;
mod serve;
#[cfg(feature = "child")]
mod spawn;
#[cfg(feature = "child")]
mod stderr;
mod stdin;
mod streams;
mod until;

pub use pipe::{Pipe, pipe};
pub use serve::{Stdio, stdio};
#[cfg(feature = "child")]
pub use spawn::Command;
#[cfg(feature = "child")]
pub use stderr::Stderr;
