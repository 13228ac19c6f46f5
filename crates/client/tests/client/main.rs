//! A client against servers that are written by hand: every message that it sends is seen, every message that it gets
//! is chosen.

mod answers;
mod connect;
mod listen;
mod request;
mod script;
mod service;
mod without_runtime;
