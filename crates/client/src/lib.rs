//! Clients of the Model Context Protocol (MCP): typed requests, timeouts, elicitation and sampling callbacks,
//! subscriptions, caching and reconnection, in every protocol revision.
//!
//! [`Client::new`] returns a [`ClientBuilder`] for callbacks and timeouts; [`ClientBuilder::connect`] negotiates a
//! revision and returns a [`Client`]. The same methods work in every revision: one set of callbacks answers a server
//! that sends requests in a session and one that returns `input_required` results, and [`Client::listen`] is one stream
//! of changes in both.
//!
//! ```
//! use std::{collections::BTreeMap, sync::Arc};
//! use couplet_client::Client;
//! use couplet_core::{BoxFuture, Call, Description, ResultBody, Hub, Reply, Service};
//! use couplet_types::{Implementation, ServerCapabilities, ToolsCapability};
//! use serde_json::json;
//!
//! struct Adder(Hub);
//!
//! impl Service for Adder {
//!     fn describe(&self) -> Arc<Description> {
//!         let capabilities = ServerCapabilities::new().tools(ToolsCapability::new());
//!         Arc::new(Description::new(Implementation::new("adder", "1.0.0"), capabilities))
//!     }
//!     fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
//!         Box::pin(async move {
//!             let sum = match call.params.read::<BTreeMap<String, i64>>("arguments") {
//!                 Ok(numbers) => numbers.values().sum::<i64>(),
//!                 Err(error) => return error.into(),
//!             };
//!             Reply::Complete(ResultBody::value(&json!({ "content": [{ "type": "text", "text": sum.to_string() }] })))
//!         })
//!     }
//!     fn hub(&self) -> &Hub {
//!         &self.0
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), couplet_core::Error> {
//! let server: Arc<dyn Service> = Arc::new(Adder(Hub::new()));
//! let client = Client::new("demo", "1.0.0").connect(server).await?;
//! let sum = client.call("add", json!({ "a": 1, "b": 2 })).await?.into_result()?;
//! assert_eq!(sum.text(), "3");
//! client.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! * `validate`: structured output of tools is validated against their output schemas.
//!
//! # Where to look
//!
//! This crate does not know how bytes travel (a [`Connect`](couplet_core::Connect) does), nor how a revision looks on
//! the wire (a [`Dialect`](couplet_core::Dialect) does). All queues and lists are bounded, and a callback that panics
//! fails only the request that it answers.
//!
//! | file | content |
//! |---|---|
//! | `client.rs`, `request.rs`, `result.rs` | the public API: methods, request builder, tool results |
//! | `builder.rs`, `connect.rs` | configuration, negotiation of a revision |
//! | `driver.rs`, `reconnect/` | the future that runs a connection, and the one that replaces lost connections |
//! | `pending.rs`, `round_history.rs`, `timeout.rs` | the life of a request: cache, rounds, timeouts |
//! | `callbacks.rs`, `elicitation.rs`, `server_request.rs` | answers to elicitation, sampling and roots requests |
//! | `middleware/` | code around requests, notifications and the requests of servers |
//! | `incoming.rs`, `notify.rs`, `listen.rs`, `progress.rs`, `queue.rs` | notifications, subscriptions, progress |
//! | `cache/` | the response cache, and coalescing of identical requests |
//! | `output_schemas.rs` | validation of structured output (`output_schemas_off.rs` without the feature) |
//! | `forward.rs`, `extension.rs`, `trace.rs` | for proxies, extensions, telemetry |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod cache;
mod callbacks;
mod client;
mod connect;
mod driver;
mod elicitation;
mod extension;
mod forward;
mod incoming;
mod listen;
mod media;
mod middleware;
mod notify;
#[cfg_attr(not(feature = "validate"), path = "output_schemas_off.rs")]
mod output_schemas;
mod page;
mod pending;
mod progress;
mod queue;
mod reconnect;
mod repeat;
mod request;
mod result;
mod round_history;
mod server_request;
mod sync;
mod timeout;
mod trace;

pub use builder::ClientBuilder;
pub use cache::Cache;
pub use client::{Client, ServerInfo};
pub use couplet_core::{Change, ExtensionEvent, Filter, Outcome};
pub use driver::Driver;
pub use elicitation::Elicitation;
pub use extension::Extension;
pub use listen::{Changes, Ended};
pub use media::Media;
pub use middleware::{ClientRequest, Middleware, Next};
pub use notify::{Notice, Notifications};
pub use page::Pages;
pub use progress::ProgressSubscription;
pub use reconnect::{Backoff, ConnectionState, Reconnecting};
pub use request::RequestBuilder;
pub use result::ToolResult;
pub use server_request::{Notifier, ServerRequest, ServerRequestNext};
