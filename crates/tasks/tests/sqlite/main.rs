//! Tasks in a file: they outlive the process, also one that is killed.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test reports by panicking, and its child by printing")]

mod failing;
mod killed;
#[path = "../../../http/tests/client/log.rs"]
mod log;
mod restarted;
mod store;
