//! The format of recorded logs: one JSON object per line for each message, with its time, direction and session.
//!
//! ```text
//! {"time":"2026-07-28T12:00:00Z","direction":"client-to-server","session":"s1","message":{"jsonrpc":"2.0",…}}
//! ```
//!
//! `time` is an RFC 3339 time or milliseconds since 1970, and `session` is any string that groups messages; both and
//! `direction` are optional. Data that is not JSON is recorded as a string in `raw`, in place of `message`. `couplet
//! tap` writes this format. An object with other members is an entry only if it has a `direction`. Any other value is
//! read as a bare message.

use std::{
    borrow::Cow,
    fmt,
    io::{self, BufRead, Read as _},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

use crate::check::Sender;

/// One line of a recorded log.
///
/// ```
/// use couplet_vocab::log::{Direction, Entry, Time};
///
/// let message = serde_json::value::to_raw_value(&serde_json::json!({ "jsonrpc": "2.0", "method": "x" }))?;
/// let entry = Entry::new(&message).time(Time::Millis(0)).direction(Direction::ClientToServer).session("s1");
/// let line = serde_json::to_string(&entry)?;
/// assert_eq!(line, r#"{"time":0,"direction":"client-to-server","session":"s1","message":{"jsonrpc":"2.0","method":"x"}}"#);
/// assert_eq!(Entry::parse(&line)?.session.as_deref(), Some("s1"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// The time at which the message was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// The direction of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// The session that the message belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Cow<'a, str>>,
    /// The message as it was on the wire.
    pub message: &'a RawValue,
}

impl<'a> Entry<'a> {
    /// Creates an entry without time, direction and session.
    pub fn new(message: &'a RawValue) -> Self {
        Self { time: None, direction: None, session: None, message }
    }

    /// Sets the time.
    #[must_use]
    pub fn time(mut self, time: Time) -> Self {
        self.time = Some(time);
        self
    }

    /// Sets the direction.
    #[must_use]
    pub fn direction(mut self, direction: Direction) -> Self {
        self.direction = Some(direction);
        self
    }

    /// Sets the session.
    #[must_use]
    pub fn session(mut self, session: impl Into<Cow<'a, str>>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Parses a line: an entry, or a bare message.
    ///
    /// # Errors
    /// If the line is not JSON, is neither of the two, or the entry has `raw` data that is not JSON.
    pub fn parse(line: &'a str) -> Result<Self, serde_json::Error> {
        if !line.trim_start().starts_with('{') {
            return serde_json::from_str(line).map(Self::new);
        }
        // Members are interpreted once the line is known to be an entry.
        let seen: Seen<'a> = serde_json::from_str(line)?;
        let Some(message) = seen.message.filter(|message| seen.is_entry(message)) else {
            if let (Some(raw), Some(_), None) = (seen.raw, seen.direction, seen.jsonrpc) {
                return Err(de::Error::custom(format_args!("data that is not JSON: {}", short(raw.get()))));
            }
            return serde_json::from_str(line).map(Self::new);
        };
        let read = |text: Option<&'a RawValue>| text.map_or("null", RawValue::get);
        Ok(Self {
            time: serde_json::from_str(read(seen.time))?,
            direction: serde_json::from_str(read(seen.direction))?,
            session: serde_json::from_str::<Option<Text<'a>>>(read(seen.session))?.map(|Text(text)| text),
            message,
        })
    }

    /// Returns the sender of the message.
    pub fn sender(&self) -> Sender {
        self.direction.map_or(Sender::Unknown, Direction::sender)
    }
}

/// A line that may be an entry or a message.
#[derive(Default)]
struct Seen<'a> {
    jsonrpc: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    raw: Option<&'a RawValue>,
    time: Option<&'a RawValue>,
    direction: Option<&'a RawValue>,
    session: Option<&'a RawValue>,
    /// Whether there are members that entries do not have.
    has_others: bool,
}

impl Seen<'_> {
    /// Whether the members are those of an entry: many values of the protocol have a member `message`.
    fn is_entry(&self, message: &RawValue) -> bool {
        let is_whole = message.get().starts_with(['{', '[']);
        let is_marked = self.time.is_some() || self.direction.is_some() || self.session.is_some();
        match self.has_others {
            _ if self.jsonrpc.is_some() => false,
            // A log of another program, with more members.
            true => is_whole && self.direction.is_some(),
            false => is_whole || is_marked,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Seen<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> de::Visitor<'de> for Members {
            type Value = Seen<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Seen<'de>, A::Error> {
                let mut seen = Seen::default();
                while let Some(Text(name)) = map.next_key::<Text<'de>>()? {
                    let slot = match &*name {
                        "jsonrpc" => &mut seen.jsonrpc,
                        "message" => &mut seen.message,
                        "raw" => &mut seen.raw,
                        "time" => &mut seen.time,
                        "direction" => &mut seen.direction,
                        "session" => &mut seen.session,
                        _ => {
                            seen.has_others = true;
                            map.next_value::<de::IgnoredAny>()?;
                            continue;
                        }
                    };
                    if slot.is_some() {
                        return Err(de::Error::custom(format_args!("a second member `{name}`")));
                    }
                    *slot = map.next_value()?;
                }
                Ok(seen)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// The beginning of a string.
fn short(text: &str) -> String {
    let mut rest = text.chars();
    let begin: String = rest.by_ref().take(60).collect();
    if rest.next().is_some() { begin + "…" } else { begin }
}

/// A string that is borrowed where possible.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the client to the server.
    ClientToServer,
    /// From the server to the client.
    ServerToClient,
}

impl Direction {
    /// Returns the direction as it is written in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClientToServer => "client-to-server",
            Self::ServerToClient => "server-to-client",
        }
    }

    /// Returns the sender of messages in this direction.
    pub fn sender(self) -> Sender {
        match self {
            Self::ClientToServer => Sender::Client,
            Self::ServerToClient => Sender::Server,
        }
    }
}

/// The time of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Time {
    /// An RFC 3339 time.
    Text(String),
    /// Milliseconds since 1970.
    Millis(u64),
}

impl Time {
    /// Returns the time in the format of RFC 3339, which is also that of `xsd:dateTime`; `None` if the text is not such
    /// a time.
    ///
    /// ```
    /// use couplet_vocab::log::Time;
    ///
    /// assert_eq!(Time::Millis(1_785_240_000_250).to_rfc3339().as_deref(), Some("2026-07-28T12:00:00.250Z"));
    /// assert_eq!(Time::Text("yesterday".into()).to_rfc3339(), None);
    /// ```
    pub fn to_rfc3339(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => is_rfc3339(text).then_some(Cow::Borrowed(text)),
            Self::Millis(millis) => Some(Cow::Owned(from_millis(*millis))),
        }
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Millis(millis) => serializer.serialize_u64(*millis),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl de::Visitor<'_> for Either {
            type Value = Time;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time or milliseconds since 1970")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
                Ok(Time::Text(text.to_owned()))
            }
            fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Time, E> {
                Ok(Time::Millis(millis))
            }
            fn visit_f64<E: de::Error>(self, millis: f64) -> Result<Time, E> {
                // Fractions of a millisecond are dropped.
                if (0.0..1e15).contains(&millis) {
                    Ok(Time::Millis(millis as u64))
                } else {
                    Err(E::custom("out of range"))
                }
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// `2026-07-28T12:00:00.250Z`, with any number of digits after the seconds, and `Z` or an offset.
fn is_rfc3339(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_pattern = |part: &[u8], pattern: &[u8]| {
        part.len() == pattern.len()
            && part.iter().zip(pattern).all(|(b, p)| if *p == b'0' { b.is_ascii_digit() } else { b == p })
    };
    if bytes.len() < 20 || !is_pattern(&bytes[..19], b"0000-00-00T00:00:00") {
        return false;
    }
    let rest = &bytes[19..];
    let zone = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            &fraction[digits..]
        }
        None => rest,
    };
    zone == b"Z" || is_pattern(zone, b"+00:00") || is_pattern(zone, b"-00:00")
}

/// Days since 1970 become a date as in Howard Hinnant's `civil_from_days`.
fn from_millis(millis: u64) -> String {
    let (seconds, rest) = (millis / 1000, millis % 1000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{rest:03}Z")
}

/// A reader of log lines with a bounded buffer: each line replaces the previous one.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    line: String,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// The maximum length of a line in bytes.
    pub const MAX_LINE: u64 = 64 << 20;

    /// Creates a reader of lines.
    pub fn new(reader: R) -> Self {
        Self { reader, line: String::new(), number: 0 }
    }

    /// Reads the next line that is not empty, and returns it with its number, counted from 1.
    ///
    /// # Errors
    /// If reading fails, or the line is not UTF-8 or too long.
    pub fn next_line(&mut self) -> io::Result<Option<(u64, &str)>> {
        loop {
            self.line.clear();
            let read = io::Read::take(&mut self.reader, Self::MAX_LINE).read_line(&mut self.line)?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            if read as u64 == Self::MAX_LINE && !self.line.ends_with('\n') {
                let what = format!("line {} is longer than {} MiB", self.number, Self::MAX_LINE >> 20);
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            if !self.line.trim().is_empty() {
                break;
            }
        }
        let text = self.line.trim_end();
        // A byte order mark is not part of the first line.
        let text = text.strip_prefix('\u{feff}').filter(|_| self.number == 1).unwrap_or(text);
        Ok(Some((self.number, text)))
    }
}

/// The maximum size of a single value over several lines.
const LARGEST: u64 = 256 << 20;

/// Calls `each` for every JSON value with the number of its line: one value in each line, or a single value over
/// several lines; the first line decides.
///
/// ```
/// let mut found = Vec::new();
/// couplet_vocab::log::for_each("{}\n\n[]\n".as_bytes(), &mut |line, text| Ok(found.push((line, text.to_owned()))))?;
/// assert_eq!(found, [(1, "{}".to_owned()), (3, "[]".to_owned())]);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If reading fails, or the input is not UTF-8 or has a value that is too long; and any error of `each`.
pub fn for_each(mut reader: impl BufRead, each: &mut dyn FnMut(u64, &str) -> io::Result<()>) -> io::Result<()> {
    let mut lines = Lines::new(&mut reader);
    let Some((number, first)) = lines.next_line()? else { return Ok(()) };
    if !serde_json::from_str::<de::IgnoredAny>(first).is_err_and(|e| e.is_eof()) {
        each(number, first)?;
        while let Some((number, text)) = lines.next_line()? {
            each(number, text)?;
        }
        return Ok(());
    }
    let mut text = format!("{first}\n");
    each(number, whole(&mut text, reader)?)
}

/// Reads the rest of the input, and appends it to `text`.
pub(crate) fn whole(text: &mut String, reader: impl BufRead) -> io::Result<&str> {
    at_most(LARGEST, text, reader)
}

fn at_most(most: u64, text: &mut String, reader: impl BufRead) -> io::Result<&str> {
    let read = io::Read::take(reader, most + 1).read_to_string(text)?;
    if read as u64 > most {
        let what = format!("it has more than {} MiB in one piece", most >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_from_other_texts() {
        for (text, yes) in [
            ("2026-07-28T12:00:00Z", true),
            ("2026-07-28T12:00:00.5+02:00", true),
            ("2026-07-28T12:00:00", false),
            ("2026-07-28T12:00:00.Z", false),
            ("2026-07-28 12:00:00Z", false),
            ("", false),
        ] {
            assert_eq!(is_rfc3339(text), yes, "{text}");
        }
    }

    #[test]
    fn days_become_dates() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (4_102_444_799_000, "2099-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(from_millis(millis), text);
        }
    }

    #[test]
    fn entries_and_messages_are_told_apart() {
        for (line, session) in [
            (r#"{"session":"a","message":{"jsonrpc":"2.0"}}"#, Some("a")),
            (r#"{"message":{"jsonrpc":"2.0"},"time":1.5}"#, None),
            (r#"{"jsonrpc":"2.0","message":"x","time":{}}"#, None),
            (r#"[{"jsonrpc":"2.0"}]"#, None),
            (r#"{"code":1,"message":"x"}"#, None),
            (r#"{"code":1,"session":"a","message":{"jsonrpc":"2.0"}}"#, None),
        ] {
            assert_eq!(Entry::parse(line).unwrap().session.as_deref(), session, "{line}");
        }
        assert!(Entry::parse(r#"{"message":{},"direction":"up"}"#).is_err());
        let raw = Entry::parse(r#"{"direction":"server-to-client","raw":"oh no"}"#).unwrap_err();
        assert!(raw.is_data() && raw.to_string().contains("\"oh no\""), "{raw}");
        // A message of an extension may have any members.
        assert!(Entry::parse(r#"{"jsonrpc":"2.0","direction":"up","raw":"x"}"#).is_ok());
    }

    #[test]
    fn there_is_an_end_to_what_is_read() {
        let endless = io::BufReader::new(io::repeat(b' '));
        assert_eq!(Lines::new(endless).next_line().unwrap_err().to_string(), "line 1 is longer than 64 MiB");
        assert!(at_most(4, &mut String::new(), "12345".as_bytes()).is_err());
        assert_eq!(at_most(5, &mut String::from("0"), "12345".as_bytes()).unwrap(), "012345");
    }

    #[test]
    fn empty_lines_are_counted_and_left_out() {
        assert_eq!(Lines::new("\u{feff}{}".as_bytes()).next_line().unwrap(), Some((1, "{}")));
        let mut lines = Lines::new("\n{}\r\n\n[]".as_bytes());
        assert_eq!(lines.next_line().unwrap(), Some((2, "{}")));
        assert_eq!(lines.next_line().unwrap(), Some((4, "[]")));
        assert_eq!(lines.next_line().unwrap(), None);
    }
}
