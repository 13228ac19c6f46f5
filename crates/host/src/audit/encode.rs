//! A record as one line of JSON.

use std::{borrow::Cow, time::Duration};

use blake3::Hash;
use couplet_core::JsonText;

use super::{
    Arguments, Outcome, Record,
    line::{Line, decimal, value},
    redact::redacted,
    shape::shape,
    walk::walk,
};
use crate::{names::Kind, pins};

/// The length of an argument digest in bytes.
const DIGEST: usize = 16;
/// The size above which the memory of a canonical text is not reused.
const REUSED: usize = 64 << 10;

/// An event of the log itself.
pub(super) enum Event {
    /// The log was opened; `torn` bytes of an incomplete line were removed.
    Open { torn: u64 },
    /// Records were dropped because the queue was full.
    Dropped { count: u64 },
}

/// The format of lines, and the place of a line in the chain.
pub(super) struct Format {
    pub(super) arguments: Arguments,
    /// The key of argument digests.
    pub(super) key: [u8; 32],
    pub(super) replica: Option<String>,
    /// The memory of canonical texts.
    pub(super) canonical: Vec<u8>,
}

impl Format {
    /// Appends the line of a record, without its line break.
    pub(super) fn record(&mut self, out: &mut Vec<u8>, seq: u64, prev: Hash, record: &Record) {
        self.start(out, seq, prev, record.millis());
        let mut line = Line(out);
        line.word("event", "call");
        line.optional("request", record.request.as_deref());
        line.optional("parent", record.parent.as_deref());
        line.optional("principal", record.principal.as_deref());
        line.optional("client", record.client.as_deref());
        line.optional("profile", record.profile.as_deref());
        line.text("server", record.server.as_str(), "");
        line.word("kind", record.kind.as_str());
        let (name, mark) = name(record);
        line.text("name", &name, mark);
        line.optional("exposed", record.exposed.as_deref().filter(|_| record.kind != Kind::Resource));
        line.word("door", record.door.as_str());
        if let Some(pin) = &record.pin {
            line.hex("pin", "sha256:", pin.as_bytes());
        }
        line.word("decision", record.decision.as_str());
        line.optional("rule", record.rule.as_deref());
        line.optional("consent", record.consent.as_deref());
        if let Some(arguments) = &record.arguments {
            self.write_arguments(&mut line, arguments);
        }
        result(&mut line, record);
        out.push(b'}');
    }

    /// Appends the line of an event, without its line break.
    pub(super) fn event(&self, out: &mut Vec<u8>, seq: u64, prev: Hash, millis: u64, event: &Event) {
        self.start(out, seq, prev, millis);
        let mut line = Line(out);
        match event {
            Event::Open { torn } => {
                line.word("event", "open");
                line.word("hash", "blake3");
                line.number("torn", Some(*torn));
            }
            Event::Dropped { count } => {
                line.word("event", "dropped");
                line.number("count", Some(*count));
            }
        }
        out.push(b'}');
    }

    fn start(&self, out: &mut Vec<u8>, seq: u64, prev: Hash, millis: u64) {
        out.extend_from_slice(b"{\"seq\":");
        decimal(out, seq);
        let mut line = Line(out);
        line.hex("prev", "", prev.as_bytes());
        line.key("time");
        out.push(b'"');
        pins::time::push_millis(out, millis);
        out.push(b'"');
        Line(out).optional("replica", self.replica.as_deref());
    }

    /// Appends the shape and the digest of arguments. The digest is the same for equal ones, whatever their spelling is.
    fn write_arguments(&mut self, line: &mut Line<'_>, arguments: &JsonText) {
        let start = line.0.len();
        line.key("shape");
        self.canonical.clear();
        if walk(arguments.as_bytes(), line.0, &mut self.canonical).is_none() {
            line.0.truncate(start);
            self.parse_arguments(line, arguments.as_str());
        }
        let digest = blake3::keyed_hash(&self.key, &self.canonical);
        line.hex("digest", "", &digest.as_bytes()[..DIGEST]);
        if self.canonical.capacity() > REUSED {
            self.canonical = Vec::new();
        }
        if self.arguments == Arguments::Redacted
            && let Ok(parsed) = serde_json::from_str(arguments.as_str())
        {
            line.key("arguments");
            value(line.0, &redacted(parsed));
        }
    }

    /// Appends the shape of arguments with a rare spelling, and sets their canonical text.
    fn parse_arguments(&mut self, line: &mut Line<'_>, arguments: &str) {
        if let Ok(parsed) = serde_json::from_str(arguments) {
            line.key("shape");
            value(line.0, &shape(&parsed));
        }
        let text = pins::canonical_text(arguments).map_or(arguments.into(), Cow::Owned);
        self.canonical.clear();
        self.canonical.extend_from_slice(text.as_bytes());
    }
}

/// Appends the outcome, the times and the sizes.
fn result(line: &mut Line<'_>, record: &Record) {
    let micros = |time: Option<Duration>| time.map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    line.word("outcome", outcome(record.outcome));
    if let Outcome::RpcError(code) = record.outcome {
        line.key("code");
        line.0.extend_from_slice(code.to_string().as_bytes());
    }
    line.number("queueUs", micros(record.queued));
    line.number("upstreamUs", micros(record.upstream));
    line.number("totalUs", micros(record.total));
    line.number("bytesIn", record.bytes_in);
    line.number("bytesOut", record.bytes_out);
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::NotSent => "notSent",
        Outcome::Ok => "ok",
        Outcome::ToolError => "toolError",
        Outcome::RpcError(_) => "rpcError",
        Outcome::Unavailable { sent: false } => "unavailable",
        Outcome::Unavailable { sent: true } => "unknown",
        Outcome::Timeout => "timeout",
        Outcome::Cancelled => "cancelled",
        Outcome::InputRequired => "inputRequired",
    }
}

/// The server's own name; of a URI neither the user information nor the query, which may have secrets. The second text
/// follows a name that is not complete.
fn name(record: &Record) -> (Cow<'_, str>, &'static str) {
    let raw = &*record.raw;
    if record.kind != Kind::Resource {
        return (raw.into(), "");
    }
    let end = raw.find(['?', '#']).unwrap_or(raw.len());
    let mark = if end < raw.len() { "?…" } else { "" };
    let plain = &raw[..end];
    let authority = plain.find("://").map(|at| at + 3);
    let path = authority.map(|from| plain[from..].find('/').map_or(plain.len(), |at| from + at));
    let user = authority.zip(path).and_then(|(from, to)| plain[from..to].rfind('@').map(|at| (from, from + at + 1)));
    match user {
        Some((from, to)) => (format!("{}{}", &plain[..from], &plain[to..]).into(), mark),
        None => (plain.into(), mark),
    }
}
