//! The Model Context Protocol over bytes: one JSON message per line, on standard input and output, on the pipes of a
//! child process, or on any other pair of byte streams.
//!
//! * [`stdio`] serves a server on the standard input and output of this process.
//! * [`pipe`] serves, or connects a client, on any reader and writer: a Unix socket, TCP, an in-memory pipe.
#![cfg_attr(feature = "child", doc = "* [`Command`] starts a server as a child process and connects a client to it.")]
#![cfg_attr(not(feature = "child"), doc = "* `Command`, with the feature `child`, starts a server as a child process.")]
//!
//! What this crate must not know: what a message means. It cuts lines, and a [`Pump`](couplet_core::pump::Pump) moves
//! them between the byte streams and a connection.
//!
//! Invariants, beside those of the pump:
//!
//! * The standard error of a child process is always read, so the child never blocks on it.
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
#[cfg(feature = "child")]
mod leash;
mod pipe;
mod serve;
#[cfg(feature = "child")]
mod spawn;
#[cfg(feature = "child")]
mod stderr;
mod stdin;
#[cfg(all(target_os = "linux", feature = "child"))]
mod strays;
mod streams;
mod until;

pub use pipe::{Pipe, pipe};
pub use serve::{Stdio, stdio};
#[cfg(feature = "child")]
pub use spawn::{Command, Direction};
#[cfg(feature = "child")]
pub use stderr::Stderr;
