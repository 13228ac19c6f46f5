//! A record as one line of JSON.

use std::{borrow::Cow, time::Duration};

use blake3::Hash;
use couplet_core::JsonText;

use super::{
    Arguments, Outcome, Record,
    line::{Line, decimal, key, value},
    redact::redacted,
    shape::shape,
    target::Targets,
    walk::walk,
};
use crate::pins;

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
    pub(super) targets: Targets,
}

impl Format {
    /// Appends the line of a record, without its line break.
    pub(super) fn record(&mut self, out: &mut Vec<u8>, seq: u64, prev: Hash, record: &Record) {
        self.start(out, seq, prev, record.millis());
        let mut line = Line(out);
        line.word(key!("event"), "call");
        line.optional(key!("request"), record.request.as_deref());
        line.optional(key!("parent"), record.parent.as_deref());
        line.optional(key!("principal"), record.principal.as_deref());
        line.optional(key!("client"), record.client.as_deref());
        self.targets.append(out, record);
        let mut line = Line(out);
        line.optional(key!("consent"), record.consent.as_deref());
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
                line.word(key!("event"), "open");
                line.word(key!("hash"), "blake3");
                line.number(key!("torn"), Some(*torn));
            }
            Event::Dropped { count } => {
                line.word(key!("event"), "dropped");
                line.number(key!("count"), Some(*count));
            }
        }
        out.push(b'}');
    }

    fn start(&self, out: &mut Vec<u8>, seq: u64, prev: Hash, millis: u64) {
        out.extend_from_slice(b"{\"seq\":");
        decimal(out, seq);
        let mut line = Line(out);
        line.hex(key!("prev"), "", prev.as_bytes());
        line.key(key!("time"));
        out.push(b'"');
        pins::time::push_millis(out, millis);
        out.push(b'"');
        Line(out).optional(key!("replica"), self.replica.as_deref());
    }

    /// Appends the shape and the digest of arguments. The digest is the same for equal ones, whatever their spelling is.
    fn write_arguments(&mut self, line: &mut Line<'_>, arguments: &JsonText) {
        let start = line.0.len();
        line.key(key!("shape"));
        self.canonical.clear();
        if walk(arguments.as_bytes(), line.0, &mut self.canonical).is_none() {
            line.0.truncate(start);
            self.parse_arguments(line, arguments.as_str());
        }
        let digest = blake3::keyed_hash(&self.key, &self.canonical);
        line.hex(key!("digest"), "", &digest.as_bytes()[..DIGEST]);
        if self.canonical.capacity() > REUSED {
            self.canonical = Vec::new();
        }
        if self.arguments == Arguments::Redacted
            && let Ok(parsed) = serde_json::from_str(arguments.as_str())
        {
            line.key(key!("arguments"));
            value(line.0, &redacted(parsed));
        }
    }

    /// Appends the shape of arguments with a rare spelling, and sets their canonical text.
    fn parse_arguments(&mut self, line: &mut Line<'_>, arguments: &str) {
        if let Ok(parsed) = serde_json::from_str(arguments) {
            line.key(key!("shape"));
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
    line.word(key!("outcome"), outcome(record.outcome));
    if let Outcome::RpcError(code) = record.outcome {
        line.key(key!("code"));
        line.0.extend_from_slice(code.to_string().as_bytes());
    }
    line.number(key!("queueUs"), micros(record.queued));
    line.number(key!("upstreamUs"), micros(record.upstream));
    line.number(key!("totalUs"), micros(record.total));
    line.number(key!("bytesIn"), record.bytes_in);
    line.number(key!("bytesOut"), record.bytes_out);
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
