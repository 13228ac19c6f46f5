//! The protocol as data: the Rust types (`types.txt`), and what they do not express, above all the revisions in which
//! each member exists (`protocol.txt`, `words.txt`).
//!
//! Everything else in this crate is generated from here: schemas, the vocabulary, the validator, and the lists of the
//! protocol. Tests compare it with the source of the types, and with the official schemas.

mod parse;
mod rust;
mod words;

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use couplet_types::ProtocolVersion;

/// The table.
pub(crate) static TABLE: LazyLock<Table> = LazyLock::new(|| parse::table(include_str!("protocol.txt")));

/// All definitions, and properties of whole revisions.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Definitions by name, sorted.
    pub(crate) definitions: BTreeMap<&'static str, Definition>,
    /// The definitions of requests and notifications, by their methods.
    pub(crate) methods: BTreeMap<&'static str, &'static str>,
    /// The dialect of JSON Schema of each revision, and the member that holds the definitions.
    pub(crate) dialects: Vec<(Revisions, &'static str, &'static str)>,
    /// Methods of extensions.
    pub(crate) extensions: Vec<(Revisions, &'static str)>,
    /// The discriminator of results, and its values that the protocol itself defines.
    pub(crate) result_kinds: Vec<(Revisions, &'static str, Vec<ResultKind>)>,
}

/// A definition in all revisions that have it.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    /// The bodies, at most one per revision.
    pub(crate) bodies: Vec<(Revisions, Body)>,
}

/// The body of a definition.
#[derive(Debug)]
pub(crate) enum Body {
    /// An object with these members, each with its own revisions.
    Members(Vec<Member>),
    /// A named kind.
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

/// A kind of value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Any,
    Object,
    String(Option<&'static str>),
    Integer(Range),
    Number(Range),
    Boolean,
    Null,
    /// A constant string.
    Text(&'static str),
    /// A constant integer.
    Code(i64),
    /// A reference to a definition.
    Named(&'static str),
    /// A list, with its maximum length.
    List(Box<Kind>, Option<usize>),
    /// An object whose members are all of one kind.
    Map(Box<Kind>),
    Union(Vec<Kind>),
}

/// The range of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Range {
    pub(crate) least: Option<i64>,
    pub(crate) most: Option<i64>,
}

/// A set of revisions: the oldest one is the lowest bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Revisions(pub(crate) u8);

impl Revisions {
    pub(crate) const ALL: Self = Self((1 << ProtocolVersion::ALL.len()) - 1);

    /// The set of one revision.
    pub(crate) fn only(version: ProtocolVersion) -> Self {
        let at = ProtocolVersion::ALL.iter().position(|v| *v == version);
        Self(1 << at.expect("`ALL` is complete"))
    }

    pub(crate) fn has(self, version: ProtocolVersion) -> bool {
        self.0 & Self::only(version).0 != 0
    }

    /// The intersection.
    pub(crate) fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The union.
    pub(crate) fn either(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The revisions, oldest first.
    pub(crate) fn iter(self) -> impl Iterator<Item = ProtocolVersion> {
        ProtocolVersion::ALL.iter().copied().filter(move |v| self.has(*v))
    }
}

/// A value of the discriminator of results, with its definition if that is not the one of the request.
pub(crate) type ResultKind = (&'static str, Option<&'static str>);

impl Table {
    /// The body of a definition in a revision.
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

    /// All members of all revisions: a member that changed occurs more than once.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.bodies.iter().filter_map(|(_, body)| body.members()).flatten()
    }

    /// The method, if this is the definition of a request or a notification.
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

/// The description of a definition.
pub(crate) fn about(definition: &str) -> Option<Cow<'static, str>> {
    words::definition(definition)
}

/// The description of a member of a definition.
pub(crate) fn about_member(definition: &str, name: &str) -> Option<&'static str> {
    words::member(definition, name)
}

#[cfg(test)]
mod tests {
    use couplet_types::{NotificationMethod, RequestMethod};

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

    /// Open ranges such as `@4-` include a new revision by themselves, so the table says which ones it was written for.
    #[test]
    fn all_revisions_are_described() {
        let line = include_str!("protocol.txt").lines().find_map(|line| line.strip_prefix("revisions "));
        let described: Vec<_> = line.unwrap_or_default().split(' ').collect();
        let known: Vec<_> = ProtocolVersion::ALL.iter().map(|version| version.as_str()).collect();
        let table = "crates/vocab/src/table/protocol.txt";
        assert_eq!(described, known, "compare `{table}` with the schema of the new revision, then add it there");
        for version in ProtocolVersion::ALL.iter().copied() {
            assert!(TABLE.dialects.iter().any(|(revisions, ..)| revisions.has(version)), "{version} has no dialect");
            assert!(TABLE.names(version).count() > 100, "{version} has hardly any definitions");
        }
    }

    /// The table and the types name the same methods.
    #[test]
    fn all_methods_are_described() {
        let requests = RequestMethod::ALL.iter().map(|method| method.as_str());
        let known: Vec<_> = requests.chain(NotificationMethod::ALL.iter().map(|method| method.as_str())).collect();
        let table = "crates/vocab/src/table/protocol.txt";
        for method in &known {
            assert!(TABLE.methods.contains_key(method), "{table}: a definition for `{method}` is missing");
        }
        for method in TABLE.methods.keys() {
            assert!(known.contains(method), "{table}: `{method}` is not a method of `couplet_types`");
        }
    }

    #[test]
    fn methods_are_found() {
        assert_eq!(TABLE.by_method("tools/call").map(|d| d.name), Some("CallToolRequest"));
        assert_eq!(TABLE.by_method("notifications/cancelled").map(|d| d.name), Some("CancelledNotification"));
        assert!(TABLE.by_method("none").is_none());
    }
}
