//! Finds the lists in a message that the protocol itself defines, such as `tools` or `content`.
//!
//! In RDF these are several values of one property, as in the building block. All other lists are application data,
//! whose order may matter.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use super::{Ld, json::Json};
use crate::table::{Body, Definition, Kind, TABLE};

/// The possible kinds of value at a place of a message, in any revision.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// Objects with members of their own.
    objects: Vec<&'static Definition>,
    /// The kinds of list items.
    items: Vec<&'static Kind>,
    /// The kinds of members of an object with arbitrary keys.
    values: Vec<&'static Kind>,
    /// Whether a scalar or any value is possible.
    open: bool,
}

/// Whether a list is defined by the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// It is, and no other value is possible.
    Always,
    /// It is, and a single value is possible too.
    Sometimes,
    /// Unknown.
    Unknown,
}

/// A place that was looked up, or combined from several.
pub(crate) type Here = Cow<'static, Place>;

static UNKNOWN: Place = Place { objects: Vec::new(), items: Vec::new(), values: Vec::new(), open: false };
static RESULTS: [Kind; 2] = [Kind::Named("ServerResult"), Kind::Named("ClientResult")];
static ERROR: [Kind; 1] = [Kind::Named("Error")];

/// All places of the table, computed once.
struct Places {
    /// Places by definition and member.
    members: BTreeMap<&'static str, Vec<(&'static str, Place)>>,
    result: Place,
    error: Place,
}

static PLACES: LazyLock<Places> = LazyLock::new(|| {
    let of = |definition: &'static Definition| {
        let mut places: BTreeMap<&'static str, Place> = BTreeMap::new();
        definition.members().for_each(|m| places.entry(m.name).or_default().add(&m.kind));
        (definition.name, places.into_iter().collect())
    };
    Places {
        members: TABLE.definitions.values().map(of).collect(),
        result: Place::of(RESULTS.iter()),
        error: Place::of(ERROR.iter()),
    }
});

impl Place {
    /// The place of a whole message.
    pub(crate) fn message<V: Value>(members: Members<'_, '_, V>) -> Self {
        let method = text_of(members, "method").flatten();
        Self { objects: method.and_then(|m| TABLE.by_method(m)).into_iter().collect(), ..Self::default() }
    }

    /// A place without information.
    pub(crate) fn unknown() -> Here {
        Cow::Borrowed(&UNKNOWN)
    }

    /// The place of a member of a response.
    pub(crate) fn response(name: &str) -> Here {
        Cow::Borrowed(match name {
            "result" => &PLACES.result,
            "error" => &PLACES.error,
            _ => &UNKNOWN,
        })
    }

    /// The place of a member of an object at this place.
    pub(crate) fn member(&self, fitting: &[&'static Definition], name: &str) -> Here {
        let place = |definition: &Definition| {
            let places = PLACES.members.get(definition.name)?;
            places.iter().find(|(member, _)| *member == name).map(|(_, place)| place)
        };
        match fitting {
            [] => self.values_here(),
            [one] => place(one).map_or_else(Self::unknown, Cow::Borrowed),
            several => {
                let mut all = Self::default();
                several.iter().filter_map(|d| place(d)).for_each(|p| all.merge(p));
                Cow::Owned(all)
            }
        }
    }

    /// The place of an item of a list at this place.
    pub(crate) fn item(&self) -> Here {
        if self.items.is_empty() { Self::unknown() } else { Cow::Owned(Self::of(self.items.iter().copied())) }
    }

    fn values_here(&self) -> Here {
        if self.values.is_empty() { Self::unknown() } else { Cow::Owned(Self::of(self.values.iter().copied())) }
    }

    fn of(kinds: impl Iterator<Item = &'static Kind>) -> Self {
        let mut place = Self::default();
        kinds.for_each(|kind| place.add(kind));
        place
    }

    fn merge(&mut self, other: &Self) {
        for definition in &other.objects {
            self.add_object(definition);
        }
        self.items.extend(&other.items);
        self.values.extend(&other.values);
        self.open |= other.open;
    }

    /// Whether a list at this place is defined by the protocol.
    pub(crate) fn listing(&self) -> Listing {
        let alone = self.objects.is_empty() && self.values.is_empty() && !self.open;
        match (self.items.is_empty(), alone) {
            (true, _) => Listing::Unknown,
            (false, true) => Listing::Always,
            (false, false) => Listing::Sometimes,
        }
    }

    /// The definitions that match an object at this place best.
    pub(crate) fn fitting<V: Value>(&self, members: Members<'_, '_, V>) -> Vec<&'static Definition> {
        let mut best = Vec::new();
        let mut most = 0;
        for definition in &self.objects {
            let Some(score) = score(definition, members) else { continue };
            if score > most || best.is_empty() {
                best.clear();
                most = score;
            }
            if score == most {
                best.push(*definition);
            }
        }
        best
    }

    fn add(&mut self, kind: &'static Kind) {
        match kind {
            Kind::List(item, _) => self.items.push(item),
            Kind::Map(value) => self.values.push(value),
            Kind::Union(kinds) => kinds.iter().for_each(|k| self.add(k)),
            Kind::Named(name) => {
                let Some(definition) = TABLE.definitions.get(name) else { return };
                for (_, body) in &definition.bodies {
                    match body {
                        Body::Kind(kind) => self.add(kind),
                        Body::Members(_) => self.add_object(definition),
                    }
                }
            }
            _ => self.open = true,
        }
    }

    fn add_object(&mut self, definition: &'static Definition) {
        if !self.objects.iter().any(|d| d.name == definition.name) {
            self.objects.push(definition);
        }
    }
}

/// A value with named members: JSON, or the data model of RDF.
pub(crate) trait Value {
    /// The string, if it is one.
    fn text(&self) -> Option<&str>;
}

impl Value for Json<'_> {
    fn text(&self) -> Option<&str> {
        self.as_text()
    }
}

impl Value for Ld<'_> {
    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

/// The members of an object.
pub(crate) type Members<'m, 'a, V> = &'m [(Cow<'a, str>, V)];

fn text_of<'m, V: Value>(members: Members<'m, '_, V>, name: &str) -> Option<Option<&'m str>> {
    members.iter().find(|(key, _)| key == name).map(|(_, value)| value.text())
}

/// The number of an object's members that a definition has; `None` if the object cannot match it.
fn score<V: Value>(definition: &'static Definition, members: Members<'_, '_, V>) -> Option<usize> {
    let all = definition.revisions();
    for member in definition.members() {
        let found = text_of(members, member.name);
        let always = !member.optional && member.revisions == all;
        match (&member.kind, found) {
            (_, None) if always => return None,
            (Kind::Text(text), Some(found)) if member.revisions == all && found != Some(text) => return None,
            _ => {}
        }
    }
    let knows = |name: &str| definition.members().any(|m| m.name == name);
    Some(members.iter().filter(|(key, _)| knows(key)).count())
}
