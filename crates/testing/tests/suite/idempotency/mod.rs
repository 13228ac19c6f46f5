//! Idempotency keys, in every revision.

mod client;
mod kit;
mod rounds;
mod server;
mod stores;
