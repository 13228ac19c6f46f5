//! A client against servers that are written by hand: every message that it sends is seen, every message that it gets
//! is chosen.

#![expect(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "short helpers make readable tests")]

mod answers;
mod cache;
mod connect;
mod limits;
mod listen;
mod reconnect;
mod request;
mod script;
mod service;
mod target;
mod without_runtime;
