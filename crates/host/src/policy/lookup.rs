//! The value at a JSON pointer, in the text of the arguments.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The result of a lookup.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    Missing,
    Value(&'a str),
    /// A key on the way appears twice: readers differ in the one that they take.
    Twice,
}

/// Finds the value that the tokens of a pointer lead to.
pub(super) fn find<'a>(mut text: &'a str, tokens: &[String]) -> Found<'a> {
    for token in tokens {
        let mut reader = serde_json::Deserializer::from_str(text);
        // Scalars have no members.
        match Step(token).deserialize(&mut reader) {
            Ok(Found::Value(value)) => text = value,
            Ok(other) => return other,
            Err(_) => return Found::Missing,
        }
    }
    Found::Value(text)
}

/// One token of a pointer.
struct Step<'t>(&'t str);

impl<'de> DeserializeSeed<'de> for Step<'_> {
    type Value = Found<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Step<'_> {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found<'de>, A::Error> {
        let mut found = Found::Missing;
        while let Some(is_it) = map.next_key_seed(IsKey(self.0))? {
            if !is_it {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = map.next_value::<&RawValue>()?;
            found = if found == Found::Missing { Found::Value(value.get()) } else { Found::Twice };
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Found<'de>, A::Error> {
        let wanted: Option<usize> = self.0.parse().ok();
        let (mut found, mut at) = (Found::Missing, 0);
        while let Some(value) = seq.next_element::<&RawValue>()? {
            if Some(at) == wanted {
                found = Found::Value(value.get());
            }
            at += 1;
        }
        Ok(found)
    }
}

/// Compares a key without a copy.
struct IsKey<'t>(&'t str);

impl<'de> DeserializeSeed<'de> for IsKey<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for IsKey<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}
