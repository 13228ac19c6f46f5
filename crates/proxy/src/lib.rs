//! A server that is somewhere else, served as if it were here.
//!
//! A [`Proxy`] is a [`Service`](couplet_core::Service) over connections of a client. Its callers may speak another
//! revision than the server: a client without sessions over a server with them, and the reverse. Where both speak the
//! same, messages are passed on as they were written.
//!
//! Progress, log messages and cancellation go through; what the server asks is asked of the caller; changes are
//! announced, and resources are subscribed to while a client here is. A server that is lost is connected to again.
//!
//! This crate knows clients and the protocol. It must not know servers, transports or revisions.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod asking;
mod backoff;
mod builder;
mod call;
mod changes;
mod describe;
mod extensions;
mod parked;
mod pool;
mod proxy;
mod result;
mod session;
mod supervise;
mod upstream;

pub use builder::ProxyBuilder;
pub use proxy::Proxy;
