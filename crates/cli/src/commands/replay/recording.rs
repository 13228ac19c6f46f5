//! A recording: one message per line, with its time, its direction and its session.

use std::{collections::BTreeMap, fs, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet::types::{RawJson, RequestId, from_json};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::exit::{Exit, Failure};

/// Who says something.
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
    /// A line that is no JSON, or too long to be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    /// The bytes of a line that is not UTF-8, which `raw` cannot show as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// The line of a recording for a line that went through.
pub(crate) fn entry(direction: Direction, session: &str, line: &[u8]) -> String {
    let message: Option<&RawValue> = serde_json::from_slice(line).ok();
    let raw = message.is_none().then(|| String::from_utf8_lossy(line).into_owned());
    let base64 = str::from_utf8(line).is_err().then(|| STANDARD.encode(line));
    // Six digits, so that times can be compared as texts.
    let time = format!("{:.6}", Timestamp::now());
    serde_json::to_string(&Entry { time, direction, session, message, raw, base64 }).unwrap_or_default()
}

/// Cuts bytes into lines. A line that is very long is cut short: its bytes went through, but are not all written down.
#[derive(Default)]
pub(crate) struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    const LONGEST: usize = 64 << 20;

    pub(crate) fn take(&mut self, bytes: &[u8], tell: &mut impl FnMut(&[u8])) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = Self::LONGEST.saturating_sub(self.rest.len());
            self.rest.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.end(tell);
            }
        }
    }

    /// What is left at the end is a line, too.
    pub(crate) fn end(&mut self, tell: &mut impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.rest);
        let line = line.trim_ascii_end();
        if !line.is_empty() {
            tell(line);
        }
    }
}

/// What was said once.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) direction: Direction,
    pub(crate) message: Message,
}

/// A message, as far as one has to look into it.
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
    /// What a line says.
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

/// Reads one session of a recording: the one that is named, or the last one.
///
/// # Errors
/// When it cannot be read, or there is no such session.
pub(crate) fn read(path: &Path, session: Option<&str>) -> Result<Vec<Said>, Failure> {
    let text = fs::read_to_string(path).map_err(|e| Failure::file(path, "read", &e))?;
    let mut sessions: BTreeMap<String, Vec<Said>> = BTreeMap::new();
    let mut last = None;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let written: Written = from_json(line).map_err(|e| {
            Failure::new(Exit::File, format!("`{}`, line {}: {e}", path.display(), number + 1))
                .hint("a recording is made with `couplet tap --log FILE -- COMMAND`")
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
        None => Err(Failure::usage("there is no such session in the recording")
            .hint(format!("there are {}", sessions.keys().map(String::as_str).collect::<Vec<_>>().join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_lines() {
        let mut lines = Lines::default();
        let mut told = Vec::new();
        for bytes in ["{\"a\"", ":1}\r\n\n{}\nno", "t"] {
            lines.take(bytes.as_bytes(), &mut |line| told.push(String::from_utf8_lossy(line).into_owned()));
        }
        lines.end(&mut |line| told.push(String::from_utf8_lossy(line).into_owned()));
        assert_eq!(told, ["{\"a\":1}", "{}", "not"]);
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
