//! JSON Schema validation within a budget, safe for schemas from untrusted sources.
//!
//! A [`Schema`] is compiled once and validates any number of values. A [`Budget`] limits the cost of both: a schema of
//! two kilobytes can expand exponentially, so the work is counted before it is done. References are resolved within the
//! schema only, nothing is fetched, and patterns are matched in linear time.
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
