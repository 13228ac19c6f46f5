//! Tasks of the Model Context Protocol: requests that outlive their first response.
//!
//! [`Task`] makes a tool run as a task; its handler does not change: it elicits input, reports progress and is
//! cancelled by being dropped. [`Tasks`] is the extension of a server that runs tasks and persists them in a [`Store`].
//! [`ClientTasks`] is the extension of a client: it waits for tasks, answers their input requests, and can run
//! elicitation and sampling requests of a server as tasks.
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
