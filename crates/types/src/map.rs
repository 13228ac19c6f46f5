//! An ordered map for JSON objects with arbitrary keys.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};

/// A map from strings to values that preserves the order of its members.
///
/// It is a list, made for a few members. If a peer sends a member twice, the last one counts.
///
/// ```
/// use couplet_types::Map;
///
/// let map: Map<u32> = [("b", 1), ("a", 2)].into();
/// assert_eq!(map.get("a"), Some(&2));
/// assert_eq!(serde_json::to_string(&map)?, r#"{"b":1,"a":2}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map<V>(Vec<(String, V)>);

impl<V> Map<V> {
    /// Creates an empty map.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// Creates a map from members that may contain duplicates, of which the last one counts.
    pub(crate) fn from_members(members: Vec<(String, V)>) -> Self {
        Self(members)
    }

    /// Adds or replaces a member.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<V>) -> Self {
        self.insert(key, value.into());
        self
    }

    /// Adds or replaces a member.
    pub fn insert(&mut self, key: impl Into<String>, value: V) {
        let key = key.into();
        match self.0.iter_mut().rfind(|(k, _)| *k == key) {
            Some(slot) => slot.1 = value,
            None => self.0.push((key, value)),
        }
    }

    /// Removes a member, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let at = self.0.iter().rposition(|(k, _)| k == key)?;
        Some(self.0.remove(at).1)
    }

    /// Returns the value of a member.
    pub fn get(&self, key: &str) -> Option<&V> {
        self.0.iter().rfind(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// Returns whether there is such a member.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns an iterator over the members, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// Returns an iterator over the names of the members, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(k, _)| k.as_str())
    }

    /// Returns whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<V> Default for Map<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> IntoIterator for Map<V> {
    type Item = (String, V);
    type IntoIter = std::vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Into<String>, V> FromIterator<(K, V)> for Map<V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let mut map = Self::new();
        for (key, value) in members {
            map.insert(key, value);
        }
        map
    }
}

impl<K: Into<String>, V, const N: usize> From<[(K, V); N]> for Map<V> {
    fn from(members: [(K, V); N]) -> Self {
        members.into_iter().collect()
    }
}

impl<V: Serialize> Serialize for Map<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Map<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Members<V> {
            type Value = Map<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Map<V>, A::Error> {
                let mut members = Vec::new();
                while let Some(entry) = access.next_entry()? {
                    members.push(entry);
                }
                Ok(Map(members))
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}
