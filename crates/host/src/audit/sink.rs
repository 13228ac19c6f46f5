//! Destinations of audit records.

use std::{fmt, sync::Mutex};

use couplet_core::{BoxFuture, sync::lock};

use super::Record;

/// A destination of audit records.
pub trait AuditSink: Send + Sync + 'static {
    /// Takes a record without waiting. A sink that is full returns it, for [`write`](Self::write) to wait.
    ///
    /// # Errors
    /// Returns the record if the sink is full and the caller should wait.
    fn try_write(&self, record: Box<Record>) -> Result<(), Box<Record>>;

    /// Waits until the sink takes a record. Dropping the future loses the record.
    ///
    /// # Errors
    /// If the sink has failed. A host that must not act without a record then refuses the call.
    fn write(&self, record: Box<Record>) -> BoxFuture<'_, Result<(), AuditError>>;
}

/// Writes a record; it waits only if the sink is full.
///
/// # Errors
/// If the sink has failed.
pub async fn write(sink: &dyn AuditSink, record: Record) -> Result<(), AuditError> {
    match sink.try_write(Box::new(record)) {
        Ok(()) => Ok(()),
        Err(record) => sink.write(record).await,
    }
}

/// A sink in memory, for tests and small programs. It holds at most 10,000 records and then drops new ones.
#[derive(Debug, Default)]
pub struct MemoryAudit(Mutex<Vec<Record>>);

impl MemoryAudit {
    const MOST: usize = 10_000;

    /// Removes and returns the records.
    pub fn take(&self) -> Vec<Record> {
        std::mem::take(&mut lock(&self.0))
    }
}

impl AuditSink for MemoryAudit {
    fn try_write(&self, record: Box<Record>) -> Result<(), Box<Record>> {
        let mut records = lock(&self.0);
        if records.len() < Self::MOST {
            records.push(*record);
        }
        Ok(())
    }

    fn write(&self, record: Box<Record>) -> BoxFuture<'_, Result<(), AuditError>> {
        let _ = self.try_write(record);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// An audit log that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditError(String);

impl AuditError {
    /// Creates an error.
    pub fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string())
    }
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the audit log: {}", self.0)
    }
}

impl std::error::Error for AuditError {}
