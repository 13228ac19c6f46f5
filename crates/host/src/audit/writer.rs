//! The thread that writes an audit log.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering, fence},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use blake3::Hash;
use couplet_core::clock::unix_millis;
use tokio::sync::{
    mpsc::{Receiver, error::TryRecvError},
    oneshot, watch,
};

use super::{
    Record,
    chain::{Head, hash},
    encode::{Event, Format},
    file::LogFile,
};

/// The interval of heads.
const HEADS: Duration = Duration::from_secs(1);
/// The pause after a failure.
const PAUSE: Duration = Duration::from_millis(200);
/// The time for which records are collected, so that a busy log is written a few hundred times in a second and not with each
/// record.
const COLLECT: Duration = Duration::from_millis(5);
/// The size at which lines are written although more records wait.
const BATCH: usize = 256 << 10;

/// A message to the thread.
pub(super) enum Command {
    Record(Box<Record>),
    Flush(oneshot::Sender<()>),
}

/// The state that the thread shares with its callers.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) dropped: AtomicU64,
    /// The error of the last attempt to write, until one succeeds.
    pub(super) failure: watch::Sender<Option<String>>,
    /// Whether the thread waits to be unparked.
    is_idle: AtomicBool,
    /// Whether nothing comes any more.
    is_ended: AtomicBool,
}

impl Shared {
    /// Wakes the thread if it has nothing to do. One that collects records, or writes, looks at the queue by itself: so the
    /// path of a call rarely wakes it.
    pub(super) fn wake(&self, thread: &Thread) {
        // Between the message in the queue and the look at the flag, as in `wait` between the flag and the queue.
        fence(Ordering::SeqCst);
        if self.is_idle.load(Ordering::Relaxed) && self.is_idle.swap(false, Ordering::Relaxed) {
            thread.unpark();
        }
    }

    /// Lets the thread end once the queue is empty.
    pub(super) fn end(&self, thread: &Thread) {
        self.is_ended.store(true, Ordering::Release);
        thread.unpark();
    }
}

pub(super) struct Writer {
    pub(super) file: LogFile,
    pub(super) format: Format,
    /// The key of heads, if there is one.
    pub(super) key: Option<[u8; 32]>,
    pub(super) rotate: u64,
    pub(super) files: usize,
    pub(super) shared: Arc<Shared>,
    /// Complete lines that are not in the file yet.
    pub(super) lines: Vec<u8>,
    /// The number of dropped records that the log has.
    pub(super) reported: u64,
    /// The time of the last head, and its number.
    pub(super) headed: Option<(Instant, u64)>,
}

impl Writer {
    /// Writes until every sender is gone.
    pub(super) fn run(mut self, mut queue: Receiver<Command>) {
        let mut waiting: Vec<oneshot::Sender<()>> = Vec::new();
        while let Some(command) = self.next(&mut queue) {
            self.take(command, &mut waiting);
            if waiting.is_empty() && queue.len() < queue.max_capacity() / 2 {
                // A flush and a full queue end the pause.
                thread::park_timeout(COLLECT);
            }
            while self.lines.len() < BATCH {
                let Ok(command) = queue.try_recv() else { break };
                self.take(command, &mut waiting);
            }
            self.store(&queue, !waiting.is_empty());
            for done in waiting.drain(..) {
                let _ = done.send(());
            }
        }
        if self.lines.is_empty() {
            self.head();
        }
    }

    /// The next command. While there is none, the head is stored in time.
    fn next(&mut self, queue: &mut Receiver<Command>) -> Option<Command> {
        let began = Instant::now();
        loop {
            let is_ended = self.shared.is_ended.load(Ordering::Acquire);
            match queue.try_recv() {
                Ok(command) => return Some(command),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) if is_ended => return None,
                Err(TryRecvError::Empty) => {}
            }
            let left = HEADS.saturating_sub(began.elapsed());
            if left.is_zero() {
                self.head();
            }
            self.wait(queue, (!self.is_headed()).then_some(left));
        }
    }

    /// Waits until there may be a command, or for a time.
    fn wait(&self, queue: &Receiver<Command>, time: Option<Duration>) {
        self.shared.is_idle.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if queue.is_empty() && !self.shared.is_ended.load(Ordering::Acquire) {
            time.map_or_else(thread::park, thread::park_timeout);
        }
        self.shared.is_idle.store(false, Ordering::Relaxed);
    }

    fn take(&mut self, command: Command, waiting: &mut Vec<oneshot::Sender<()>>) {
        match command {
            Command::Record(record) => {
                self.report_dropped();
                self.line(|format, out, seq, prev| format.record(out, seq, prev, &record));
            }
            Command::Flush(done) => {
                self.report_dropped();
                waiting.push(done);
            }
        }
    }

    fn report_dropped(&mut self) {
        let dropped = self.shared.dropped.load(Ordering::Relaxed);
        if dropped > self.reported {
            let count = dropped - std::mem::replace(&mut self.reported, dropped);
            self.event(&Event::Dropped { count });
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        let millis = unix_millis();
        self.line(|format, out, seq, prev| format.event(out, seq, prev, millis, event));
    }

    fn line(&mut self, write: impl FnOnce(&mut Format, &mut Vec<u8>, u64, Hash)) {
        let start = self.lines.len();
        let seq = self.file.seq + 1;
        write(&mut self.format, &mut self.lines, seq, self.file.prev);
        (self.file.seq, self.file.prev) = (seq, hash(&self.lines[start..]));
        self.lines.push(b'\n');
    }

    /// Stores all lines, however often it takes. Meanwhile the queue fills, and callers see the failure.
    fn store(&mut self, queue: &Receiver<Command>, is_flush: bool) {
        while let Err(error) = self.try_store() {
            let first = self.shared.failure.send_replace(Some(error.to_string())).is_none();
            if first {
                tracing::error!("the audit log cannot be written: {error}");
            }
            if queue.is_closed() {
                return;
            }
            thread::sleep(PAUSE);
        }
        self.shared.failure.send_if_modified(|failure| failure.take().is_some());
        let is_due = self.headed.is_none_or(|(last, _)| last.elapsed() >= HEADS);
        if is_due || is_flush {
            self.head();
        }
    }

    fn try_store(&mut self) -> std::io::Result<()> {
        self.file.append(&self.lines)?;
        self.lines.clear();
        if self.file.size >= self.rotate {
            self.file.rotate(self.files)?;
        }
        Ok(())
    }

    fn is_headed(&self) -> bool {
        self.headed.is_some_and(|(_, seq)| seq == self.file.seq)
    }

    /// Stores the head, unless it is there already: after a flush the thread of a dropped log writes nothing.
    fn head(&mut self) {
        if self.is_headed() {
            return;
        }
        let head = Head::new(self.file.seq, self.file.prev, self.key.as_ref());
        if let Err(error) = self.file.write_head(&head) {
            tracing::warn!("the head of the audit log cannot be written: {error}");
        }
        self.headed = Some((Instant::now(), self.file.seq));
    }
}
