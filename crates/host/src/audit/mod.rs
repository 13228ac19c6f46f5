//! The audit log: one record per decision and call.
//!
//! The path of a call only hands a [`Record`] to an [`AuditSink`]. [`JsonLines`] formats, hashes and writes records in a
//! thread of its own. A record has the names and types of arguments and a keyed digest, and no values unless that is chosen.
//! Each line has the hash of the line before it, so that [`verify`] finds lines that were changed, removed or added.
//!
//! This module must not know policies' rules or the protocol's messages beyond their outcome.

mod chain;
mod encode;
mod file;
mod line;
mod lines;
mod record;
mod redact;
mod shape;
mod sink;
mod target;
#[cfg(test)]
mod tests;
mod verify;
mod walk;
mod writer;

pub use chain::Head;
pub use lines::{Arguments, AuditOptions, JsonLines, WhenFull};
pub use record::{Outcome, Record};
pub use sink::{AuditError, AuditSink, MemoryAudit, write};
pub use verify::{Broken, Verified, verify, verify_file};
