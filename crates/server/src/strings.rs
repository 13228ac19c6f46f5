//! Deserialization of strings: template variables, and the arguments of prompts.

use couplet_core::JsonText;
use couplet_types::Map;
use serde::{
    Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, Error, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
        Visitor, value,
    },
    forward_to_deserialize_any,
};

use crate::{
    args::{self, Node},
    fault::{Fault, Step},
};

/// Parses named strings: into a struct or a map by name, into a single value or a tuple by position. Where the type is a
/// list or an object, the string is parsed as JSON.
///
/// The error names the string and the reason.
pub(crate) fn from_pairs<'a, T: DeserializeOwned>(
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<T, String> {
    T::deserialize(Texts { pairs: pairs.collect(), at: 0 }).map_err(|fault| fault.to_string())
}

/// Parses a JSON object whose values are strings.
pub(crate) fn from_json<T: DeserializeOwned>(arguments: &JsonText) -> Result<T, String> {
    let texts: Map<String> = args::parse(arguments.as_str())?;
    from_pairs(texts.iter().map(|(key, value)| (key, value.as_str())))
}

struct Texts<'a> {
    pairs: Vec<(&'a str, &'a str)>,
    at: usize,
}

impl<'a> Texts<'a> {
    fn single(&self) -> Result<Text<'a>, Fault> {
        match self.pairs.as_slice() {
            [(name, text)] => Ok(Text { name, text }),
            pairs => Err(Fault::here(format_args!("expected one value, got {}", pairs.len()))),
        }
    }

    fn next(&mut self) -> Option<Text<'a>> {
        let (name, text) = *self.pairs.get(self.at)?;
        self.at += 1;
        Some(Text { name, text })
    }
}

/// Types that are parsed from one string.
macro_rules! single {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.single()?.named(|text| text.$method(visitor))
        }
    )*};
}

impl<'a> Deserializer<'a> for Texts<'a> {
    type Error = Fault;

    single! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32
        deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_identifier
    }

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_map(self)
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.pairs.is_empty() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_seq(self)
    }

    fn deserialize_tuple<V: Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_seq(self)
    }

    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_seq(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.single()?.named(|text| text.deserialize_enum(name, variants, visitor))
    }

    fn deserialize_unit<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { <V: Visitor<'a>> bytes byte_buf unit_struct map struct ignored_any }
}

impl<'a> MapAccess<'a> for Texts<'a> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((name, _)) = self.pairs.get(self.at) else { return Ok(None) };
        let name: value::StrDeserializer<'_, Fault> = (*name).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let text = self.next().ok_or_else(|| Fault::custom("a value without a key"))?;
        text.named(|text| seed.deserialize(text))
    }
}

impl<'a> SeqAccess<'a> for Texts<'a> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(text) = self.next() else { return Ok(None) };
        text.named(|text| seed.deserialize(text)).map(Some)
    }
}

/// A named string.
#[derive(Clone, Copy)]
struct Text<'a> {
    name: &'a str,
    text: &'a str,
}

impl<'a> Text<'a> {
    /// Parses the string; an error has its name.
    fn named<T>(self, read: impl FnOnce(Self) -> Result<T, Fault>) -> Result<T, Fault> {
        read(self).map_err(|fault| fault.inside(Step::key(self.name)))
    }

    fn wrong(self, expected: &dyn Expected) -> Fault {
        Fault::invalid_value(Unexpected::Str(self.text), expected)
    }

    /// Parses the string as JSON.
    fn json<T>(self, example: &str, read: impl FnOnce(Node<'a>) -> Result<T, Fault>) -> Result<T, Fault> {
        let expected = format!("JSON, such as `{example}`");
        args::visit(self.text, read).unwrap_or_else(|| Err(self.wrong(&expected.as_str())))
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident $type:ident)*) => {$(
        fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
            match self.text.trim().parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(self.wrong(&stringify!($type))),
            }
        }
    )*};
}

/// Types that need JSON.
macro_rules! json {
    ($($method:ident($($argument:ident: $type:ty),*) $example:literal)*) => {$(
        fn $method<V: Visitor<'a>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, Fault> {
            self.json($example, |node| node.$method($($argument,)* visitor))
        }
    )*};
}

impl<'a> Deserializer<'a> for Text<'a> {
    type Error = Fault;

    parsed! {
        deserialize_i8 visit_i8 i8 deserialize_i16 visit_i16 i16 deserialize_i32 visit_i32 i32
        deserialize_i64 visit_i64 i64 deserialize_i128 visit_i128 i128 deserialize_u8 visit_u8 u8
        deserialize_u16 visit_u16 u16 deserialize_u32 visit_u32 u32 deserialize_u64 visit_u64 u64
        deserialize_u128 visit_u128 u128 deserialize_f32 visit_f32 f32 deserialize_f64 visit_f64 f64
    }

    json! {
        deserialize_seq() "[\"a\", \"b\"]"
        deserialize_tuple(length: usize) "[\"a\", \"b\"]"
        deserialize_tuple_struct(name: &'static str, length: usize) "[\"a\", \"b\"]"
        deserialize_map() "{\"a\": \"b\"}"
        deserialize_struct(name: &'static str, fields: &'static [&'static str]) "{\"a\": \"b\"}"
    }

    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.text.trim().parse() {
            Ok(value) => visitor.visit_bool(value),
            Err(_) => Err(self.wrong(&"`true` or `false`")),
        }
    }

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_borrowed_str(self.text)
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if self.text.trim_start().starts_with('{') {
            return self.json("{\"a\": \"b\"}", |node| node.deserialize_enum(name, variants, visitor));
        }
        if !variants.contains(&self.text) {
            return Err(Fault::unknown_variant(self.text, variants));
        }
        let variant: value::StrDeserializer<'_, Fault> = self.text.into_deserializer();
        visitor.visit_enum(variant)
    }

    forward_to_deserialize_any! {
        <V: Visitor<'a>> char str string bytes byte_buf unit unit_struct identifier ignored_any
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
    fn lists_and_objects_are_read_from_json() {
        #[derive(Debug, Deserialize, PartialEq)]
        struct Lists {
            labels: Vec<String>,
            pair: Option<(u8, bool)>,
            unit: Option<std::collections::HashMap<String, f64>>,
        }
        let pairs = [("labels", r#"["a", "b"]"#), ("pair", "[1, true]"), ("unit", r#"{"x": 1}"#)];
        let unit = Some([("x".to_owned(), 1.0)].into());
        let want = Lists { labels: vec!["a".to_owned(), "b".to_owned()], pair: Some((1, true)), unit };
        assert_eq!(read::<Lists>(&pairs), Ok(want));
        for (labels, want) in [
            ("x", r#"argument `labels`: expected JSON, such as `["a", "b"]`, got the string "x""#),
            ("5", "argument `labels`: expected an array, got the number 5"),
            (r#"["a", 5]"#, "argument `labels[1]`: expected a string, got the number 5"),
        ] {
            assert_eq!(read::<Lists>(&[("labels", labels)]), Err(want.to_owned()));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (result, want) in [
            (read::<f64>(&[("n", "x")]).map(drop), r#"argument `n`: expected a number, got the string "x""#),
            (
                read::<u8>(&[("n", "-1")]).map(drop),
                r#"argument `n`: expected an integer from 0 to 255, got the string "-1""#,
            ),
            (read::<All>(&[("n", "1")]).map(drop), "argument `unit` is missing (required)"),
            (
                read::<Unit>(&[("u", "yard")]).map(drop),
                r#"argument `u`: expected one of `metre`, `foot`, got the string "yard""#,
            ),
            (
                read::<u64>(&[("n", "18446744073709551616")]).map(drop),
                "argument `n`: expected an integer from 0 to 18446744073709551615, got the string \"18446744073709551616\"",
            ),
            (read::<f64>(&[("a", "1"), ("b", "2")]).map(drop), "arguments: expected one value, got 2"),
        ] {
            assert_eq!(result, Err(want.to_owned()));
        }
    }
}
