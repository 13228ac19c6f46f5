//! Newline-delimited framing with a size limit, in linear time.

use bytes::{Bytes, BytesMut};

use crate::message::oversized::{Oversized, Skimmer};

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line that is not blank.
    Message(Bytes),
    /// A line above the size limit. It was discarded as it arrived.
    TooLong(Oversized),
}

/// Splits a byte stream into lines.
///
/// ```
/// use couplet_core::message::line::{Line, Lines};
///
/// let mut lines = Lines::new(8);
/// lines.buffer().extend_from_slice(b"{}\n\nfar too long a line\n[]\n");
/// assert_eq!(lines.next(), Some(Line::Message("{}".into())));
/// assert!(matches!(lines.next(), Some(Line::TooLong(line)) if line.length == 19));
/// assert_eq!(lines.next(), Some(Line::Message("[]".into())));
/// assert_eq!(lines.next(), None);
/// ```
#[derive(Debug)]
pub struct Lines {
    buffer: BytesMut,
    searched: usize,
    limit: usize,
    /// The state of a line above the limit, until its end.
    skimmer: Option<Box<Skimmer>>,
}

impl Lines {
    /// A line of this size takes its room along, so that the buffer does not stay as large as the largest line.
    const LARGE: usize = 1 << 20;

    /// Creates a splitter for lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, limit, skimmer: None }
    }

    /// Returns the buffer to append input to.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Takes the next complete line.
    #[expect(clippy::should_implement_trait, reason = "more bytes may follow after a `None`")]
    pub fn next(&mut self) -> Option<Line> {
        loop {
            let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                self.skim();
                return None;
            };
            let line = self.buffer.split_to(self.searched + at + 1);
            self.searched = 0;
            if line.len() >= Self::LARGE {
                self.buffer = BytesMut::from(&self.buffer[..]);
            }
            if let Some(mut skimmer) = self.skimmer.take() {
                skimmer.feed(&line[..line.len() - 1]);
                return Some(Line::TooLong(skimmer.finish()));
            }
            if let Some(line) = self.whole(line) {
                return Some(line);
            }
        }
    }

    /// Takes the last line at the end of input.
    pub fn finish(&mut self) -> Option<Line> {
        let rest = self.buffer.split();
        self.searched = 0;
        match self.skimmer.take() {
            Some(mut skimmer) => {
                skimmer.feed(&rest);
                Some(Line::TooLong(skimmer.finish()))
            }
            None => self.whole(rest),
        }
    }

    fn whole(&self, line: BytesMut) -> Option<Line> {
        let line = line.freeze();
        let text = line.trim_ascii();
        match text.len() {
            0 => None,
            length if length > self.limit => Some(Line::TooLong(Oversized::of(text))),
            _ => Some(Line::Message(line.slice_ref(text))),
        }
    }

    /// Skims and discards a line above the limit.
    fn skim(&mut self) {
        match &mut self.skimmer {
            Some(skimmer) => {
                skimmer.feed(&self.buffer);
                self.buffer.clear();
            }
            // Room for the line ending.
            None if self.buffer.len() <= self.limit + 2 => return,
            None => {
                let mut skimmer = Box::<Skimmer>::default();
                skimmer.feed(&self.buffer);
                self.skimmer = Some(skimmer);
                // Its room is given back, too.
                self.buffer = BytesMut::new();
            }
        }
        self.searched = 0;
    }
}

#[cfg(test)]
mod tests {
    use crate::message::line::*;

    #[test]
    fn the_cut_does_not_depend_on_how_the_bytes_come() {
        let input = b"{\"a\":1}\r\n  \n\n[1,2]\n0123456789abcdef\nlast";
        let expected = ["{\"a\":1}", "[1,2]", "too long: 16", "last"];
        for step in 1..=input.len() {
            let mut lines = Lines::new(10);
            let mut seen = Vec::new();
            let mut keep = |line| {
                seen.push(match line {
                    Line::Message(m) => String::from_utf8(m.to_vec()).unwrap(),
                    Line::TooLong(line) => format!("too long: {}", line.length),
                });
            };
            for chunk in input.chunks(step) {
                lines.buffer().extend_from_slice(chunk);
                while let Some(line) = lines.next() {
                    keep(line);
                }
            }
            lines.finish().into_iter().for_each(&mut keep);
            assert_eq!(seen, expected, "in steps of {step}");
        }
    }

    #[test]
    fn a_large_line_takes_its_room_along() {
        let mut lines = Lines::new(8 << 20);
        lines.buffer().extend_from_slice(&[b'x'; 4 << 20]);
        assert_eq!(lines.next(), None);
        lines.buffer().extend_from_slice(b"\n[1]\n[2]\n");
        assert!(matches!(lines.next(), Some(Line::Message(line)) if line.len() == 4 << 20));
        assert_eq!(lines.next(), Some(Line::Message("[1]".into())));
        lines.buffer().reserve(64 << 10);
        assert!(lines.buffer().capacity() <= 256 << 10, "{}", lines.buffer().capacity());
        assert_eq!(lines.next(), Some(Line::Message("[2]".into())));
    }

    #[test]
    fn an_endless_line_holds_no_memory() {
        let mut lines = Lines::new(100);
        for _ in 0..1000 {
            lines.buffer().extend_from_slice(&[b'x'; 1000]);
            assert_eq!(lines.next(), None);
            assert!(lines.buffer().len() <= 1000 && lines.buffer().capacity() <= 8000);
        }
        lines.buffer().extend_from_slice(b"\n");
        assert!(matches!(lines.next(), Some(Line::TooLong(line)) if line.length == 1_000_000));
    }
}
