//! The differences between the lock and a server, for people.

use std::fmt;

use couplet_core::visible;

use super::{Digest, Hints, Item, Launch, Lock, Pin, Seen, lock::Approved, node::Node};
use crate::names::ServerId;

/// The difference in one definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The definition.
    pub item: Item,
    /// Its state.
    pub pin: Pin,
    /// The differences, one member per line, escaped for a terminal: `-` is the approved one, `+` the one of the server.
    pub lines: Vec<String>,
}

/// The differences between the lock and the definitions of a server. Its text is escaped for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// The server.
    pub server: ServerId,
    /// The state of the launch configuration.
    pub launch: Launch,
    /// The definitions that are not approved as they are.
    pub changes: Vec<Change>,
}

impl Diff {
    /// Returns whether there is no difference.
    pub fn is_empty(&self) -> bool {
        self.launch == Launch::Approved && self.changes.is_empty()
    }
}

impl Lock {
    /// Compares the definitions of a server with the lock in detail, at a time in seconds since the Unix epoch.
    pub fn diff(&self, server: &ServerId, launch: &Digest, seen: &[Seen], now: u64) -> Diff {
        let observed = self.compare(server, launch, seen, now);
        let approved = |item: &Item| self.servers.get(server)?.items.get(&(item.kind, item.raw.to_string()));
        let current = |item: &Item| seen.iter().find(|seen| seen.is(item.kind, &item.raw));
        let change = |pin, item: Item| Change { lines: lines(approved(&item), current(&item)), item, pin };
        let changed = observed.changed.into_iter().map(|item| change(Pin::Changed, item));
        let pending = observed.pending.into_iter().map(|item| change(Pin::Pending, item));
        let gone = observed.gone.into_iter().map(|item| Change { item, pin: Pin::Gone, lines: Vec::new() });
        let changes = changed.chain(pending).chain(gone).collect();
        Diff { server: server.clone(), launch: observed.launch, changes }
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.launch {
            Launch::Approved if self.changes.is_empty() => return writeln!(f, "{}: approved", self.server),
            Launch::Approved => writeln!(f, "{}:", self.server)?,
            Launch::New => writeln!(f, "{}: launch configuration new", self.server)?,
            Launch::Changed => writeln!(f, "{}: launch configuration changed", self.server)?,
        }
        for Change { item, pin, lines } in &self.changes {
            writeln!(f, "  {pin} {item}")?;
            lines.iter().try_for_each(|line| writeln!(f, "    {line}"))?;
        }
        Ok(())
    }
}

fn lines(approved: Option<&Approved>, seen: Option<&Seen>) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(seen) = seen else { return lines };
    let now = Node::parse(seen.text.as_str()).map(|mut node| {
        node.take_hints();
        node.drop_volatile();
        node
    });
    let Ok(now) = now else { return lines };
    match approved {
        None => compare("", None, Some(&now), &mut lines),
        Some(Approved { definition: Some(then), .. }) => compare("", Some(then), Some(&now), &mut lines),
        Some(Approved { digest, .. }) if *digest == seen.fingerprint.digest => {}
        Some(Approved { digest, .. }) => {
            lines.push(format!("- {digest} (the text is too long for the lock)"));
            compare("", None, Some(&now), &mut lines);
        }
    }
    let then = approved.map_or_else(Hints::default, |approved| approved.hints);
    hints(&then, &seen.fingerprint.hints, &mut lines);
    let has_expired = approved.is_some() && lines.is_empty();
    if has_expired {
        lines.push("the approval has expired".to_owned());
    }
    lines
}

fn hints(then: &Hints, now: &Hints, lines: &mut Vec<String>) {
    for (name, then, now) in [
        ("readOnlyHint", then.read_only_hint, now.read_only_hint),
        ("destructiveHint", then.destructive_hint, now.destructive_hint),
        ("idempotentHint", then.idempotent_hint, now.idempotent_hint),
        ("openWorldHint", then.open_world_hint, now.open_world_hint),
    ] {
        let (then, now) = (then.map(Node::Bool), now.map(Node::Bool));
        compare(&format!("/annotations/{name}"), then.as_ref(), now.as_ref(), lines);
    }
}

/// Lists the members that differ, by JSON pointer.
fn compare(at: &str, then: Option<&Node>, now: Option<&Node>, lines: &mut Vec<String>) {
    match (then, now) {
        (then, now) if then == now => {}
        (Some(Node::Object(then)), Some(Node::Object(now))) => {
            let find = |members: &[(String, Node)], key: &str| {
                members.binary_search_by(|(own, _)| own.encode_utf16().cmp(key.encode_utf16())).ok()
            };
            for (key, value) in then {
                let other = find(now, key).map(|at| &now[at].1);
                compare(&format!("{at}/{key}"), Some(value), other, lines);
            }
            for (key, value) in now.iter().filter(|(key, _)| find(then, key).is_none()) {
                compare(&format!("{at}/{key}"), None, Some(value), lines);
            }
        }
        (Some(Node::Array(then)), Some(Node::Array(now))) => {
            for index in 0..then.len().max(now.len()) {
                compare(&format!("{at}/{index}"), then.get(index), now.get(index), lines);
            }
        }
        // New definitions are shown member by member.
        (None, Some(Node::Object(now))) if at.is_empty() => {
            now.iter().for_each(|(key, value)| compare(&format!("/{key}"), None, Some(value), lines));
        }
        (Some(Node::String(then)), Some(Node::String(now))) if then.contains('\n') || now.contains('\n') => {
            compare_lines(at, then, now, lines);
        }
        (then, now) => {
            let line = |sign, node: &Node| visible(&format!("{sign} {}: {}", place(at), node.text()));
            lines.extend(then.map(|node| line('-', node)));
            lines.extend(now.map(|node| line('+', node)));
        }
    }
}

/// Shows the lines of a text that differ.
fn compare_lines(at: &str, then: &str, now: &str, out: &mut Vec<String>) {
    let (then, now): (Vec<_>, Vec<_>) = (then.split('\n').collect(), now.split('\n').collect());
    let least = then.len().min(now.len());
    let front = then.iter().zip(&now).take_while(|(then, now)| then == now).count();
    let back =
        then.iter().rev().zip(now.iter().rev()).take(least - front).take_while(|(then, now)| then == now).count();
    let place = place(at);
    let lines = |sign: char, lines: &[&str]| {
        let part = &lines[front..lines.len() - back];
        let show =
            |(index, line): (usize, &&str)| visible(&format!("{sign} {place} line {}: {line}", front + index + 1));
        part.iter().enumerate().map(show).collect::<Vec<_>>()
    };
    out.extend(lines('-', &then));
    out.extend(lines('+', &now));
}

fn place(at: &str) -> &str {
    if at.is_empty() { "text" } else { at }
}
