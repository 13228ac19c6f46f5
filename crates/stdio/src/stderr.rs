//! What a child process writes to its standard error: lines for the log, and the last of them for error messages.

use std::{
    collections::VecDeque,
    convert::Infallible,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::BytesMut;
use tokio::{io::AsyncReadExt, process::ChildStderr};

/// What happens to the standard error of a child process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stderr {
    /// It is read line by line: for the log, for [`Command::on_stderr`](crate::Command::on_stderr), and for the
    /// message of the error when the child fails.
    #[default]
    Capture,
    /// It is the standard error of this process.
    Inherit,
    /// It is thrown away.
    Discard,
}

/// Whoever wants to hear of each line.
pub(crate) type Listener = Arc<dyn Fn(&str) + Send + Sync>;

/// Reads the standard error of one child.
pub(crate) struct Capture {
    pub(crate) pipe: Option<ChildStderr>,
    pub(crate) server: String,
    pub(crate) listener: Option<Listener>,
    pub(crate) tail: Tail,
    pub(crate) buffer: BytesMut,
}

impl Capture {
    /// A longer line is cut.
    const LONGEST: usize = 8 << 10;

    /// Reads up to the end. It can be dropped and called again.
    pub(crate) async fn listen(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            // An error says no more than the end does: there is nothing left to hear.
            if !matches!(pipe.read_buf(&mut self.buffer).await, Ok(1..)) {
                self.pipe = None;
            }
            self.cut();
        }
    }

    /// Reads for ever.
    pub(crate) async fn keep_listening(&mut self) -> Infallible {
        self.listen().await;
        pending().await
    }

    fn cut(&mut self) {
        loop {
            let line = match self.buffer.iter().position(|b| *b == b'\n') {
                Some(at) => self.buffer.split_to(at + 1),
                None if self.buffer.len() >= Self::LONGEST || self.pipe.is_none() => self.buffer.split(),
                None => return,
            };
            if line.is_empty() {
                return;
            }
            self.line(String::from_utf8_lossy(&line).trim_end());
        }
    }

    fn line(&self, line: &str) {
        tracing::debug!(server = %self.server, "{line}");
        self.tail.push(line);
        if let Some(listener) = &self.listener {
            listener(line);
        }
    }
}

/// The last lines, at most 64 KiB of them. Clones are the same lines.
#[derive(Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    lines: VecDeque<String>,
    size: usize,
}

impl Tail {
    const ROOM: usize = 64 << 10;
    /// How much of it an error message quotes.
    const QUOTED_LINES: usize = 5;
    const QUOTED_CHARS: usize = 1000;

    pub(crate) fn clear(&self) {
        *self.lock() = Lines::default();
    }

    /// Everything that is kept, oldest first.
    pub(crate) fn text(&self) -> String {
        Vec::from_iter(self.lock().lines.iter().map(String::as_str)).join("\n")
    }

    /// The last few lines that say something, on one line.
    pub(crate) fn last_words(&self) -> Option<String> {
        let kept = self.lock();
        let spoken = kept.lines.iter().rev().filter(|line| !line.trim().is_empty());
        let mut last = Vec::from_iter(spoken.take(Self::QUOTED_LINES).map(|line| line.trim()));
        last.reverse();
        let words = last.join(" | ");
        let excess = words.chars().count().saturating_sub(Self::QUOTED_CHARS);
        (!words.is_empty()).then(|| words.chars().skip(excess).collect())
    }

    fn push(&self, line: &str) {
        // Error messages end up on terminals, which must not take orders from the child.
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let mut kept = self.lock();
        kept.size += line.len() + 1;
        kept.lines.push_back(line);
        while kept.size > Self::ROOM {
            let Some(oldest) = kept.lines.pop_front() else { return };
            kept.size -= oldest.len() + 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_keeps_the_end_and_no_more_than_its_room() {
        let tail = Tail::default();
        assert_eq!(tail.last_words(), None);
        for n in 0..100_000 {
            tail.push(&format!("line {n}"));
        }
        assert!(tail.text().len() <= Tail::ROOM);
        assert!(tail.text().ends_with("line 99998\nline 99999"));
        tail.push("  ");
        tail.push("\u{1b}[31mred");
        assert_eq!(tail.last_words().unwrap(), "line 99996 | line 99997 | line 99998 | line 99999 | [31mred");
        tail.push(&"é".repeat(8000));
        assert_eq!(tail.last_words().unwrap().chars().count(), Tail::QUOTED_CHARS);
    }
}
