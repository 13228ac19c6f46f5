//! The protocol as data: the Rust types (`types.txt`), and what they do not say, above all in which revisions there is
//! what (`protocol.txt`, `words.txt`).
//!
//! Everything else in this crate is drawn from here: schemas, the vocabulary, the validator, and which members of a
//! message are lists. Tests compare it with the source of the types, and with the official schemas.

mod parse;
mod rust;
mod words;

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use couplet_types::ProtocolVersion;

/// The table.
pub(crate) static TABLE: LazyLock<Table> = LazyLock::new(|| parse::table(include_str!("protocol.txt")));

/// All definitions, and what is said about whole revisions.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// By name, and in order of names.
    pub(crate) definitions: BTreeMap<&'static str, Definition>,
    /// The definitions of requests and notifications, by their methods.
    pub(crate) methods: BTreeMap<&'static str, &'static str>,
    /// Under which dialect of JSON Schema a revision is described, and where definitions stand in it.
    pub(crate) dialects: Vec<(Revisions, &'static str, &'static str)>,
    /// Methods of extensions.
    pub(crate) extensions: Vec<(Revisions, &'static str)>,
    /// The member that says what kind of result a result is, and the kinds that the protocol itself has.
    pub(crate) result_kinds: Vec<(Revisions, &'static str, Vec<ResultKind>)>,
}

/// A definition in all revisions in which there is one.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    /// What it is, for each revision at most one.
    pub(crate) bodies: Vec<(Revisions, Body)>,
}

/// What a definition is.
#[derive(Debug)]
pub(crate) enum Body {
    /// An object with these members, in revisions of their own.
    Members(Vec<Member>),
    /// Something else.
    Kind(Kind),
}

/// A member of an object.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) optional: bool,
    pub(crate) kind: Kind,
    pub(crate) revisions: Revisions,
}

/// What a value may be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Any,
    Object,
    String(Option<&'static str>),
    Integer(Range),
    Number(Range),
    Boolean,
    Null,
    /// This text.
    Text(&'static str),
    /// This integer.
    Code(i64),
    /// What the definition says.
    Named(&'static str),
    /// A list, of at most so many.
    List(Box<Kind>, Option<usize>),
    /// An object whose members are all of a kind.
    Map(Box<Kind>),
    Union(Vec<Kind>),
}

/// The least and the most that a number may be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Range {
    pub(crate) least: Option<i64>,
    pub(crate) most: Option<i64>,
}

/// Some of the revisions: the first one is the lowest bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Revisions(pub(crate) u8);

impl Revisions {
    pub(crate) const ALL: Self = Self((1 << ProtocolVersion::ALL.len()) - 1);

    /// This one alone.
    pub(crate) fn only(version: ProtocolVersion) -> Self {
        let at = ProtocolVersion::ALL.iter().position(|v| *v == version);
        Self(1 << at.expect("`ALL` has all of them"))
    }

    pub(crate) fn has(self, version: ProtocolVersion) -> bool {
        self.0 & Self::only(version).0 != 0
    }

    /// Those that both have.
    pub(crate) fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those that one of them has.
    pub(crate) fn either(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The revisions, oldest first.
    pub(crate) fn iter(self) -> impl Iterator<Item = ProtocolVersion> {
        ProtocolVersion::ALL.iter().copied().filter(move |v| self.has(*v))
    }
}

/// What a result may say that it is, and its definition if that is not the one of the request.
pub(crate) type ResultKind = (&'static str, Option<&'static str>);

impl Table {
    /// The definition of a name in a revision.
    pub(crate) fn body(&self, name: &str, version: ProtocolVersion) -> Option<&Body> {
        self.definitions.get(name)?.body(version)
    }

    /// The names that a revision defines.
    pub(crate) fn names(&self, version: ProtocolVersion) -> impl Iterator<Item = &'static str> {
        self.definitions.values().filter(move |d| d.body(version).is_some()).map(|d| d.name)
    }

    /// The definition of a request or a notification, by its method.
    pub(crate) fn by_method(&self, method: &str) -> Option<&Definition> {
        self.definitions.get(self.methods.get(method)?)
    }

    /// Whether a revision or an official extension has a method.
    pub(crate) fn knows(&self, method: &str) -> bool {
        self.methods.contains_key(method) || self.extensions.iter().any(|(_, name)| *name == method)
    }
}

impl Definition {
    pub(crate) fn body(&self, version: ProtocolVersion) -> Option<&Body> {
        self.bodies.iter().find(|(revisions, _)| revisions.has(version)).map(|(_, body)| body)
    }

    /// The revisions that have it.
    pub(crate) fn revisions(&self) -> Revisions {
        self.bodies.iter().fold(Revisions(0), |all, (revisions, _)| all.either(*revisions))
    }

    /// All members, of all revisions: one that changed is there more than once.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.bodies.iter().filter_map(|(_, body)| body.members()).flatten()
    }

    /// The method, if it is a request or a notification under its own name.
    fn method(&self) -> Option<&'static str> {
        let is_message = self.name.ends_with("Request") || self.name.ends_with("Notification");
        let method = self.members().filter(|_| is_message).find(|m| m.name == "method")?;
        // `ClientNotification` is the same as its only alternative in one revision.
        if let (Kind::Text(text), 1) = (&method.kind, self.bodies.len()) { Some(text) } else { None }
    }
}

impl Body {
    pub(crate) fn members(&self) -> Option<&[Member]> {
        if let Self::Members(members) = self { Some(members) } else { None }
    }
}

/// What a definition is, in words.
pub(crate) fn about(definition: &str) -> Option<Cow<'static, str>> {
    words::definition(definition)
}

/// What a member of a definition is, in words.
pub(crate) fn about_member(definition: &str, name: &str) -> Option<&'static str> {
    words::member(definition, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every name that is used is defined, in every revision in which it is used.
    #[test]
    fn names_lead_somewhere() {
        for definition in TABLE.definitions.values() {
            for (revisions, body) in &definition.bodies {
                let kinds: Vec<(Revisions, &Kind)> = match body {
                    Body::Kind(kind) => vec![(*revisions, kind)],
                    Body::Members(members) => members.iter().map(|m| (m.revisions, &m.kind)).collect(),
                };
                for (revisions, kind) in kinds {
                    check(definition.name, revisions, kind);
                }
            }
        }
    }

    fn check(place: &str, revisions: Revisions, kind: &Kind) {
        match kind {
            Kind::Named(name) => {
                for version in revisions.iter() {
                    assert!(TABLE.body(name, version).is_some(), "{place}: `{name}` is not defined in {version}");
                }
            }
            Kind::List(inner, _) | Kind::Map(inner) => check(place, revisions, inner),
            Kind::Union(kinds) => kinds.iter().for_each(|k| check(place, revisions, k)),
            _ => {}
        }
    }

    #[test]
    fn one_revision_has_one_meaning() {
        for definition in TABLE.definitions.values() {
            for &version in ProtocolVersion::ALL {
                let bodies: Vec<_> = definition.bodies.iter().filter(|(r, _)| r.has(version)).collect();
                assert!(bodies.len() <= 1, "{}", definition.name);
                let members = bodies.first().and_then(|(_, body)| body.members()).unwrap_or_default();
                let mut names: Vec<_> = members.iter().filter(|m| m.revisions.has(version)).map(|m| m.name).collect();
                let all = names.len();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), all, "{} in {version}", definition.name);
            }
        }
    }

    #[test]
    fn methods_are_found() {
        assert_eq!(TABLE.by_method("tools/call").map(|d| d.name), Some("CallToolRequest"));
        assert_eq!(TABLE.by_method("notifications/cancelled").map(|d| d.name), Some("CancelledNotification"));
        assert!(TABLE.by_method("none").is_none());
    }
}
