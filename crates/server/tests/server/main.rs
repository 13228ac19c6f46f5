//! Servers as clients see them, in memory: one connection, JSON in and out.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that fails says so")]

mod blocking;
mod dispatch;
mod errors;
mod extract;
mod names;
mod registration;
mod scopes;
mod support;
mod validation;
