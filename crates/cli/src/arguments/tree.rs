//! Arguments under construction; the digits of numbers and the order of members stay as typed.

use couplet::types::{Map, RawJson};
use serde::{Serialize, Serializer, ser::SerializeMap};

/// A JSON value under construction.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Leaf(RawJson),
    List(Vec<RawJson>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    pub(crate) fn object() -> Self {
        Self::Object(Vec::new())
    }

    /// Whether an object has a member.
    pub(crate) fn has(&self, name: &str) -> bool {
        matches!(self, Self::Object(members) if members.iter().any(|(key, _)| key == name))
    }

    /// Sets the value at a path, replacing any value on the way.
    pub(crate) fn insert(&mut self, path: &[&str], value: Self) {
        *self.at(path) = value;
    }

    /// Sets the list at a path, or appends to it if `again` is set.
    pub(crate) fn append(&mut self, path: &[&str], items: Vec<RawJson>, again: bool) {
        match self.at(path) {
            Self::List(list) if again => list.extend(items),
            place => *place = Self::List(items),
        }
    }

    fn at(&mut self, path: &[&str]) -> &mut Self {
        let Some((first, rest)) = path.split_first() else { return self };
        self.open();
        let Self::Object(members) = self else { unreachable!("`open` makes it an object") };
        let place = match members.iter().position(|(key, _)| key == first) {
            Some(place) => place,
            None => {
                members.push(((*first).to_owned(), Self::object()));
                members.len() - 1
            }
        };
        members[place].1.at(rest)
    }

    /// Turns this value into an object, keeping its members.
    fn open(&mut self) {
        if let Self::Object(_) = self {
            return;
        }
        let members = match self {
            Self::Leaf(json) => json.parse::<Map<RawJson>>().unwrap_or_default(),
            _ => Map::new(),
        };
        *self = Self::Object(members.into_iter().map(|(key, value)| (key, Self::Leaf(value))).collect());
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Leaf(json) => json.serialize(serializer),
            Self::List(items) => items.serialize(serializer),
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}
