//! The audit log as lines of JSON in a file.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
    thread::{self, Thread},
};

use couplet_core::BoxFuture;
use tokio::sync::{
    mpsc::{self, Sender, error::TrySendError},
    oneshot,
};

use super::{
    AuditError, AuditSink, Record,
    chain::arguments_key,
    encode::{Event, Format},
    file::LogFile,
    target::Targets,
    writer::{Command, Shared, Writer},
};

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
    /// Calls wait, and fail while the log cannot be written.
    #[default]
    Block,
    /// The record is dropped. The next line that is written has the number of dropped records.
    Drop,
}

/// The settings of [`JsonLines`].
#[derive(Clone)]
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
    /// The key of argument digests and of the signed head. Without one, digests have a random key, so that those of two runs
    /// differ, and the head is not signed.
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

impl std::fmt::Debug for AuditOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditOptions")
            .field("arguments", &self.arguments)
            .field("when_full", &self.when_full)
            .field("queue", &self.queue)
            .field("rotate", &self.rotate)
            .field("files", &self.files)
            .field("replica", &self.replica)
            .finish_non_exhaustive()
    }
}

/// An audit log in a file, one JSON object per line, that one process writes.
///
/// ```
/// use couplet_host::{
///     audit::{AuditOptions, JsonLines, Record, verify_file, write},
///     names::{Kind, ServerId},
///     policy::{Decision, Door},
/// };
///
/// # let folder = std::env::temp_dir().join(format!("couplet-audit-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("audit.jsonl");
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let log = JsonLines::open(&path, AuditOptions::default())?;
/// let record = Record::new(ServerId::from_key("files"), Kind::Tool, "read", Door::Call, Decision::Allow);
/// write(&log, record).await?;
/// log.flush().await?;
/// assert_eq!(verify_file(&path, None)?.lines, 2);
/// # Ok::<_, couplet_host::audit::AuditError>(())
/// # })?;
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// Old files have the endings `.1`, `.2` and so on, and the [`Head`](super::Head) has the ending `.head`. Records are written
/// within a few milliseconds. Those that are still in the queue when the process exits are lost: call [`flush`](Self::flush) before, and before the file is opened again.
#[derive(Debug)]
pub struct JsonLines {
    queue: Sender<Command>,
    when_full: WhenFull,
    shared: Arc<Shared>,
    /// The writing thread, which collects records for a while unless it is unparked.
    writer: Thread,
}

impl JsonLines {
    /// Opens a file, or creates it, and starts the thread that writes it. The chain of an existing file is continued.
    ///
    /// This reads the end of the file and blocks meanwhile.
    ///
    /// # Errors
    /// If the file cannot be opened, or if its last line is not a record.
    pub fn open(path: impl AsRef<Path>, options: AuditOptions) -> Result<Self, AuditError> {
        let (file, torn) = LogFile::open(path.as_ref()).map_err(AuditError::new)?;
        let key = match options.key {
            Some(key) => key,
            None => random().map_err(AuditError::new)?,
        };
        let shared = Arc::new(Shared::default());
        let mut writer = Writer {
            file,
            format: Format {
                arguments: options.arguments,
                key: arguments_key(&key),
                replica: options.replica,
                canonical: Vec::new(),
                targets: Targets::default(),
            },
            key: options.key,
            rotate: options.rotate,
            files: options.files,
            shared: shared.clone(),
            lines: Vec::new(),
            reported: 0,
            headed: None,
        };
        writer.event(&Event::Open { torn });
        let (queue, receiver) = mpsc::channel(options.queue.max(1));
        let thread = thread::Builder::new().name("couplet-audit".to_owned());
        let handle = thread.spawn(move || writer.run(receiver)).map_err(AuditError::new)?;
        Ok(Self { queue, when_full: options.when_full, shared, writer: handle.thread().clone() })
    }

    /// Returns the number of records that were dropped.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Waits until every record that was written before is in the file.
    ///
    /// # Errors
    /// If the writing thread has ended.
    pub async fn flush(&self) -> Result<(), AuditError> {
        let (done, flushed) = oneshot::channel();
        let sent = self.queue.send(Command::Flush(done)).await;
        sent.map_err(|_| ended())?;
        self.writer.unpark();
        flushed.await.map_err(|_| ended())
    }

    fn failure(&self) -> Option<AuditError> {
        self.shared.failure.borrow().as_ref().map(AuditError::new)
    }
}

impl AuditSink for JsonLines {
    fn try_write(&self, record: Box<Record>) -> Result<(), Box<Record>> {
        if self.when_full == WhenFull::Block && self.failure().is_some() {
            return Err(record);
        }
        match (self.queue.try_send(Command::Record(record)), self.when_full) {
            (Ok(()), _) => {
                self.shared.wake(&self.writer);
                Ok(())
            }
            (Err(TrySendError::Full(command) | TrySendError::Closed(command)), WhenFull::Block) => match command {
                Command::Record(record) => Err(record),
                Command::Flush(_) => Ok(()),
            },
            (Err(_), WhenFull::Drop) => {
                self.writer.unpark();
                self.shared.dropped.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    fn write(&self, record: Box<Record>) -> BoxFuture<'_, Result<(), AuditError>> {
        self.writer.unpark();
        Box::pin(async move {
            let mut failure = self.shared.failure.subscribe();
            tokio::select! {
                biased;
                // A call that waits for room fails as soon as the log does.
                failed = failure.wait_for(Option::is_some) => {
                    Err(failed.ok().and_then(|failed| failed.as_ref().map(AuditError::new)).unwrap_or_else(ended))
                }
                sent = self.queue.send(Command::Record(record)) => {
                    self.shared.wake(&self.writer);
                    sent.map_err(|_| ended())
                }
            }
        })
    }
}

impl Drop for JsonLines {
    fn drop(&mut self) {
        self.shared.end(&self.writer);
    }
}

fn ended() -> AuditError {
    AuditError::new("the writing thread has ended")
}

fn random() -> Result<[u8; 32], getrandom::Error> {
    let mut key = [0; 32];
    getrandom::fill(&mut key)?;
    Ok(key)
}
