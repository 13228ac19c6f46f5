//! The SQLite explorer: its tools in every revision, hostile statements, changes, and both transports.

mod changes;
mod files;
mod hostile;
mod kit;
#[cfg(unix)]
#[path = "../../../../crates/testing/tests/common/replicas.rs"]
mod replicas;
#[cfg(unix)]
#[path = "../../../../crates/testing/tests/common/skipped.rs"]
mod skipped;
mod tools;
mod transports;
