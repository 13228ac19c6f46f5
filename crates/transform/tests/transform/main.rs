//! Transforms of servers, in memory and in every revision.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that fails says so")]

mod added;
mod agree;
mod kit;
mod search;
mod tasks;
mod tools;
