//! A record as one line of JSON.

use std::{io, time::Duration};

use serde::Serialize;
use serde_json::{
    Serializer, Value,
    ser::{CompactFormatter, Formatter},
};

use super::{Arguments, Outcome, Record, keyed::Keyed, redact::redacted, shape::shape};
use crate::{
    names::{Kind, hex},
    pins,
};

/// The maximum length of a string from a peer, in bytes.
const LONGEST: usize = 512;
/// The length of an argument digest in bytes.
const DIGEST: usize = 16;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a, T> {
    seq: u64,
    prev: &'a str,
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    replica: Option<&'a str>,
    #[serde(flatten)]
    body: T,
}

/// An event of the log itself.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(super) enum Event {
    /// The log was opened; `torn` bytes of an incomplete line were removed.
    Open { torn: u64 },
    /// Records were dropped because the queue was full.
    Dropped { count: u64 },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    server: &'a str,
    kind: Kind,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exposed: Option<String>,
    door: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<String>,
    decision: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_in: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_out: Option<u64>,
}

/// The settings of the format.
pub(super) struct Format {
    pub(super) arguments: Arguments,
    pub(super) key: Keyed,
    pub(super) replica: Option<String>,
}

impl Format {
    /// Appends the line of a record, without its line break.
    pub(super) fn record(&self, out: &mut Vec<u8>, seq: u64, prev: &str, record: &Record) {
        self.line(out, seq, prev, record.millis(), self.body(record));
    }

    /// Appends the line of an event, without its line break.
    pub(super) fn event(&self, out: &mut Vec<u8>, seq: u64, prev: &str, millis: u64, event: &Event) {
        self.line(out, seq, prev, millis, event);
    }

    fn line<T: Serialize>(&self, out: &mut Vec<u8>, seq: u64, prev: &str, millis: u64, body: T) {
        let line = Line { seq, prev, time: pins::time::format_millis(millis), replica: self.replica.as_deref(), body };
        // All of it is plain data, and a vector does not fail.
        let _ = line.serialize(&mut Serializer::with_formatter(out, Ascii(CompactFormatter)));
    }

    fn body<'a>(&self, record: &'a Record) -> Body<'a> {
        let short = |text: &Option<_>| text.as_deref().map(truncated);
        let micros = |time: Option<Duration>| time.map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        let arguments = record.arguments.as_ref().map(|arguments| arguments.as_str());
        let parsed: Option<Value> = arguments.and_then(|text| serde_json::from_str(text).ok());
        let (outcome, code) = outcome(record.outcome);
        Body {
            event: "call",
            request: short(&record.request),
            parent: short(&record.parent),
            principal: short(&record.principal),
            client: short(&record.client),
            profile: short(&record.profile),
            server: record.server.as_str(),
            kind: record.kind,
            name: name(record),
            exposed: short(&record.exposed).filter(|_| record.kind != Kind::Resource),
            door: record.door.as_str(),
            pin: record.pin.map(|pin| pin.to_string()),
            decision: record.decision.as_str(),
            rule: short(&record.rule),
            consent: short(&record.consent),
            shape: parsed.as_ref().map(shape),
            digest: arguments.map(|text| self.digest(text)),
            arguments: parsed.filter(|_| self.arguments == Arguments::Redacted).map(redacted),
            outcome,
            code,
            queue_us: micros(record.queued),
            upstream_us: micros(record.upstream),
            total_us: micros(record.total),
            bytes_in: record.bytes_in,
            bytes_out: record.bytes_out,
        }
    }

    /// The digest of arguments: the same for equal ones, whatever their spelling is.
    fn digest(&self, arguments: &str) -> String {
        let text = pins::canonical_text(arguments).unwrap_or_else(|| arguments.to_owned());
        hex(&self.key.mac(text.as_bytes())[..DIGEST])
    }
}

fn outcome(outcome: Outcome) -> (&'static str, Option<i64>) {
    match outcome {
        Outcome::NotSent => ("notSent", None),
        Outcome::Ok => ("ok", None),
        Outcome::ToolError => ("toolError", None),
        Outcome::RpcError(code) => ("rpcError", Some(code)),
        Outcome::Unavailable { sent: false } => ("unavailable", None),
        Outcome::Unavailable { sent: true } => ("unknown", None),
        Outcome::Timeout => ("timeout", None),
        Outcome::Cancelled => ("cancelled", None),
        Outcome::InputRequired => ("inputRequired", None),
    }
}

/// The server's own name; of a URI neither the user information nor the query, which may have secrets.
fn name(record: &Record) -> String {
    let raw = &*record.raw;
    if record.kind != Kind::Resource {
        return truncated(raw);
    }
    let end = raw.find(['?', '#']).unwrap_or(raw.len());
    let mark = if end < raw.len() { "?…" } else { "" };
    let plain = &raw[..end];
    let authority = plain.find("://").map(|at| at + 3);
    let path = authority.map(|from| plain[from..].find('/').map_or(plain.len(), |at| from + at));
    let user = authority.zip(path).and_then(|(from, to)| plain[from..to].rfind('@').map(|at| (from, from + at + 1)));
    let clean = match user {
        Some((from, to)) => format!("{}{}", &plain[..from], &plain[to..]),
        None => plain.to_owned(),
    };
    truncated(&clean) + mark
}

fn truncated(text: &str) -> String {
    match text.char_indices().find(|(at, c)| at + c.len_utf8() > LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Writes strings in printable ASCII, so that no character of a peer acts on a terminal or begins a line.
struct Ascii(CompactFormatter);

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let is_plain = |c: char| matches!(c, ' '..='~');
        // Not `all`: without early exit the loop is vectorized.
        if fragment.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~')) {
            return self.0.write_string_fragment(writer, fragment);
        }
        for c in fragment.chars() {
            if is_plain(c) {
                writer.write_all(&[c as u8])?;
            } else {
                let mut units = [0; 2];
                c.encode_utf16(&mut units).iter().try_for_each(|unit| write!(writer, "\\u{unit:04x}"))?;
            }
        }
        Ok(())
    }
}
