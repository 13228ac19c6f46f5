//! The open `_meta` map.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};

use crate::RawJson;

/// The `_meta` member: an open map that keeps its order and its values as they were written.
///
/// The keys that the protocol itself uses are handled by `couplet-core`; what is here is the user's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta(Vec<(String, RawJson)>);

impl Meta {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a member.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<RawJson>) -> Self {
        self.insert(key, value.into());
        self
    }

    /// Adds or replaces a member.
    pub fn insert(&mut self, key: impl Into<String>, value: RawJson) {
        let key = key.into();
        match self.0.iter_mut().find(|(k, _)| *k == key) {
            Some(slot) => slot.1 = value,
            None => self.0.push((key, value)),
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) -> Option<RawJson> {
        let at = self.0.iter().position(|(k, _)| k == key)?;
        Some(self.0.remove(at).1)
    }

    /// The value of a member.
    pub fn get(&self, key: &str) -> Option<&RawJson> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// The members, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl Serialize for Meta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Meta;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Meta, A::Error> {
                let mut members = Vec::new();
                while let Some(entry) = access.next_entry()? {
                    members.push(entry);
                }
                Ok(Meta(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
