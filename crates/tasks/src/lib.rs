//! Tasks of the Model Context Protocol: calls that go on after their first answer.
//!
//! A tool becomes a task with one word ([`Task`]); its function stays what it was: it asks, reports progress and is
//! cancelled by being dropped. [`Tasks`] is the extension of a server that runs them, over a [`Store`]; [`ClientTasks`]
//! is the client's, which waits for tasks, answers what they ask, and can run the server's questions as tasks.
//!
//! There are two wires, the tasks of 2025-11-25 and the extension of 2026-07-28, and one model ([`Record`]). This crate
//! is written on the registries of `couplet-server` and `couplet-client` alone, as anybody's extension could be.
//!
//! What this crate must not know: transports, and which revision has which wire (a `Shape` is asked).

#![cfg_attr(docsrs, feature(doc_cfg))]

mod bounded;
#[cfg(feature = "client")]
mod client;
mod clock;
mod engine;
mod finish;
mod live;
mod memory;
mod record;
mod requests;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod wire;

#[cfg(feature = "client")]
pub use client::{CallTask, Called, ClientTasks, TaskCall, TaskHandle, TaskState, TaskUpdates};
pub use memory::Memory;
pub use record::{Change, Finished, Record};
#[cfg(feature = "server")]
pub use server::{Task, TaskTool, Tasks};
#[cfg(feature = "sqlite")]
pub use sqlite::Sqlite;
pub use store::{Store, StoreError};
