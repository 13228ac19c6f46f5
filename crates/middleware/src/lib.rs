//! Ready-made middleware for servers of the Model Context Protocol.
//!
//! Each part is one type, independent of the others, and is added with
//! [`Server::middleware`](couplet_server::Server::middleware); the first one added is the outermost. A server without them
//! pays nothing.
//!
//! | question | type |
//! |---|---|
//! | how often may a caller call? | [`RateLimit`] |
//! | how many calls run at once? | [`ConcurrencyLimit`] |
//! | how large may a result be? | [`ResponseLimit`] |
//! | may a result of a read-only tool be reused? | [`ResponseCache`] |
//! | is a failed read repeated? | [`Retry`] |
//! | which calls were made, by which caller? | [`Audit`] |
//! | how long do calls take? | [`Timing`] |
//! | what do errors reveal? | [`ErrorPolicy`] |
//! | are numbers in strings accepted? | [`Coercion`] |
//! | what does a caller see and call? | [`Visibility`] |
//! | which tools does a session enable? | [`Tags`] |
//! | is a failing tool called again? | [`CircuitBreaker`] |
//!
//! A useful order, from the outside to the inside: [`Audit`] and [`Timing`] see all calls, [`ErrorPolicy`] sees all
//! errors, then [`RateLimit`] and [`ConcurrencyLimit`], [`ResponseLimit`], [`ResponseCache`], [`CircuitBreaker`],
//! [`Retry`] and [`Coercion`]. [`Visibility`] wraps the whole server.
//!
//! ```
//! use std::time::Duration;
//!
//! use couplet_middleware::{Audit, Coercion, RateLimit, ResponseLimit};
//! use couplet_server::{Server, tool};
//!
//! let server: Server = Server::new("app", "1.0.0")
//!     .tool(tool("ping", || "pong"))
//!     .middleware(Audit::tracing())
//!     .middleware(RateLimit::in_memory(10, Duration::from_secs(1)))
//!     .middleware(ResponseLimit::new(100_000))
//!     .middleware(Coercion::new());
//! # drop(server);
//! ```
//!
//! This crate knows calls and replies. It must not know transports, revisions or handlers.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod audit;
mod breaker;
mod buckets;
mod cache;
mod coerce;
mod concurrency;
mod errors;
mod histogram;
mod names;
mod rate;
mod response;
mod retry;
mod shape;
mod tags;
mod timing;
mod visibility;

pub use audit::{Audit, AuditOutcome, AuditRecord};
pub use breaker::CircuitBreaker;
pub use buckets::{Buckets, MemoryBuckets, Taken};
pub use cache::ResponseCache;
pub use coerce::Coercion;
pub use concurrency::ConcurrencyLimit;
pub use errors::ErrorPolicy;
pub use rate::RateLimit;
pub use response::ResponseLimit;
pub use retry::Retry;
pub use tags::Tags;
pub use timing::{CallTimes, Timing};
pub use visibility::{Item, Visibility};
