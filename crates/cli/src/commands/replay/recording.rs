//! The recording format: one message per line, with its time, direction and session.

use std::{collections::BTreeMap, fs, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet::types::{RawJson, RequestId, from_json};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::exit::{Exit, Failure};

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Direction {
    ClientToServer,
    ServerToClient,
}

/// One line of a recording.
#[derive(Serialize)]
struct Entry<'a> {
    time: String,
    direction: Direction,
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a RawValue>,
    /// A line that is not JSON, or too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    /// The bytes of a line that is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// Formats the entry for a forwarded line.
pub(crate) fn entry(direction: Direction, session: &str, line: &[u8]) -> String {
    let message: Option<&RawValue> = serde_json::from_slice(line).ok();
    let raw = message.is_none().then(|| String::from_utf8_lossy(line).into_owned());
    let base64 = str::from_utf8(line).is_err().then(|| STANDARD.encode(line));
    // Six digits, so that times sort as strings.
    let time = format!("{:.6}", Timestamp::now());
    serde_json::to_string(&Entry { time, direction, session, message, raw, base64 }).unwrap_or_default()
}

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

#[derive(Deserialize)]
struct Written {
    direction: Direction,
    #[serde(default)]
    session: String,
    message: Option<RawJson>,
    raw: Option<String>,
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
        let written: Written = from_json(line).map_err(|e| {
            Failure::new(Exit::File, format!("`{}`, line {}: {e}", path.display(), number + 1))
                .hint("record with `couplet tap --log FILE -- COMMAND`")
        })?;
        let message = match (written.message, written.raw) {
            (Some(message), _) => Message::of(message),
            (None, raw) => Message::Other(raw.unwrap_or_default()),
        };
        last = Some(written.session.clone());
        sessions.entry(written.session).or_default().push(Said { direction: written.direction, message });
    }
    let wanted = session.map(str::to_owned).or(last);
    match wanted.and_then(|wanted| sessions.remove(&wanted)) {
        Some(said) => Ok(said),
        None if sessions.is_empty() => Err(Failure::new(Exit::File, format!("`{}` is empty", path.display()))),
        None => Err(Failure::usage(format!("`{}` has no such session", path.display()))
            .hint(format!("expected one of {}", sessions.keys().map(String::as_str).collect::<Vec<_>>().join(", ")))),
    }
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

    #[test]
    fn entries_keep_messages_as_they_were_written() {
        let line = entry(Direction::ClientToServer, "s", br#"{ "id": 1.0,  "method":"x"}"#);
        let (time, rest) = line.split_once("\",").unwrap();
        assert!(time.starts_with("{\"time\":\"20") && time.ends_with('Z'), "{time}");
        assert_eq!(rest, r#""direction":"client-to-server","session":"s","message":{ "id": 1.0,  "method":"x"}}"#);
        let line = entry(Direction::ServerToClient, "s", b"oh no\xff");
        assert!(
            line.ends_with("\"direction\":\"server-to-client\",\"session\":\"s\",\"raw\":\"oh no\u{fffd}\",\"base64\":\"b2ggbm//\"}"),
            "{line}"
        );
    }
}
