//! The shape of JSON: keys and types, without values.

use std::fmt::{self, Write};

use couplet_core::JsonText;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The depth below which a shape has no more details.
const DEPTH: usize = 4;
/// The maximum number of members that are named.
const MEMBERS: usize = 20;
/// The maximum length of a key.
const KEY: usize = 40;

/// Describes a value: `{city: string(4), days: number, tags: array(2) of string(3)}`. Members are in the order in which they
/// were sent.
pub(crate) fn shape(text: &JsonText) -> String {
    let mut out = String::with_capacity(64);
    let shape = Shape { out: &mut out, depth: DEPTH };
    match shape.deserialize(&mut serde_json::Deserializer::from_str(text.as_str())) {
        Ok(()) => out,
        Err(_) => "invalid".to_owned(),
    }
}

/// Writes the shape of a value while it is parsed.
struct Shape<'o> {
    out: &'o mut String,
    depth: usize,
}

impl Shape<'_> {
    fn write<E: serde::de::Error>(self, what: fmt::Arguments<'_>) -> Result<(), E> {
        self.out.write_fmt(what).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Shape<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Shape<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.out.push_str("null");
        Ok(())
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        self.out.push_str("boolean");
        Ok(())
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        self.out.push_str("number");
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        self.out.push_str("number");
        Ok(())
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        self.out.push_str("number");
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.write(format_args!("string({})", text.chars().count()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let (mut first, mut count) = (String::new(), 0_usize);
        if self.depth > 0 && items.next_element_seed(Shape { out: &mut first, depth: self.depth - 1 })?.is_some() {
            count = 1;
        }
        while items.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        match first.is_empty() {
            true => self.write(format_args!("array({count})")),
            false => self.write(format_args!("array({count}) of {first}")),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Self { out, depth } = self;
        let mut count = 0;
        if depth > 0 {
            out.push('{');
            while count < MEMBERS && members.next_key_seed(ShapeKey { out, comma: count > 0 })?.is_some() {
                members.next_value_seed(Shape { out, depth: depth - 1 })?;
                count += 1;
            }
        }
        let named = count;
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            count += 1;
        }
        match count - named {
            _ if depth == 0 => Shape { out, depth }.write(format_args!("object({count})")),
            0 => Shape { out, depth }.write(format_args!("}}")),
            more => Shape { out, depth }.write(format_args!(", … {more} more}}")),
        }
    }
}

/// Writes a key. Keys come from the caller, like values: they are limited, and control characters are escaped.
struct ShapeKey<'o> {
    out: &'o mut String,
    comma: bool,
}

impl<'de> DeserializeSeed<'de> for ShapeKey<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for ShapeKey<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<(), E> {
        let Self { out, comma } = self;
        if comma {
            out.push_str(", ");
        }
        let is_plain = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
        if key.len() <= KEY && key.bytes().all(is_plain) {
            out.push_str(key);
        } else {
            out.extend(key.chars().take(KEY).flat_map(char::escape_debug));
            if key.chars().nth(KEY).is_some() {
                out.push('…');
            }
        }
        out.push_str(": ");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(value: &Value) -> String {
        shape(&JsonText::new(value.to_string()).unwrap())
    }

    #[test]
    fn values_are_left_out() {
        let value =
            json!({ "city": "Oslo", "days": 3, "tags": ["red"], "deep": [[[[[1]]]]], "none": null, "a\nb": true });
        let expected = "{a\\nb: boolean, city: string(4), days: number, \
                        deep: array(1) of array(1) of array(1) of array(1), none: null, tags: array(1) of string(3)}";
        assert_eq!(of(&value), expected);
        let many: Value = (0..25).map(|n| (n.to_string(), json!(0))).collect::<serde_json::Map<_, _>>().into();
        assert!(of(&many).ends_with(": number, … 5 more}"), "{}", of(&many));
        assert!(of(&json!({ "x".repeat(1000): 1 })).len() < 100);
        assert!(of(&json!({ "x".repeat(41): 1 })).contains("xx…: number"));
        for (value, expected) in [
            (json!({}), "{}"),
            (json!([]), "array(0)"),
            (json!([1, "a"]), "array(2) of number"),
            (json!(-1.5), "number"),
            (json!({ "a": { "b": { "c": { "d": { "e": 1 } } } } }), "{a: {b: {c: {d: object(1)}}}}"),
        ] {
            assert_eq!(of(&value), expected);
        }
    }
}
