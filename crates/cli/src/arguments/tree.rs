//! Arguments while they are put together: numbers and order stay as they were typed.

use couplet::types::{Map, RawJson};
use serde::{Serialize, Serializer, ser::SerializeMap};

/// JSON that is being built.
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

    /// Puts a value at a path. What is in the way is replaced.
    pub(crate) fn insert(&mut self, path: &[&str], value: Self) {
        *self.at(path) = value;
    }

    /// Adds to the list at a path, or begins one.
    pub(crate) fn append(&mut self, path: &[&str], items: Vec<RawJson>, again: bool) {
        match self.at(path) {
            Self::List(list) if again => list.extend(items),
            place => *place = Self::List(items),
        }
    }

    fn at(&mut self, path: &[&str]) -> &mut Self {
        let Some((first, rest)) = path.split_first() else { return self };
        self.open();
        let Self::Object(members) = self else { unreachable!("it was just made one") };
        let place = match members.iter().position(|(key, _)| key == first) {
            Some(place) => place,
            None => {
                members.push(((*first).to_owned(), Self::object()));
                members.len() - 1
            }
        };
        members[place].1.at(rest)
    }

    /// Makes an object of whatever is here, with the members that it has already.
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
