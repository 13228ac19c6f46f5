//! The open `_meta` map.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};

use crate::RawJson;

/// The `_meta` member: an open map that preserves its order and its values as received.
///
/// The keys that the protocol itself uses are handled by `couplet-core`; this map has the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta(Vec<(String, RawJson)>);

impl Meta {
    /// Creates an empty map.
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

    /// Removes a member, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<RawJson> {
        let at = self.0.iter().position(|(k, _)| k == key)?;
        Some(self.0.remove(at).1)
    }

    /// Returns the value of a member.
    pub fn get(&self, key: &str) -> Option<&RawJson> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// Returns an iterator over the members, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// Returns whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether a key is valid: a name, optionally with a prefix of labels.
    ///
    /// ```
    /// use couplet_types::Meta;
    ///
    /// assert!(Meta::is_valid_key("com.example/trace-id"));
    /// assert!(!Meta::is_valid_key("com..example/id"));
    /// ```
    pub fn is_valid_key(key: &str) -> bool {
        match key.split_once('/') {
            Some((prefix, name)) => prefix.split('.').all(is_label) && is_name(name),
            None => is_name(key),
        }
    }

    /// Returns whether a string is a valid identifier of an extension: a key with a prefix.
    ///
    /// ```
    /// use couplet_types::Meta;
    ///
    /// assert!(Meta::is_valid_extension("io.modelcontextprotocol/tasks"));
    /// assert!(!Meta::is_valid_extension("tasks"));
    /// ```
    pub fn is_valid_extension(id: &str) -> bool {
        id.contains('/') && Self::is_valid_key(id)
    }

    /// Returns whether `traceparent`, `tracestate` and `baggage`, if present, are valid by the W3C's
    /// specifications.
    ///
    /// ```
    /// use couplet_types::Meta;
    /// use serde_json::json;
    ///
    /// let meta = Meta::new().with("traceparent", json!("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"));
    /// assert!(meta.has_valid_trace());
    /// ```
    pub fn has_valid_trace(&self) -> bool {
        let fits = |key: &str, is_valid: fn(&str) -> bool| {
            self.get(key).is_none_or(|value| value.parse::<String>().is_ok_and(|text| is_valid(&text)))
        };
        fits("traceparent", is_trace_parent) && fits("tracestate", is_trace_state) && fits("baggage", is_baggage)
    }
}

/// Begins with a letter, ends with a letter or digit, and has hyphens too in between.
fn is_label(label: &str) -> bool {
    label.starts_with(|c: char| c.is_ascii_alphabetic())
        && label.ends_with(|c: char| c.is_ascii_alphanumeric())
        && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Is empty, or begins and ends with a letter or digit.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric();
    name.is_empty()
        || (name.starts_with(plain)
            && name.ends_with(plain)
            && name.chars().all(|c| plain(c) || matches!(c, '-' | '_' | '.')))
}

/// Version, trace, parent and flags in lower-case hexadecimal digits. A later version may add more.
pub(crate) fn is_trace_parent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags, rest @ ..] = &*parts else { return false };
    let hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    let something = |part: &str| part.bytes().any(|b| b != b'0');
    hex(version, 2)
        && *version != "ff"
        && (rest.is_empty() || *version != "00")
        && hex(trace, 32)
        && something(trace)
        && hex(parent, 16)
        && something(parent)
        && hex(flags, 2)
}

/// At most 32 members, each a key and a value.
pub(crate) fn is_trace_state(text: &str) -> bool {
    let members: Vec<&str> = text.split(',').map(str::trim_ascii).filter(|m| !m.is_empty()).collect();
    members.len() <= 32
        && members.iter().all(|member| {
            let Some((key, value)) = member.split_once('=') else { return false };
            let letter = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
            let first = key.bytes().next().is_some_and(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9'));
            first
                && key.len() <= 256
                && key.bytes().all(letter)
                && (1..=256).contains(&value.len())
                && value.bytes().all(|b| matches!(b, b' '..=b'~') && b != b'=')
        })
}

/// Members of a key, a value and perhaps properties.
pub(crate) fn is_baggage(text: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let octet = |b: u8| b.is_ascii_graphic() && !b"\"\\".contains(&b);
    let pair = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let key = key.trim_ascii();
        !key.is_empty() && key.bytes().all(token) && value.trim_ascii().bytes().all(octet)
    };
    text.split(',').all(|member| {
        let first = member.split(';').next().unwrap_or_default();
        first.contains('=') && member.split(';').all(pair)
    })
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
