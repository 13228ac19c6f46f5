//! An incremental parser of HTTP responses.

use memchr::memmem::find;
use serde_json::Value;

use crate::cases::Case;

/// Parsed bytes are discarded once there are more than this.
const TAKEN: usize = 256 << 10;

/// The framing of a body.
#[derive(Clone, Copy)]
enum Framing {
    Length(usize),
    /// The remaining bytes of the current chunk, if any.
    Chunked(Option<usize>),
}

/// A partially received response.
#[derive(Default)]
pub(crate) struct Response {
    buffer: Vec<u8>,
    taken: usize,
    framing: Option<Framing>,
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    /// The body, without chunk framing.
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// Starts the next response.
    pub(crate) fn reset(&mut self) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.framing = None;
        self.body.clear();
        self.session = None;
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Parses received bytes, and returns whether the response is complete.
    pub(crate) fn is_whole(&mut self) -> bool {
        if self.framing.is_none() {
            let Some(end) = find(&self.buffer[self.taken..], b"\r\n\r\n") else { return false };
            let head = String::from_utf8_lossy(&self.buffer[self.taken..self.taken + end]).into_owned();
            self.taken += end + 4;
            self.head(&head);
        }
        match self.framing {
            Some(Framing::Length(length)) => {
                self.take(length - self.body.len());
                self.body.len() == length
            }
            Some(Framing::Chunked(left)) => self.chunks(left),
            None => false,
        }
    }

    fn head(&mut self, head: &str) {
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        self.status = status.and_then(|status| status.parse().ok()).unwrap_or(0);
        let mut framing = Framing::Length(0);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => framing = Framing::Length(value.parse().unwrap_or(0)),
                "transfer-encoding" => framing = Framing::Chunked(None),
                "mcp-session-id" => self.session = Some(value.to_owned()),
                _ => {}
            }
        }
        self.framing = Some(framing);
    }

    /// Moves up to `count` bytes to the body, and returns how many.
    fn take(&mut self, most: usize) -> usize {
        let count = most.min(self.buffer.len() - self.taken);
        self.body.extend_from_slice(&self.buffer[self.taken..self.taken + count]);
        self.taken += count;
        count
    }

    fn chunks(&mut self, mut left: Option<usize>) -> bool {
        loop {
            if self.taken > TAKEN {
                self.buffer.drain(..self.taken);
                self.taken = 0;
            }
            left = match left {
                None => {
                    let rest = &self.buffer[self.taken..];
                    let Some(end) = find(rest, b"\r\n") else { break };
                    let size = std::str::from_utf8(&rest[..end]).unwrap_or_default();
                    let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16);
                    let size = size.unwrap_or(0);
                    if size == 0 {
                        // The last chunk is empty, followed by an empty line.
                        if rest.len() < end + 4 {
                            break;
                        }
                        self.taken += end + 4;
                        return true;
                    }
                    self.taken += end + 2;
                    Some(size)
                }
                Some(0) if self.buffer.len() - self.taken < 2 => break,
                Some(0) => {
                    self.taken += 2;
                    None
                }
                Some(size) => match self.take(size) {
                    0 => break,
                    count => Some(size - count),
                },
            };
        }
        self.framing = Some(Framing::Chunked(left));
        false
    }

    /// Verifies the response for a case.
    pub(crate) fn check(&self, case: &Case, id: u64) -> Result<(), String> {
        let shown = || String::from_utf8_lossy(&self.body[..self.body.len().min(300)]).into_owned();
        match self.message() {
            Some(message) if self.status == 200 => case.check(id, &message),
            _ => Err(format!("status {}: {}", self.status, shown())),
        }
    }

    /// Extracts the message from a JSON body or an event stream.
    fn message(&self) -> Option<Value> {
        let text = std::str::from_utf8(&self.body).ok()?.trim();
        if text.starts_with('{') {
            return serde_json::from_str(text).ok();
        }
        let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut messages = events.filter_map(|data| serde_json::from_str::<Value>(data.trim_start()).ok());
        messages.find(|message| message.get("result").is_some() || message.get("error").is_some())
    }
}
