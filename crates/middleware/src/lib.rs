//! Ready-made middleware for servers and clients of the Model Context Protocol.
//!
//! Each part is one type, independent of the others, and is added with
//! [`Server::middleware`](couplet_server::Server::middleware); the first one added is the outermost. A server without them
//! pays nothing.
//!
//! | question | type |
//! |---|---|
//! | how often may a caller call? | [`RateLimit`] |
//! | how many calls run at once? | [`ConcurrencyLimit`] |
//! | how large may a result be? | [`ResponseLimit`], with [`Spill`] |
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
//! [`Retry`] and [`Coercion`]. [`Visibility`] wraps the whole server. The chapter on middleware in the guide of `couplet`
//! says why.
//!
//! ```
//! use std::time::Duration;
//!
//! use couplet_core::{Caller, IntoService};
//! use couplet_middleware::{Audit, Coercion, Item, RateLimit, ResponseLimit, Spill, Timing, Visibility};
//! use couplet_server::{Server, extract::Args, tool};
//! # use schemars::JsonSchema;
//! # use serde::Deserialize;
//! use serde_json::json;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Repeat {
//!     times: usize,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), couplet_core::Error> {
//! let (timing, spill) = (Timing::new(), Spill::new());
//! let server: Server = Server::new("app", "1.0.0")
//!     .tool(tool("repeat", |Args(repeat): Args<Repeat>| "again ".repeat(repeat.times)))
//!     .tool(tool("delete_all", || "deleted"))
//!     .resource(spill.resource())
//!     .middleware(Audit::tracing())
//!     .middleware(timing.clone())
//!     .middleware(RateLimit::in_memory(10, Duration::from_secs(1)).per_tool())
//!     .middleware(ResponseLimit::new(10_000).spill(&spill))
//!     .middleware(Coercion::new());
//! let rule = |caller: Option<&Caller>, item: Item<'_>| match item {
//!     Item::Tool("delete_all") => caller.is_some_and(|caller| caller.has_scope("admin")),
//!     _ => true,
//! };
//! let service = Visibility::new(server, rule).into_service();
//!
//! let client = couplet_client::Client::new("demo", "1.0.0").connect(service).await?;
//! assert_eq!(client.tools().await?.len(), 1, "the other one is hidden");
//! // The number is in a string, as some models send it.
//! assert_eq!(client.call("repeat", json!({ "times": "2" })).await?.text(), "again again ");
//! assert!(client.call("repeat", json!({ "times": 10_000 })).await?.text().contains("linked parts"));
//! assert_eq!(timing.times().iter().find(|times| times.name == "repeat").map(|times| times.count), Some(2));
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! * `client`: middleware for clients, the module `client`.
//!
//! This crate knows calls and replies. It must not know transports, revisions or handlers.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod attempts;
mod audit;
mod breaker;
mod buckets;
mod cache;
#[cfg(feature = "client")]
pub mod client;
mod coerce;
mod concurrency;
mod errors;
mod histogram;
mod names;
mod rate;
mod response;
mod retry;
mod shape;
mod spill;
mod spilled;
mod tags;
mod templates;
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
pub use spill::Spill;
pub use tags::Tags;
pub use timing::{CallTimes, Timing};
pub use visibility::{Item, Visibility};
