//! Newline-delimited framing with a size limit, in linear time.

use bytes::{Buf, Bytes, BytesMut};

use crate::message::{
    buffers,
    oversized::{Oversized, Skimmer},
};

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
    const LARGE: usize = 64 << 10;

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
            let end = self.searched + at + 1;
            self.searched = 0;
            if let Some(mut skimmer) = self.skimmer.take() {
                skimmer.feed(&self.buffer[..end - 1]);
                self.buffer.advance(end);
                return Some(Line::TooLong(skimmer.finish()));
            }
            let line = self.cut(end);
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
            None => self.whole(buffers::freeze(rest)),
        }
    }

    /// Takes a line out of the buffer.
    fn cut(&mut self, end: usize) -> Bytes {
        if end < Self::LARGE {
            return self.buffer.split_to(end).freeze();
        }
        // A large line has a buffer of its own, which is reused after it: the smaller part is copied, but the line does not
        // keep a buffer that is far too large for it.
        let rest = self.buffer.len() - end;
        if rest <= end && self.buffer.capacity() <= buffers::SPACIOUS * end {
            let rest = BytesMut::from(&self.buffer[end..]);
            let mut line = std::mem::replace(&mut self.buffer, rest);
            line.truncate(end);
            return buffers::freeze(line);
        }
        let mut line = buffers::with_room(end);
        line.extend_from_slice(&self.buffer[..end]);
        self.buffer.advance(end);
        if self.buffer.is_empty() {
            drop(buffers::freeze(std::mem::take(&mut self.buffer)));
        }
        buffers::freeze(line)
    }

    fn whole(&self, line: Bytes) -> Option<Line> {
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
    fn a_large_line_is_copied_only_out_of_a_buffer_that_is_far_too_large() {
        for (line, rest, room, is_copied) in [
            (1 << 20, 0, 2 << 20, false),
            (1 << 20, 1 << 19, 4 << 20, false),
            (1 << 20, 0, 5 << 20, true),
            (1 << 20, 1 << 21, 4 << 20, true),
            (Lines::LARGE, 10, 4 * Lines::LARGE, false),
        ] {
            let mut lines = Lines::new(8 << 20);
            *lines.buffer() = BytesMut::with_capacity(room);
            lines.buffer().extend_from_slice(&vec![b'x'; line]);
            lines.buffer().extend_from_slice(b"\n");
            lines.buffer().extend_from_slice(&vec![b'y'; rest]);
            let place = lines.buffer().as_ptr();
            let Some(Line::Message(text)) = lines.next() else { panic!("there is a line") };
            assert_eq!((text.len(), text.as_ptr() != place), (line, is_copied), "{line} {rest} {room}");
            assert!(text.iter().all(|byte| *byte == b'x'));
            assert_eq!(lines.next(), None);
            lines.buffer().extend_from_slice(b"\n[]\n");
            let expected = (rest > 0).then(|| "y".repeat(rest)).into_iter().chain(["[]".to_owned()]);
            for expected in expected {
                assert_eq!(lines.next(), Some(Line::Message(expected.into())));
            }
        }
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
