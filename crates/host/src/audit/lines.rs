//! The audit log as lines of JSON in a file.

use std::path::Path;

use couplet_core::BoxFuture;

use super::{AuditError, AuditSink, Record};

/// The treatment of arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arguments {
    /// Names and types, and a keyed digest.
    #[default]
    Shape,
    /// The same, and values without those whose names or forms look like secrets.
    Redacted,
}

/// The treatment of a record when the queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Calls wait, and fail if the log cannot be written.
    #[default]
    Block,
    /// The record is dropped. The next line that is written has the number of dropped records.
    Drop,
}

/// The settings of [`JsonLines`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuditOptions {
    /// The treatment of arguments.
    pub arguments: Arguments,
    /// The treatment of a record when the queue is full.
    pub when_full: WhenFull,
    /// The number of records in the queue.
    pub queue: usize,
    /// The size in bytes at which a new file begins.
    pub rotate: u64,
    /// The number of old files.
    pub files: usize,
    /// The key of argument digests and of the signed head; a random one if absent, so that digests of two runs differ.
    pub key: Option<[u8; 32]>,
    /// The name of this replica.
    pub replica: Option<String>,
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self {
            arguments: Arguments::Shape,
            when_full: WhenFull::Block,
            queue: 4096,
            rotate: 64 << 20,
            files: 8,
            key: None,
            replica: None,
        }
    }
}

/// An audit log in a file, one JSON object per line.
#[derive(Debug)]
pub struct JsonLines;

impl JsonLines {
    /// Opens a file, or creates it, and starts the thread that writes it.
    ///
    /// # Errors
    /// If the file cannot be opened, or if its last line is not a record.
    pub fn open(path: impl AsRef<Path>, options: AuditOptions) -> Result<Self, AuditError> {
        let _ = (path, options);
        todo!()
    }

    /// Returns the number of records that were dropped.
    pub fn dropped(&self) -> u64 {
        todo!()
    }

    /// Writes everything that is in the queue to the file, and waits for it.
    pub async fn flush(&self) {
        todo!()
    }
}

impl AuditSink for JsonLines {
    fn try_write(&self, record: Box<Record>) -> Result<(), Box<Record>> {
        Err(record)
    }

    fn write(&self, _record: Box<Record>) -> BoxFuture<'_, Result<(), AuditError>> {
        todo!()
    }
}
