//! The client against servers that follow a script, without sockets. The names of tests that begin with `line_` give
//! the lines of the checklist that they cover.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod cancel;
mod fallback;
mod headers;
mod mock;
mod redirect;
mod session;
mod socket;
mod stream;
