//! Tasks of the Model Context Protocol: requests that outlive their first response.
//!
//! [`Task`] makes a tool run as a task; its handler does not change: it elicits input, reports progress and is
//! cancelled by being dropped. [`Tasks`] is the extension of a server that runs tasks and persists them in a [`Store`].
//! [`ClientTasks`] is the extension of a client: it waits for tasks, answers their input requests, and can run
//! elicitation and sampling requests of a server as tasks.
//!
//! # Several replicas
//!
//! Replicas of a server that share a [`Store`] need no stickiness for tasks: every replica answers requests about every
//! task. The replica that received the call runs the work, and renews a [lease](Tasks::lease) for it. Answers to its
//! input requests and cancellations reach it through the store. When the lease has expired, the next replica that is
//! asked for the task reports it as failed, or runs it again if its tool is [repeatable](Task::repeatable); a replica
//! that was only cut off cannot write any more. A replica that is shut down gracefully releases repeatable tasks at once,
//! and waits for the others. A client that lost the response to a call finds the task again with an
//! [idempotency key](TaskCall::idempotency_key).
//!
//! Notifications of status changes reach the subscribers of the replica that makes the change, and those of others if the
//! server has a change bus. Clients poll in any case.
//!
//! ```
//! # #[cfg(all(feature = "server", feature = "client"))]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), couplet_core::Error> {
//! use std::sync::Arc;
//! use couplet_client::Client;
//! use couplet_server::{Server, tool};
//! use couplet_tasks::{CallTask, Called, ClientTasks, Memory, Task, TaskTool, Tasks};
//!
//! let store = Arc::new(Memory::new().shared());
//! let replica = || {
//!     let build = tool("build", || "built").task(Task::optional());
//!     Server::new("ci", "1.0.0").extension(Tasks::new(store.clone())).tool(build).build()
//! };
//! let connect = |replica| Client::new("demo", "1.0.0").extension(ClientTasks::new()).connect(replica);
//! let (one, other) = (connect(replica()).await?, connect(replica()).await?);
//! if let Called::Task(task) = one.call_task("build", ()).await? {
//!     assert_eq!(other.task(task.id()).wait().await?.text(), "built");
//! }
//! # Ok(())
//! # }
//! # #[cfg(not(all(feature = "server", feature = "client")))]
//! # fn main() {}
//! ```
//!
//! # Wire formats
//!
//! There are two wire formats, the tasks of 2025-11-25 and the extension of 2026-07-28, and one model ([`Record`]).
//! This crate uses only the public extension registries of `couplet-server` and `couplet-client`, as a third-party
//! extension would.
//!
//! What this crate must not know: transports, and which revision has which wire format (it asks `Shape`).

// Implementations of `Store` need neither side.
#![cfg_attr(not(any(feature = "server", feature = "client")), allow(dead_code, unreachable_pub))]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod bounded;
#[cfg(feature = "client")]
mod client;
mod clock;
mod engine;
#[cfg(feature = "server")]
mod inputs;
#[cfg(feature = "server")]
mod journal;
mod memory;
mod record;
mod requests;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod wire;

/// Seals the extension traits: methods can be added to them without a breaking change.
///
/// ```compile_fail
/// struct Mine;
///
/// impl couplet_tasks::TaskTool for Mine {
///     fn task(self, _: couplet_tasks::Task) -> Self {
///         self
///     }
/// }
/// ```
mod sealed {
    pub trait Sealed {}
}

#[cfg(feature = "client")]
pub use client::{CallTask, Called, ClientTasks, TaskCall, TaskHandle, TaskState, TaskUpdates};
pub use memory::Memory;
pub use record::{Answer, Change, Entry, Finished, Record, RequestKey, Response, Runner};
#[cfg(feature = "server")]
pub use server::{Task, TaskTool, Tasks};
#[cfg(feature = "sqlite")]
pub use sqlite::Sqlite;
pub use store::{Store, StoreError};
