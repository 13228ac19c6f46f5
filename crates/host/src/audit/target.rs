//! The part of a line that is the same for all calls of a target by one rule.

use std::{borrow::Cow, sync::Arc};

use super::{
    Record,
    line::{Line, key},
};
use crate::names::Kind;

/// The number of targets whose text is cached.
const TARGETS: usize = 64;

/// The texts of targets that were called before: to write them anew takes as long as the rest of a line.
pub(super) struct Targets([Option<CachedTarget>; TARGETS]);

struct CachedTarget {
    /// A record of the target. Its strings are compared by their address, which no other ones have while they are held here.
    record: Box<Record>,
    text: Vec<u8>,
}

impl Default for Targets {
    fn default() -> Self {
        Self([const { None }; TARGETS])
    }
}

impl Targets {
    /// Appends the members of a record about its target and the decision.
    pub(super) fn append(&mut self, out: &mut Vec<u8>, record: &Record) {
        // Each resource that is read has strings of its own.
        if record.kind == Kind::Resource {
            return append(out, record);
        }
        let address = Arc::as_ptr(&record.raw).cast::<u8>().addr();
        let cached = &mut self.0[address / size_of::<[usize; 2]>() % TARGETS];
        if let Some(cached) = cached.as_ref().filter(|cached| cached.is_of(record)) {
            return out.extend_from_slice(&cached.text);
        }
        let start = out.len();
        append(out, record);
        *cached = Some(CachedTarget { record: Box::new(record.target()), text: out[start..].to_vec() });
    }
}

impl CachedTarget {
    fn is_of(&self, record: &Record) -> bool {
        let cached = &*self.record;
        Arc::ptr_eq(&cached.raw, &record.raw)
            && is_same(&cached.exposed, &record.exposed)
            && is_same(&cached.rule, &record.rule)
            && is_same(&cached.profile, &record.profile)
            && cached.server == record.server
            && (cached.kind, cached.door, cached.decision) == (record.kind, record.door, record.decision)
            && cached.pin == record.pin
    }
}

fn is_same(one: &Option<Arc<str>>, other: &Option<Arc<str>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

fn append(out: &mut Vec<u8>, record: &Record) {
    let mut line = Line(out);
    line.optional(key!("profile"), record.profile.as_deref());
    line.text(key!("server"), record.server.as_str(), "");
    line.word(key!("kind"), record.kind.as_str());
    let (name, mark) = name(record);
    line.text(key!("name"), &name, mark);
    line.optional(key!("exposed"), record.exposed.as_deref().filter(|_| record.kind != Kind::Resource));
    line.word(key!("door"), record.door.as_str());
    if let Some(pin) = &record.pin {
        line.hex(key!("pin"), "sha256:", pin.as_bytes());
    }
    line.word(key!("decision"), record.decision.as_str());
    line.optional(key!("rule"), record.rule.as_deref());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        names::ServerId,
        pins::Digest,
        policy::{Decision, Door},
    };

    fn record() -> Record {
        let mut record = Record::new(ServerId::from_key("files"), Kind::Tool, "read", Door::Call, Decision::Allow);
        record.profile = Some("work".into());
        record.exposed = Some("files__read".into());
        record.pin = Some(Digest::of("read"));
        record.rule = Some("policy[2]".into());
        record
    }

    fn fresh(record: &Record) -> String {
        let mut out = Vec::new();
        append(&mut out, record);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_cached_text_is_that_of_the_same_target_and_decision() {
        let changes: [fn(&mut Record); 12] = [
            |_| {},
            |other| other.server = ServerId::from_key("mail"),
            |other| other.kind = Kind::Prompt,
            |other| other.kind = Kind::Resource,
            |other| other.raw = "write".into(),
            |other| other.exposed = None,
            |other| other.exposed = Some("read".into()),
            |other| other.door = Door::Task,
            |other| other.pin = None,
            |other| other.decision = Decision::Deny,
            |other| other.rule = Some("policy[1]".into()),
            |other| other.profile = None,
        ];
        let (first, mut targets) = (record(), Targets::default());
        for change in changes.iter().chain(&changes) {
            let mut other = first.clone();
            change(&mut other);
            let mut out = b"{".to_vec();
            targets.append(&mut out, &other);
            assert_eq!(String::from_utf8(out).unwrap(), format!("{{{}", fresh(&other)));
        }
    }

    #[test]
    fn a_target_that_was_called_before_is_not_written_anew() {
        let (first, mut targets) = (record(), Targets::default());
        targets.append(&mut Vec::new(), &first);
        for cached in targets.0.iter_mut().flatten() {
            cached.text = b"cached".to_vec();
        }
        let mut again = first.clone();
        again.request = Some("2".into());
        let mut out = Vec::new();
        targets.append(&mut out, &again);
        assert_eq!(out, b"cached");
    }
}
