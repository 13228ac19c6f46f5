//! JSON Schema, with a budget: values are checked against schemas that may come from anybody.
//!
//! A [`Schema`] is compiled once. What it may cost, to compile and to check a value against, is limited by a
//! [`Budget`]: a schema of two kilobytes can expand into more work than there is time, so the work is counted before it
//! is done. References lead nowhere but into the schema itself; patterns are matched in linear time.
//!
//! This crate knows JSON. It must not know servers, clients, transports or the protocol.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod budget;
mod cache;
mod graph;
mod meter;
mod mismatch;
mod schema;

pub use budget::Budget;
pub use cache::Cache;
pub use mismatch::Mismatch;
pub use schema::{Schema, SchemaError};
