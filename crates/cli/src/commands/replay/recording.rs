//! The recording format: one message per line, with its time, direction and session.

use std::{collections::BTreeMap, fs, path::Path};

use couplet::types::{RawJson, RequestId};
pub(crate) use couplet_inspector::Direction;
use couplet_inspector::recording;
use serde::Deserialize;
use serde_json::Value;

use crate::exit::{Exit, Failure};

/// Splits bytes into lines. A very long line is truncated in the recording; all of it is forwarded.
#[derive(Default)]
pub(crate) struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    const LONGEST: usize = 64 << 20;

    pub(crate) fn take(&mut self, bytes: &[u8], on_line: &mut impl FnMut(&[u8])) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = Self::LONGEST.saturating_sub(self.rest.len());
            self.rest.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.end(on_line);
            }
        }
    }

    /// Emits the last line, which may have no line break.
    pub(crate) fn end(&mut self, on_line: &mut impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.rest);
        let line = line.trim_ascii_end();
        if !line.is_empty() {
            on_line(line);
        }
    }
}

/// A recorded message.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) direction: Direction,
    pub(crate) message: Message,
}

/// A message, parsed as far as a replay needs it.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Request {
        id: RequestId,
        method: String,
        params: Value,
        whole: RawJson,
    },
    Notification {
        method: String,
        whole: RawJson,
    },
    Answer {
        id: RequestId,
        whole: RawJson,
    },
    /// A line that is none of these.
    Other(String),
}

#[derive(Deserialize)]
struct Members {
    id: Option<RequestId>,
    method: Option<String>,
    params: Option<Value>,
}

impl Message {
    /// Parses a message.
    pub(crate) fn of(whole: RawJson) -> Self {
        let Ok(Members { id, method, params }) = whole.parse() else { return Self::Other(whole.get().to_owned()) };
        match (id, method) {
            (Some(id), Some(method)) => Self::Request { id, method, params: params.unwrap_or_default(), whole },
            (None, Some(method)) => Self::Notification { method, whole },
            (Some(id), None) => Self::Answer { id, whole },
            (None, None) => Self::Other(whole.get().to_owned()),
        }
    }

    pub(crate) fn parse(line: &str) -> Self {
        match RawJson::from_text(line) {
            Ok(whole) => Self::of(whole),
            Err(_) => Self::Other(line.to_owned()),
        }
    }
}

/// Reads a session of a recording, by default the last one.
///
/// # Errors
/// If the file cannot be read or parsed, or has no such session.
pub(crate) fn read(path: &Path, session: Option<&str>) -> Result<Vec<Said>, Failure> {
    let text = fs::read_to_string(path).map_err(|e| Failure::file(path, "read", &e))?;
    let mut sessions: BTreeMap<String, Vec<Said>> = BTreeMap::new();
    let mut last = None;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let entry = recording::parse(line).map_err(|e| not_an_entry(path, number, &e))?;
        let message = if entry.is_json { Message::parse(&entry.text) } else { Message::Other(entry.text) };
        last = Some(entry.session.clone());
        sessions.entry(entry.session).or_default().push(Said { direction: entry.direction, message });
    }
    let wanted = session.map(str::to_owned).or(last);
    match wanted.and_then(|wanted| sessions.remove(&wanted)) {
        Some(said) => Ok(said),
        None if sessions.is_empty() => Err(Failure::new(Exit::File, format!("`{}` is empty", path.display()))),
        None => Err(Failure::usage(format!("`{}` has no such session", path.display()))
            .hint(format!("expected one of {}", sessions.keys().map(String::as_str).collect::<Vec<_>>().join(", ")))),
    }
}

/// Creates the error for a line that is not an entry of a recording.
pub(crate) fn not_an_entry(path: &Path, line: usize, error: &serde_json::Error) -> Failure {
    Failure::new(Exit::File, format!("`{}`, line {}: {error}", path.display(), line + 1))
        .hint("record with `couplet tap --log FILE -- COMMAND`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_lines() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        for bytes in ["{\"a\"", ":1}\r\n\n{}\nno", "t"] {
            lines.take(bytes.as_bytes(), &mut |line| seen.push(String::from_utf8_lossy(line).into_owned()));
        }
        lines.end(&mut |line| seen.push(String::from_utf8_lossy(line).into_owned()));
        assert_eq!(seen, ["{\"a\":1}", "{}", "not"]);
    }
}
