//! The client against servers that follow a script, without sockets. The names of tests that begin with `line_` give
//! the lines of `docs/checklist.md` that they cover.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod cancel;
mod dial;
mod eras;
mod fallback;
mod forward;
mod headers;
mod http2;
mod log;
mod mock;
mod patience;
mod proxy;
mod redirect;
mod renew;
#[path = "../peer/request.rs"]
mod request;
#[cfg(feature = "reqwest")]
mod reqwest;
mod session;
mod socket;
mod stream;
mod tls;
mod trust;
mod urls;
mod wire;
