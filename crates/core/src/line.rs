//! One message per line: framing with a limit, in time that grows with the input and no faster.

use bytes::{Bytes, BytesMut};

/// What stands between two line feeds.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line that is not blank.
    Message(Bytes),
    /// A line above the limit. It is thrown away up to its end.
    TooLong,
}

/// Cuts a byte stream into lines.
///
/// ```
/// use couplet_core::line::{Line, Lines};
///
/// let mut lines = Lines::new(8);
/// lines.buffer().extend_from_slice(b"{}\n\nfar too long a line\n[]\n");
/// assert_eq!(lines.next(), Some(Line::Message("{}".into())));
/// assert_eq!(lines.next(), Some(Line::TooLong));
/// assert_eq!(lines.next(), Some(Line::Message("[]".into())));
/// assert_eq!(lines.next(), None);
/// ```
#[derive(Debug)]
pub struct Lines {
    buffer: BytesMut,
    searched: usize,
    limit: usize,
    skipping: bool,
}

impl Lines {
    /// Lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, limit, skipping: false }
    }

    /// Where to put bytes, at the end.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The next line, if it is there as a whole.
    #[expect(clippy::should_implement_trait, reason = "more bytes may follow after a `None`")]
    pub fn next(&mut self) -> Option<Line> {
        loop {
            let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                return self.too_long_already();
            };
            let line = self.buffer.split_to(self.searched + at + 1);
            self.searched = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if let Some(line) = self.whole(line) {
                return Some(line);
            }
        }
    }

    /// The last line, when no more bytes will come.
    pub fn finish(&mut self) -> Option<Line> {
        let rest = self.buffer.split();
        self.searched = 0;
        if std::mem::take(&mut self.skipping) { None } else { self.whole(rest) }
    }

    fn whole(&self, line: BytesMut) -> Option<Line> {
        let line = line.freeze();
        let text = line.trim_ascii();
        match text.len() {
            0 => None,
            length if length > self.limit => Some(Line::TooLong),
            _ => Some(Line::Message(line.slice_ref(text))),
        }
    }

    /// Reports a line as soon as it is above the limit, and forgets it as it comes in.
    fn too_long_already(&mut self) -> Option<Line> {
        // Room for the line ending.
        if self.buffer.len() <= self.limit + 2 {
            return None;
        }
        self.buffer.clear();
        self.searched = 0;
        (!std::mem::replace(&mut self.skipping, true)).then_some(Line::TooLong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cut_does_not_depend_on_how_the_bytes_come() {
        let input = b"{\"a\":1}\r\n  \n\n[1,2]\n0123456789abcdef\nlast";
        let expected = ["{\"a\":1}", "[1,2]", "too long", "last"];
        for step in 1..=input.len() {
            let mut lines = Lines::new(10);
            let mut seen = Vec::new();
            let mut keep = |line| {
                seen.push(match line {
                    Line::Message(m) => String::from_utf8(m.to_vec()).unwrap(),
                    Line::TooLong => "too long".to_owned(),
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
    fn an_endless_line_holds_no_memory() {
        let mut lines = Lines::new(100);
        for _ in 0..1000 {
            lines.buffer().extend_from_slice(&[b'x'; 1000]);
            lines.next();
            assert!(lines.buffer().len() <= 1000);
        }
    }
}
