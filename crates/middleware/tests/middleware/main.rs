//! Each middleware in every revision, with a test that fails without it.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that fails says so")]

mod calls;
mod kit;
mod limits;
mod reads;
mod visible;
