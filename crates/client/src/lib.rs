//! A client of the Model Context Protocol: typed requests, rounds of questions, deadlines, subscriptions.
//!
//! [`Client::new`] collects what the client can answer and how long it waits; [`ClientBuilder::connect`] finds out
//! what the server speaks and returns a [`Client`]. The same calls work with every revision: one set of callbacks
//! answers a server that asks on its session and one that asks in its results, and [`Client::listen`] is one stream
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
//! let sum = client.call("add", json!({ "a": 1, "b": 2 })).await?;
//! assert_eq!(sum.text(), "3");
//! client.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! What this crate must not know: how bytes travel (a [`Connect`](couplet_core::Connect) does), how a revision looks
//! on the wire (a [`Dialect`](couplet_core::Dialect) does). Nothing here grows without a bound, and a callback that
//! panics harms nobody but the request that it was to answer.

mod answers;
mod builder;
mod cache;
mod client;
mod clock;
mod connect;
mod driver;
mod elicitation;
mod extension;
mod feed;
mod forward;
mod inbox;
mod listen;
mod media;
mod notify;
#[cfg_attr(not(feature = "validate"), path = "unchecked.rs")]
mod outputs;
mod page;
mod progress;
mod questions;
mod reconnect;
mod request;
mod result;
mod rounds;
mod sync;
mod target;
mod trace;

pub use builder::ClientBuilder;
pub use cache::Cache;
pub use client::{Client, ServerInfo};
pub use couplet_core::{Change, ExtensionEvent, Filter, Outcome};
pub use driver::Driver;
pub use elicitation::Elicitation;
pub use extension::{Extension, Notifier, ServerRequest, ServerRequestNext};
pub use listen::{Changes, Ended};
pub use media::Media;
pub use notify::{Notice, Notifications};
pub use page::Pages;
pub use progress::ProgressSubscription;
pub use reconnect::{Backoff, ConnectionState, Reconnecting};
pub use request::RequestBuilder;
pub use result::ToolResult;
pub use target::IntoTarget;
