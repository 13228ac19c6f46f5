//! Server-sent events: how they are written, and how they are read as the bytes come in.

use bytes::{Bytes, BytesMut};

/// One event of a stream.
///
/// ```
/// use couplet_core::http::sse::Event;
///
/// let event = Event { id: Some("7".into()), ..Event::message("{}") };
/// assert_eq!(event.encode(), "id: 7\nevent: message\ndata: {}\n\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Where to go on after this event.
    pub id: Option<String>,
    /// What kind of event it is; `message` if nothing is said.
    pub event: Option<String>,
    /// How many milliseconds to wait before connecting again.
    pub retry: Option<u64>,
    /// The content. An event without any is only heard for its other members.
    pub data: Bytes,
}

/// A comment: something to send when there is nothing to say, so that the connection is not taken for dead.
pub const KEEP_ALIVE: Bytes = Bytes::from_static(b":\n\n");

impl Event {
    /// A message of the protocol.
    pub fn message(data: impl Into<Bytes>) -> Self {
        Self { event: Some("message".to_owned()), data: data.into(), ..Self::default() }
    }

    /// Whether it is a message of the protocol, and not only a sign of life.
    pub fn is_message(&self) -> bool {
        !self.data.is_empty() && self.event.as_deref().is_none_or(|e| e.is_empty() || e == "message")
    }

    /// The bytes to send. An `id` or `event` with a line break or a NUL cannot be written and is left out.
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(self.data.len() + 64);
        for (name, value) in [("id", &self.id), ("event", &self.event)] {
            if let Some(value) = value.as_deref().filter(|v| is_line(v)) {
                field(&mut out, name, value.as_bytes());
            }
        }
        if let Some(retry) = self.retry {
            field(&mut out, "retry", retry.to_string().as_bytes());
        }
        // An id without content needs an empty line of it: readers overlook an event that has none.
        if !self.data.is_empty() || self.id.is_some() {
            let mut rest = &self.data[..];
            while let Some((line, next)) = cut(rest) {
                field(&mut out, "data", line);
                rest = next;
            }
            field(&mut out, "data", rest);
        }
        out.push(b'\n');
        out.into()
    }
}

fn is_line(text: &str) -> bool {
    !text.bytes().any(|b| matches!(b, b'\r' | b'\n' | 0))
}

fn field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.push(b'\n');
}

/// A line, and what follows its end.
fn cut(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr2(b'\r', b'\n', text)?;
    let end = if text[at..].starts_with(b"\r\n") { at + 2 } else { at + 1 };
    Some((&text[..at], &text[end..]))
}

/// Cuts a byte stream into events, in time that grows with the input and no faster.
///
/// ```
/// use couplet_core::http::sse::Parser;
///
/// let mut parser = Parser::new(1000);
/// parser.push(b": a comment\nid: 7\nda");
/// assert_eq!(parser.next(), Ok(None));
/// parser.push(b"ta: {}\r\n\r\n");
/// let event = parser.next()?.unwrap();
/// assert_eq!((event.id.as_deref(), &*event.data), (Some("7"), &b"{}"[..]));
/// # Ok::<(), couplet_core::http::sse::TooLarge>(())
/// ```
#[derive(Debug)]
pub struct Parser {
    buffer: BytesMut,
    searched: usize,
    limit: usize,
    begun: bool,
    /// The last line ended with a carriage return; a line feed right behind it belongs to it.
    after_return: bool,
    too_large: bool,
    /// How many bytes the lines of the event have so far.
    size: usize,
    found: Option<Event>,
    lines: Vec<Bytes>,
}

/// An event is above the limit. Nothing behind it can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl Parser {
    /// Events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            limit,
            begun: false,
            after_return: false,
            too_large: false,
            size: 0,
            found: None,
            lines: Vec::new(),
        }
    }

    /// Takes bytes that came in.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.too_large {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// The next event, if it is there as a whole. What follows the last one is nothing: a stream that ends in the
    /// middle of an event has lost it.
    ///
    /// # Errors
    /// When an event is above the limit; from then on always.
    #[expect(clippy::should_implement_trait, reason = "more bytes may follow after a `None`")]
    pub fn next(&mut self) -> Result<Option<Event>, TooLarge> {
        while let Some(line) = self.line()? {
            if line.is_empty() {
                if let Some(event) = self.dispatch() {
                    return Ok(Some(event));
                }
                continue;
            }
            if line.starts_with(b":") {
                continue;
            }
            // Every line costs more than its bytes.
            self.size += line.len().max(32);
            if self.size > self.limit {
                return Err(self.give_up());
            }
            self.read(&line);
        }
        Ok(None)
    }

    /// The next line without its end.
    fn line(&mut self) -> Result<Option<Bytes>, TooLarge> {
        if self.too_large {
            return Err(TooLarge);
        }
        if self.after_return && !self.buffer.is_empty() {
            self.after_return = false;
            if self.buffer[0] == b'\n' {
                let _ = self.buffer.split_to(1);
            }
        }
        let Some(at) = memchr::memchr2(b'\r', b'\n', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return if self.searched > self.limit { Err(self.give_up()) } else { Ok(None) };
        };
        let end = self.searched + at;
        self.searched = 0;
        let mut line = self.buffer.split_to(end + 1).freeze();
        self.after_return = line[end] == b'\r';
        line.truncate(end);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(b"\xEF\xBB\xBF") {
            line = line.slice(3..);
        }
        Ok(Some(line))
    }

    fn read(&mut self, line: &Bytes) {
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let mut value = line.slice((colon + 1).min(line.len())..);
        if value.first() == Some(&b' ') {
            value = value.slice(1..);
        }
        let text = || String::from_utf8_lossy(&value).into_owned();
        let event = self.found.get_or_insert_default();
        match &line[..colon] {
            b"data" => self.lines.push(value),
            b"event" => event.event = Some(text()),
            b"id" if !value.contains(&0) => event.id = Some(text()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => event.retry = text().parse().ok().or(event.retry),
            _ => {}
        }
    }

    /// The event that a blank line ends, if there is one.
    fn dispatch(&mut self) -> Option<Event> {
        self.size = 0;
        let mut event = self.found.take()?;
        let mut lines = std::mem::take(&mut self.lines);
        event.data = match lines.len() {
            0 => Bytes::new(),
            1 => lines.remove(0),
            _ => lines.join(&b'\n').into(),
        };
        (event != Event::default()).then_some(event)
    }

    fn give_up(&mut self) -> TooLarge {
        self.too_large = true;
        self.buffer = BytesMut::new();
        self.lines = Vec::new();
        TooLarge
    }
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an event is above the limit")
    }
}

impl std::error::Error for TooLarge {}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(input: &[u8], step: usize) -> Result<Vec<Event>, TooLarge> {
        let mut parser = Parser::new(200);
        let mut events = Vec::new();
        for chunk in input.chunks(step) {
            parser.push(chunk);
            while let Some(event) = parser.next()? {
                events.push(event);
            }
        }
        Ok(events)
    }

    fn event(id: &str, event: &str, retry: Option<u64>, data: &'static str) -> Event {
        let some = |s: &str| (s != "-").then(|| s.to_owned());
        Event { id: some(id), event: some(event), retry, data: data.into() }
    }

    /// Whatever the pieces are in which it comes.
    fn check(input: &[u8], expected: &[Event]) {
        for step in 1..=input.len() {
            assert_eq!(parse(input, step).as_deref(), Ok(expected), "in steps of {step}: {}", input.escape_ascii());
        }
    }

    #[test]
    fn reads_what_the_standard_says() {
        let hi = || event("-", "-", None, "hi");
        check(b"data: hi\n\n", &[hi()]);
        check(b"data:hi\r\n\r\n", &[hi()]);
        check(b"data: hi\r\r", &[hi()]);
        check(b"\xEF\xBB\xBFdata: hi\n\n", &[hi()]);
        check(b"data: \xEF\xBB\xBFhi\n\n", &[event("-", "-", None, "\u{feff}hi")]);
        check(b": ping\n\n:\n\ndata: hi\n: inside\n\n", &[hi()]);
        check(b"data: hi\n\ndata: lost\n", &[hi()]);
        check(b"data: a\ndata:  b\ndata\n\n", &[event("-", "-", None, "a\n b\n")]);
        check(b"id: 7\ndata: \n\n", &[event("7", "-", None, "")]);
        check(b"id\ndata: hi\n\n", &[event("", "-", None, "hi")]);
        check(b"id: a\0b\ndata: hi\n\n", &[hi()]);
        check(b"retry: 500\n\n", &[event("-", "-", Some(500), "")]);
        check(b"retry: 5s\nretry: 99999999999999999999\ndata: hi\n\n", &[hi()]);
        check(
            b"event: x\nid: 1\nretry: 0\nother: y\ndata: a:b\n\n\n\ndata: hi\n\n",
            &[event("1", "x", Some(0), "a:b"), hi()],
        );
        check(b"data\r\n\r\ndata: hi\r\n\r\n", &[hi()]);
    }

    #[test]
    fn what_is_written_can_be_read() {
        let cases = [
            event("-", "-", None, "hi"),
            event("7", "-", None, ""),
            event("-", "-", Some(3), ""),
            event("a b", "endpoint", Some(0), "/x?y:z"),
            event("-", "message", None, " {\n\n} "),
        ];
        for case in cases {
            check(&case.encode(), std::slice::from_ref(&case));
        }
        let broken = event("-", "-", None, "a\rb\r\nc\nd");
        check(&broken.encode(), &[event("-", "-", None, "a\nb\nc\nd")]);
        let smuggled = event("1\ndata: x", "e\rdata: y", None, "z");
        check(&smuggled.encode(), &[event("-", "-", None, "z")]);
    }

    #[test]
    fn an_endless_event_is_given_up() {
        let inputs: [&[u8]; 3] = [b"data: 0123456789\n", b"0123456789", b"data\n"];
        for input in inputs {
            let mut parser = Parser::new(100);
            let mut failed = false;
            for _ in 0..1000 {
                parser.push(input);
                failed |= parser.next() == Err(TooLarge);
            }
            assert!(failed && parser.next() == Err(TooLarge));
            assert!(parser.buffer.is_empty() && parser.lines.is_empty());
        }
    }

    #[test]
    fn signs_of_life_cost_nothing() {
        let mut parser = Parser::new(100);
        for _ in 0..1000 {
            parser.push(b": still here\n");
            assert_eq!(parser.next(), Ok(None));
        }
    }
}
