//! Deserialization of objects that are tagged by their member `type`.
//!
//! serde's own tagged enums buffer the whole object first, and the buffer does not preserve the text of the peer. Here
//! the members are deserialized directly into the type that the tag names. Only if the tag is not the first member, the
//! object is buffered as raw text until the tag is found.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{
        self, MapAccess, Visitor,
        value::{MapAccessDeserializer, MapDeserializer},
    },
};
use serde_json::value::RawValue;

use crate::{
    Map, RawJson,
    decode::{name_member, without_position},
};

/// A type with several variants, distinguished by the member `type`.
pub(crate) trait Tagged: Sized {
    /// The name of the object in error messages.
    const WHAT: &'static str;

    /// Deserializes the other members, given the tag.
    fn read<'de, D: Deserializer<'de>>(tag: &str, members: D) -> Result<Self, D::Error>;
}

/// Deserializes a tagged object.
pub(crate) fn deserialize<'de, T: Tagged, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(Object(PhantomData))
}

struct Object<T>(PhantomData<T>);

impl<'de, T: Tagged> Visitor<'de> for Object<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with a `type` ({})", T::WHAT)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<T, A::Error> {
        match members.next_key::<Word<'de>>()? {
            Some(Word(key)) if key == "type" => {
                let Word(tag) = members.next_value()?;
                read::<T, _>(&tag, MapAccessDeserializer::new(members))
            }
            first => read_late_tag(first.map(|Word(key)| key.into_owned()), members),
        }
    }
}

/// A string that is borrowed from the text if possible, which serde does not do by itself.
struct Word<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Word<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Word<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Word<'de>, E> {
                Ok(Word(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Word<'de>, E> {
                Ok(Word(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(Reader)
    }
}

fn read_late_tag<'de, T: Tagged, A: MapAccess<'de>>(first: Option<String>, mut access: A) -> Result<T, A::Error> {
    let mut tag = None;
    let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
    let mut next = first;
    while let Some(key) = next {
        if key == "type" {
            tag = Some(access.next_value::<String>()?);
        } else {
            members.push((key, access.next_value()?));
        }
        next = access.next_key()?;
    }
    let tag = tag.ok_or_else(|| de::Error::custom(format_args!("`type` is missing in a {}", T::WHAT)))?;
    let fields = members.iter().map(|(key, value)| (key.as_str(), &**value));
    read::<T, _>(&tag, MapDeserializer::<_, serde_json::Error>::new(fields))
        .map_err(|_| de::Error::custom(late_error::<T>(&tag, members)))
}

/// Deserializes again, from text, since an error from single members does not name the member.
fn late_error<T: Tagged>(tag: &str, members: Vec<(String, Box<RawValue>)>) -> String {
    let text = match RawJson::new(&Map::from_members(members)) {
        Ok(raw) => raw.to_string(),
        Err(error) => return error.to_string(),
    };
    match T::read(tag, &mut serde_json::Deserializer::from_str(&text)) {
        Ok(_) => format!("`{tag}` {}: the members do not fit", T::WHAT),
        Err(error) => format!("`{tag}` {}: {}", T::WHAT, without_position(&name_member(&text, error))),
    }
}

fn read<'de, T: Tagged, D: Deserializer<'de>>(tag: &str, members: D) -> Result<T, D::Error> {
    // The name goes in front, since serde_json finds the position at the end of a message.
    T::read(tag, members).map_err(|error| de::Error::custom(format_args!("`{tag}` {}: {error}", T::WHAT)))
}
