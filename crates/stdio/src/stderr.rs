//! The standard error of a child process: lines for the log, and the last of them for error messages.

use std::{
    collections::VecDeque,
    convert::Infallible,
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::sync::lock;
use tokio::{io::AsyncReadExt, process::ChildStderr, time::Instant};

/// The destination of a child process's standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stderr {
    /// This process reads it line by line: for the log, for [`Command::on_stderr`](crate::Command::on_stderr), and for the
    /// message of the error when the child fails.
    #[default]
    Capture,
    /// The standard error of this process.
    Inherit,
    /// The null device.
    Discard,
}

/// A callback for each line.
pub(crate) type Listener = Arc<dyn Fn(&str) + Send + Sync>;

/// A reader of one child's standard error. It reads as fast as the child writes, so that the child never blocks.
pub(crate) struct Capture {
    pipe: Option<ChildStderr>,
    pub(crate) server: String,
    listener: Option<Listener>,
    pub(crate) tail: Tail,
    buffer: Vec<u8>,
    /// The beginning of a line whose end is not here yet.
    line: Vec<u8>,
    pace: Pace,
    /// The number of reads.
    reads: usize,
}

impl Capture {
    /// The size of a read: as much as a pipe holds.
    const CHUNK: usize = 64 << 10;
    /// A longer line is truncated.
    const LONGEST: usize = 8 << 10;
    /// The number of reads before messages get their turn.
    const TURN: usize = 16;

    pub(crate) fn new(pipe: Option<ChildStderr>, server: String, listener: Option<Listener>, tail: Tail) -> Self {
        let (buffer, line) = (Vec::new(), Vec::new());
        Self { pipe, server, listener, tail, buffer, line, pace: Pace::new(), reads: 0 }
    }

    /// Reads up to the end. It can be dropped and called again.
    pub(crate) async fn listen(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            self.buffer.resize(Self::CHUNK, 0);
            // An error means the same as the end: there is nothing left to read.
            match pipe.read(&mut self.buffer).await {
                Ok(count @ 1..) => self.take(count),
                _ => self.end(),
            }
            self.reads += 1;
            if self.reads.is_multiple_of(Self::TURN) {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Reads for ever.
    pub(crate) async fn keep_listening(&mut self) -> Infallible {
        self.listen().await;
        pending().await
    }

    fn take(&mut self, count: usize) {
        let buffer = std::mem::take(&mut self.buffer);
        let chunk = &buffer[..count];
        self.tail.push(chunk);
        match self.pace.check(Instant::now()) {
            // The lines would not be passed on, so they are only counted.
            Check::Exhausted => {
                self.line.clear();
                self.pace.left_out += chunk.iter().filter(|byte| **byte == b'\n').count();
            }
            check => {
                if let Check::Renewed(left_out @ 1..) = check {
                    self.say(&format!("({left_out} lines were left out)"));
                }
                for part in chunk.split_inclusive(|byte| *byte == b'\n') {
                    self.part(part);
                }
            }
        }
        self.buffer = buffer;
    }

    /// A line, or as much of it as is here.
    fn part(&mut self, part: &[u8]) {
        let room = Self::LONGEST.saturating_sub(self.line.len());
        self.line.extend_from_slice(&part[..part.len().min(room)]);
        if part.ends_with(b"\n") {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if self.pace.next() {
            self.say(String::from_utf8_lossy(&line).trim_end());
        }
        self.line = line;
        self.line.clear();
    }

    fn end(&mut self) {
        self.pipe = None;
        if !self.line.is_empty() {
            self.end_line();
        }
        if self.pace.left_out > 0 {
            self.say(&format!("({} lines were left out)", self.pace.left_out));
        }
    }

    fn say(&self, line: &str) {
        tracing::debug!(server = %self.server, "{line}");
        if let Some(listener) = &self.listener {
            listener(line);
        }
    }
}

/// The rate at which lines are passed on.
struct Pace {
    since: Instant,
    /// The number of lines that are left in this second.
    left: usize,
    left_out: usize,
}

/// Whether lines are passed on at the moment.
#[derive(Debug, PartialEq)]
enum Check {
    Open,
    /// A new second has begun, and this many lines were left out before.
    Renewed(usize),
    Exhausted,
}

impl Pace {
    /// Lines per second.
    const RATE: usize = 1000;

    fn new() -> Self {
        Self { since: Instant::now(), left: Self::RATE, left_out: 0 }
    }

    fn check(&mut self, now: Instant) -> Check {
        if now.duration_since(self.since) >= Duration::from_secs(1) {
            (self.since, self.left) = (now, Self::RATE);
            return Check::Renewed(std::mem::take(&mut self.left_out));
        }
        if self.left > 0 { Check::Open } else { Check::Exhausted }
    }

    /// Whether the next line is passed on.
    fn next(&mut self) -> bool {
        let goes = self.left > 0;
        self.left = self.left.saturating_sub(1);
        self.left_out += usize::from(!goes);
        goes
    }
}

/// The last 64 KiB, for error messages. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<Bytes>>);

#[derive(Default)]
struct Bytes {
    bytes: VecDeque<u8>,
    /// Whether the first line is not whole.
    cut: bool,
}

impl Tail {
    const ROOM: usize = 64 << 10;
    /// The part that an error message quotes.
    const QUOTED_LINES: usize = 5;
    const QUOTED_CHARS: usize = 1000;

    pub(crate) fn clear(&self) {
        *lock(&self.0) = Bytes::default();
    }

    /// Everything that is here, oldest first.
    pub(crate) fn text(&self) -> String {
        let mut kept = lock(&self.0);
        let cut = kept.cut;
        let text = String::from_utf8_lossy(kept.bytes.make_contiguous()).into_owned();
        drop(kept);
        let whole = text.split_once('\n').filter(|_| cut).map_or(&*text, |(_, rest)| rest);
        // Error messages end up on terminals, which must not take orders from the child.
        let shown: String = whole.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
        Vec::from_iter(shown.lines().map(str::trim_end)).join("\n")
    }

    /// The last few lines that say something, on one line.
    pub(crate) fn last_words(&self) -> Option<String> {
        let text = self.text();
        let spoken = text.lines().rev().filter(|line| !line.trim().is_empty());
        let mut last = Vec::from_iter(spoken.take(Self::QUOTED_LINES).map(str::trim));
        last.reverse();
        let words = last.join(" | ");
        let excess = words.chars().count().saturating_sub(Self::QUOTED_CHARS);
        (!words.is_empty()).then(|| words.chars().skip(excess).collect())
    }

    fn push(&self, chunk: &[u8]) {
        let mut kept = lock(&self.0);
        let excess = (kept.bytes.len() + chunk.len()).saturating_sub(Self::ROOM);
        let (old, new) = (excess.min(kept.bytes.len()), chunk.len().saturating_sub(Self::ROOM));
        kept.bytes.drain(..old);
        kept.bytes.extend(&chunk[new..]);
        kept.cut |= excess > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_lines_a_second_are_passed_on_and_the_others_counted() {
        let mut pace = Pace::new();
        let began = pace.since;
        assert_eq!(pace.check(began), Check::Open);
        assert_eq!((0..1500).filter(|_| pace.next()).count(), 1000);
        assert_eq!(pace.check(began + Duration::from_millis(999)), Check::Exhausted);
        assert_eq!(pace.check(began + Duration::from_secs(1)), Check::Renewed(500));
        assert_eq!((0..999).filter(|_| pace.next()).count(), 999);
        // What was said in the last hour does not count now.
        assert_eq!(pace.check(began + Duration::from_secs(3600)), Check::Renewed(0));
        assert_eq!((0..1000).filter(|_| pace.next()).count(), 1000);
    }

    #[test]
    fn the_tail_keeps_the_end_and_no_more_than_its_room() {
        let tail = Tail::default();
        assert_eq!(tail.last_words(), None);
        for n in 0..100_000 {
            tail.push(format!("line {n}\n").as_bytes());
        }
        assert!(tail.text().len() <= Tail::ROOM && tail.text().starts_with("line "));
        assert!(tail.text().ends_with("line 99998\nline 99999"));
        tail.push(b"  \n");
        tail.push(b"\x1b[31mred\n");
        assert_eq!(tail.last_words().unwrap(), "line 99996 | line 99997 | line 99998 | line 99999 | [31mred");
        tail.push("é".repeat(8000).as_bytes());
        assert_eq!(tail.last_words().unwrap().chars().count(), Tail::QUOTED_CHARS);
        tail.push(&[b'x'; 3 * Tail::ROOM]);
        assert_eq!(tail.text(), "x".repeat(Tail::ROOM));
    }
}
