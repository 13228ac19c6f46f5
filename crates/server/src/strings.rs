//! Values that arrive as text, read into types: template variables, and the arguments of prompts.

use std::fmt;

use couplet_core::JsonText;
use serde::{
    Deserializer,
    de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor, value},
    forward_to_deserialize_any,
};

use couplet_types::Map;

/// Reads named texts: into a struct or a map by name, into a single value or a tuple by position.
///
/// The error says which one is wrong, and why.
pub(crate) fn from_pairs<'a, T: DeserializeOwned>(
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<T, String> {
    T::deserialize(Texts { pairs: pairs.collect(), at: 0 }).map_err(|Wrong(what)| what)
}

/// Reads a JSON object whose values are strings.
pub(crate) fn from_json<T: DeserializeOwned>(arguments: &JsonText) -> Result<T, String> {
    let texts: Map<String> =
        arguments.parse().map_err(|e| format!("the arguments must be an object of strings: {e}"))?;
    from_pairs(texts.iter().map(|(key, value)| (key, value.as_str())))
}

struct Texts<'a> {
    pairs: Vec<(&'a str, &'a str)>,
    at: usize,
}

/// What is wrong, in words.
#[derive(Debug)]
struct Wrong(String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self(format!("argument `{field}` is missing"))
    }
}

impl<'a> Texts<'a> {
    fn single(&self) -> Result<Text<'a>, Wrong> {
        match self.pairs.as_slice() {
            [(name, text)] => Ok(Text { name, text }),
            pairs => Err(Wrong(format!("expected one value, got {}", pairs.len()))),
        }
    }
}

/// Types that one text stands for.
macro_rules! single {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
            self.single()?.$method(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Texts<'_> {
    type Error = Wrong;

    single! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32
        deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_identifier
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_map(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.pairs.is_empty() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_seq(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_seq(self)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_seq(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.single()?.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { bytes byte_buf unit_struct map struct ignored_any }
}

impl<'de> MapAccess<'de> for Texts<'_> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        let Some((name, _)) = self.pairs.get(self.at) else { return Ok(None) };
        let name: value::StrDeserializer<'_, Wrong> = (*name).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let Some((name, text)) = self.pairs.get(self.at).copied() else {
            return Err(Wrong("a value without a key".to_owned()));
        };
        self.at += 1;
        seed.deserialize(Text { name, text })
    }
}

impl<'de> SeqAccess<'de> for Texts<'_> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        let Some((name, text)) = self.pairs.get(self.at).copied() else { return Ok(None) };
        self.at += 1;
        seed.deserialize(Text { name, text }).map(Some)
    }
}

/// One text under a name.
struct Text<'a> {
    name: &'a str,
    text: &'a str,
}

impl Text<'_> {
    fn wrong(&self, expected: &str) -> Wrong {
        let shown: String = self.text.chars().take(40).collect();
        Wrong(format!("argument `{}`: expected {expected}, got `{shown}`", self.name))
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident $expected:literal)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
            match self.text.trim().parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(self.wrong($expected)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Text<'_> {
    type Error = Wrong;

    parsed! {
        deserialize_bool visit_bool "`true` or `false`"
        deserialize_i8 visit_i8 "an integer" deserialize_i16 visit_i16 "an integer"
        deserialize_i32 visit_i32 "an integer" deserialize_i64 visit_i64 "an integer"
        deserialize_i128 visit_i128 "an integer" deserialize_u8 visit_u8 "a positive integer"
        deserialize_u16 visit_u16 "a positive integer" deserialize_u32 visit_u32 "a positive integer"
        deserialize_u64 visit_u64 "a positive integer" deserialize_u128 visit_u128 "a positive integer"
        deserialize_f32 visit_f32 "a number" deserialize_f64 visit_f64 "a number"
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_str(self.text)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        if !variants.contains(&self.text) {
            return Err(self.wrong(&format!("one of `{}`", variants.join("`, `"))));
        }
        let variant: value::StrDeserializer<'_, Wrong> = self.text.into_deserializer();
        visitor.visit_enum(variant)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Unit {
        Metre,
        Foot,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct All {
        n: f64,
        unit: Unit,
        name: Option<String>,
        deep: Option<bool>,
    }

    fn read<T: DeserializeOwned>(pairs: &[(&str, &str)]) -> Result<T, String> {
        from_pairs(pairs.iter().copied())
    }

    #[test]
    fn texts_become_what_the_type_says() {
        assert_eq!(read::<f64>(&[("n", "1.5")]), Ok(1.5));
        assert_eq!(read::<String>(&[("n", "1.5")]), Ok("1.5".to_owned()));
        assert_eq!(read::<(String, u8)>(&[("a", "x"), ("b", "7")]), Ok(("x".to_owned(), 7)));
        assert_eq!(read::<Unit>(&[("u", "foot")]), Ok(Unit::Foot));
        assert_eq!(read::<Option<u8>>(&[]), Ok(None));
        let all = All { n: 2.0, unit: Unit::Metre, name: None, deep: Some(true) };
        assert_eq!(read::<All>(&[("deep", "true"), ("n", "2"), ("unit", "metre")]), Ok(all));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (result, want) in [
            (read::<f64>(&[("n", "x")]).map(drop), "argument `n`: expected a number, got `x`"),
            (read::<u8>(&[("n", "-1")]).map(drop), "argument `n`: expected a positive integer, got `-1`"),
            (read::<All>(&[("n", "1")]).map(drop), "argument `unit` is missing"),
            (read::<Unit>(&[("u", "yard")]).map(drop), "argument `u`: expected one of `metre`, `foot`, got `yard`"),
            (read::<f64>(&[("a", "1"), ("b", "2")]).map(drop), "expected one value, got 2"),
        ] {
            assert_eq!(result, Err(want.to_owned()));
        }
    }
}
