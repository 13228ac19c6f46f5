//! A server that is somewhere else, served as if it were here.
//!
//! A [`Proxy`] is a [`Service`](couplet_core::Service) over a connected client. Whoever asks may speak another revision
//! than the server behind: a client without sessions over a server with them, and the reverse. Where both speak the same,
//! what was said is passed on as it was written.
//!
//! Progress, log messages and cancellation go through; what the server asks is asked of whoever called; changes are told
//! on, and resources are subscribed to while somebody here is.
//!
//! This crate knows clients and the protocol. It must not know servers, transports or revisions.

mod asking;
mod call;
mod changes;
mod proxy;
mod result;

pub use proxy::Proxy;
