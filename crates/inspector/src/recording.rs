//! The format of recordings: one message per line, with its time, direction and session.
//!
//! `couplet tap` writes it, `couplet replay` and `couplet inspect` read it, and the inspector exports it.
//!
//! ```
//! use std::time::Duration;
//! use couplet_inspector::{Direction, recording};
//!
//! let line = recording::entry(Duration::ZERO, Direction::Out, "s1", br#"{"id": 1, "method": "ping"}"#);
//! let read = recording::parse(&line)?;
//! assert_eq!((read.direction, &*read.session, &*read.text), (Direction::Out, "s1", r#"{"id": 1, "method": "ping"}"#));
//! # Ok::<(), serde_json::Error>(())
//! ```

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::tap::Direction;

/// A recorded message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The time since 1970; zero if there is none.
    pub time: Duration,
    /// The direction.
    pub direction: Direction,
    /// The session that the message belongs to.
    pub session: String,
    /// The message as it was on the wire.
    pub text: String,
    /// Whether the message is JSON.
    pub is_json: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Way {
    ClientToServer,
    ServerToClient,
}

#[derive(Serialize)]
struct EntryText<'a> {
    time: String,
    direction: Way,
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

#[derive(Deserialize)]
struct Read<'a> {
    #[serde(default)]
    time: Option<serde_json::Value>,
    direction: Way,
    #[serde(default)]
    session: String,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    raw: Option<String>,
}

/// Serializes the entry for a message that was sent at a time since 1970.
pub fn entry(time: Duration, direction: Direction, session: &str, line: &[u8]) -> String {
    let message: Option<&RawValue> = serde_json::from_slice(line).ok();
    let raw = message.is_none().then(|| String::from_utf8_lossy(line).into_owned());
    let base64 = str::from_utf8(line).is_err().then(|| STANDARD.encode(line));
    let direction = match direction {
        Direction::Out => Way::ClientToServer,
        Direction::In => Way::ServerToClient,
    };
    let written = EntryText { time: time_text(time), direction, session, message, raw, base64 };
    serde_json::to_string(&written).unwrap_or_default()
}

/// Formats a time as RFC 3339, with six digits, so that times sort as strings.
pub(crate) fn time_text(time: Duration) -> String {
    let nanos = i128::try_from(time.as_nanos()).unwrap_or(i128::MAX);
    format!("{:.6}", Timestamp::from_nanosecond(nanos).unwrap_or(Timestamp::MAX))
}

/// Parses a line of a recording.
///
/// # Errors
/// If the line is not an entry.
pub fn parse(line: &str) -> Result<Entry, serde_json::Error> {
    let read: Read<'_> = serde_json::from_str(line)?;
    let direction = match read.direction {
        Way::ClientToServer => Direction::Out,
        Way::ServerToClient => Direction::In,
    };
    let (text, is_json) = match (read.message, read.raw) {
        (Some(message), _) => (message.get().to_owned(), true),
        (None, raw) => (raw.unwrap_or_default(), false),
    };
    let time = read.time.as_ref().and_then(time_of).unwrap_or_default();
    Ok(Entry { time, direction, session: read.session, text, is_json })
}

/// The time of an entry: RFC 3339, or milliseconds since 1970.
fn time_of(value: &serde_json::Value) -> Option<Duration> {
    match value {
        serde_json::Value::String(text) => {
            let time: Timestamp = text.parse().ok()?;
            Some(Duration::from_nanos(u64::try_from(time.as_nanosecond()).ok()?))
        }
        other => Duration::try_from_secs_f64(other.as_f64()? / 1e3).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_messages_as_they_were_written() {
        let time = Duration::from_micros(1_790_000_000_000_001);
        let line = entry(time, Direction::Out, "s", br#"{ "id": 1.0,  "method":"x"}"#);
        let rest = r#"{"time":"2026-09-21T14:13:20.000001Z","direction":"client-to-server","session":"s","message":{ "id": 1.0,  "method":"x"}}"#;
        assert_eq!(line, rest);
        let read = parse(&line).expect("it was written here");
        assert_eq!((read.time, read.is_json), (time, true));
        let line = entry(time, Direction::In, "s", b"oh no\xff");
        assert!(
            line.ends_with("\"direction\":\"server-to-client\",\"session\":\"s\",\"raw\":\"oh no\u{fffd}\",\"base64\":\"b2ggbm//\"}"),
            "{line}"
        );
        let read = parse(&line).expect("it was written here");
        assert_eq!((read.text.as_str(), read.is_json), ("oh no\u{fffd}", false));
    }

    #[test]
    fn times_are_optional_or_in_milliseconds() {
        for (time, expected) in [("", 0), (r#""time":1500,"#, 1500), (r#""time":"1970-01-01T00:00:02Z","#, 2000)] {
            let read =
                parse(&format!(r#"{{{time}"direction":"client-to-server","message":{{}}}}"#)).expect("it is one");
            assert_eq!(read.time, Duration::from_millis(expected));
        }
        assert!(parse(r#"{"jsonrpc":"2.0","method":"x"}"#).is_err());
    }
}
