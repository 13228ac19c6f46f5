//! The declaration order of a type: the fields of a struct, and the variants of the enums in its fields.
//!
//! `schemars` and `serde_json` sort names, but serde passes them in declaration order to a deserializer. So the type is
//! deserialized from an empty input, once per tool, at registration.

use std::fmt;

use serde::{
    Deserializer,
    de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor, value},
    forward_to_deserialize_any,
};
use serde_json::{Map, Value};

/// The names that a type declares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared {
    /// The fields, with other names that they are read from.
    pub(crate) fields: &'static [&'static str],
    variants: Vec<(&'static str, &'static [&'static str])>,
}

impl Declared {
    /// The names that a type declares; none where it is read by hand, or has flattened fields.
    pub(crate) fn of<T: DeserializeOwned>() -> Self {
        let fields = T::deserialize(Probe { field: None }).err().map_or(&[][..], |Found(names)| names);
        let variants = fields.iter().filter_map(|field| {
            let Found(names) = T::deserialize(Probe { field: Some(*field) }).err()?;
            (!names.is_empty()).then_some((*field, names))
        });
        Self { fields, variants: variants.collect() }
    }

    /// The place of a property: those that are not declared come last.
    pub(crate) fn position(&self, name: &str) -> usize {
        self.fields.iter().position(|field| *field == name).unwrap_or(usize::MAX)
    }

    /// Sorts the values of enums in an object's properties.
    pub(crate) fn sort(&self, schema: &mut Value) {
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        let Some(properties) = properties else { return };
        for (field, variants) in &self.variants {
            if let Some(property) = properties.get_mut(*field).and_then(Value::as_object_mut) {
                sort_values(property, variants);
            }
        }
    }
}

fn sort_values(schema: &mut Map<String, Value>, variants: &[&str]) {
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.sort_by_key(|value| variants.iter().position(|variant| value == variant).unwrap_or(usize::MAX));
    }
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        sort_values(items, variants);
    }
}

/// Nothing, to read a type from: an object without members, or with one of which nothing is known.
#[derive(Clone, Copy)]
struct Probe {
    field: Option<&'static str>,
}

/// The names that were found, as an error: there is no value.
#[derive(Debug)]
struct Found(&'static [&'static str]);

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no value")
    }
}

impl std::error::Error for Found {}

impl de::Error for Found {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for Probe {
    type Error = Found;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Found> {
        match self.field {
            None => Err(Found(fields)),
            Some(_) => visitor.visit_map(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Found> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Found> {
        Err(Found(&[]))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Probe {
    type Error = Found;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Found> {
        let Some(field) = self.field else { return Ok(None) };
        let field: value::StrDeserializer<'_, Found> = field.into_deserializer();
        seed.deserialize(field).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Found> {
        seed.deserialize(Member)
    }
}

/// The value of a field: an enum, or something with one inside.
#[derive(Clone, Copy)]
struct Member;

impl<'de> Deserializer<'de> for Member {
    type Error = Found;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Found> {
        Err(Found(variants))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Found> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Found> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Found> {
        visitor.visit_seq(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Found> {
        Err(Found(&[]))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl<'de> SeqAccess<'de> for Member {
    type Error = Found;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Found> {
        seed.deserialize(*self).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Level {
        VeryHigh,
        Normal,
        Low,
    }

    #[derive(Deserialize)]
    #[allow(dead_code)]
    struct Search {
        zebra: Option<String>,
        #[serde(rename = "lv")]
        level: Option<Level>,
        apes: Vec<Level>,
        deep: Option<Box<Search>>,
    }

    #[test]
    fn names_come_as_they_are_declared() {
        let declared = Declared::of::<Search>();
        assert_eq!(declared.fields, ["zebra", "lv", "apes", "deep"]);
        let level = || json!({ "enum": ["low", "normal", "very-high"] });
        let mut schema = json!({ "properties": { "lv": level(), "apes": { "items": level() }, "deep": level() } });
        declared.sort(&mut schema);
        let sorted = json!({ "enum": ["very-high", "normal", "low"] });
        assert_eq!(schema, json!({ "properties": { "lv": sorted, "apes": { "items": sorted }, "deep": level() } }));
        assert!(Declared::of::<Vec<String>>().fields.is_empty());
    }
}
