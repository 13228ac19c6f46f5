//! Middleware for clients, to be added with [`ClientBuilder::middleware`](couplet_client::ClientBuilder::middleware).
//!
//! | question | type |
//! |---|---|
//! | which messages are exchanged? | [`ClientLog`] |
//! | how long do requests take? | [`ClientTiming`] |
//! | is a failed read repeated? | [`ClientRetry`] |
//!
//! A useful order, from the outside to the inside: [`ClientLog`] sees each request of the program once, [`ClientTiming`]
//! measures it with its repetitions, and [`ClientRetry`] is next to the server.
//!
//! ```
//! use couplet_client::Client;
//! use couplet_middleware::client::{ClientLog, ClientRetry, ClientTiming};
//! use couplet_server::{Server, tool};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), couplet_core::Error> {
//! let timing = ClientTiming::new();
//! let client = Client::new("demo", "1.0.0")
//!     .middleware(ClientLog::tracing())
//!     .middleware(timing.clone())
//!     .middleware(ClientRetry::new(3))
//!     .connect(Server::new("app", "1.0.0").tool(tool("ping", || "pong")).build())
//!     .await?;
//! assert_eq!(client.call("ping", ()).await?.text(), "pong");
//! let times = timing.times();
//! assert_eq!((times[0].name.as_str(), times[0].count), ("ping", 1));
//! # Ok(())
//! # }
//! ```

mod log;
mod retry;
mod timing;

pub use log::{ClientLog, ClientMessage, ClientRecord};
pub use retry::ClientRetry;
pub use timing::ClientTiming;
