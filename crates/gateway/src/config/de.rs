//! Deserializes values from a tree with positions, so that each error has its line.

use std::{cell::RefCell, fmt, ops::Range};

use couplet_hosts::{
    suggest,
    tree::{Member, Node, Value},
};
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor},
    forward_to_deserialize_any,
};

/// An error in a value of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The place in the text, if known.
    pub(crate) span: Option<Range<usize>>,
    pub(crate) what: String,
}

impl Problem {
    pub(crate) fn new(span: &Range<usize>, what: impl Into<String>) -> Self {
        Self { span: Some(span.clone()), what: what.into() }
    }

    /// Sets the place, unless a more precise one is known.
    fn at(mut self, span: &Range<usize>) -> Self {
        self.span.get_or_insert_with(|| span.clone());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: fmt::Display>(what: T) -> Self {
        Self { span: None, what: what.to_string() }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self { span: None, what: unknown(field, expected) }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let known: Vec<_> = expected.iter().map(|name| format!("`{name}`")).collect();
        let close = suggest::sentence(variant, expected.iter().map(|&name| name.to_owned()));
        let rest = if close.is_empty() { format!(": it is one of {}", known.join(", ")) } else { close };
        Self { span: None, what: format!("`{variant}` is not known here{rest}") }
    }

    fn missing_field(field: &'static str) -> Self {
        Self { span: None, what: format!("`{field}` is missing") }
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self { span: None, what: format!("`{field}` occurs twice") }
    }
}

/// The message for an unknown key, with the nearest known one.
pub(crate) fn unknown(key: &str, known: &[&str]) -> String {
    let close = suggest::sentence(key, known.iter().map(|&name| name.to_owned()));
    let rest = if close.is_empty() && known.len() <= 12 {
        let names: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
        format!(": the keys are {}", names.join(", "))
    } else {
        close
    };
    format!("the key `{key}` is not known here{rest}")
}

/// Deserializes a value from a node.
///
/// # Errors
/// What is wrong, with its place.
pub(crate) fn read<'de, T: Deserialize<'de>>(node: &'de Node) -> Result<T, Problem> {
    T::deserialize(Reader(node))
}

#[derive(Clone, Copy)]
struct Reader<'de>(&'de Node);

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let node = self.0;
        // A visitor that does not know a key says so without a place: it is that of the last key.
        let place = RefCell::new(node.span.clone());
        let read = match &node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(raw) => number(raw, visitor),
            Value::Text(text) | Value::Other(text) => visitor.visit_borrowed_str(text),
            Value::List(items) => visitor.visit_seq(Items(items.iter())),
            Value::Table(members) => visitor.visit_map(Members { all: members, next: 0, place: &place }),
        };
        read.map_err(|problem| problem.at(&place.borrow()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    /// A string is a variant without a value; a table with one member is a variant with its value.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let node = self.0;
        let variant = match &node.value {
            Value::Text(text) => Variant { name: text, span: &node.span, value: None },
            Value::Table(members) => match members.as_slice() {
                [one] => Variant { name: &one.key, span: &one.span, value: Some(&one.value) },
                _ => return Err(Problem::new(&node.span, "expected a table with exactly one member")),
            },
            _ => return Err(Problem::new(&node.span, format!("expected a string, not {}", node.kind()))),
        };
        visitor.visit_enum(variant).map_err(|problem| problem.at(&node.span))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

fn number<'de, V: Visitor<'de>>(raw: &str, visitor: V) -> Result<V::Value, Problem> {
    let raw = raw.replace('_', "");
    if let Ok(value) = raw.parse() {
        return visitor.visit_u64(value);
    }
    if let Ok(value) = raw.parse() {
        return visitor.visit_i64(value);
    }
    match raw.parse::<f64>() {
        Ok(value) if value.is_finite() => visitor.visit_f64(value),
        _ => Err(de::Error::custom(format!("the number `{raw}` is out of range"))),
    }
}

struct Items<'de>(std::slice::Iter<'de, Node>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Problem> {
        self.0.next().map(|node| seed.deserialize(Reader(node)).map_err(|problem| problem.at(&node.span))).transpose()
    }
}

struct Members<'de, 'p> {
    all: &'de [Member],
    next: usize,
    place: &'p RefCell<Range<usize>>,
}

impl<'de> MapAccess<'de> for Members<'de, '_> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Problem> {
        let Some(member) = self.all.get(self.next) else { return Ok(None) };
        self.place.replace(member.span.clone());
        // Readers of JSON differ in which one of two they take; a configuration must have one meaning.
        if self.all[..self.next].iter().any(|earlier| earlier.key == member.key) {
            return Err(Problem::new(&member.span, format!("`{}` occurs twice", member.key)));
        }
        let key = seed.deserialize(member.key.as_str().into_deserializer());
        key.map(Some).map_err(|problem: Problem| problem.at(&member.span))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        let Some(member) = self.all.get(self.next) else { return Err(de::Error::custom("a value without a key")) };
        self.next += 1;
        seed.deserialize(Reader(&member.value)).map_err(|problem| {
            let problem = problem.at(&member.value.span);
            // Messages of serde do not name the member; those of a member inside of it do.
            let is_named = problem.what.starts_with('`') || problem.what.starts_with("the key ");
            if is_named { problem } else { Problem { what: format!("`{}`: {}", member.key, problem.what), ..problem } }
        })
    }
}

struct Variant<'de> {
    name: &'de str,
    span: &'de Range<usize>,
    value: Option<&'de Node>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Problem;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Problem> {
        let named = seed.deserialize(self.name.into_deserializer()).map_err(|problem: Problem| problem.at(self.span));
        Ok((named?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Problem;

    fn unit_variant(self) -> Result<(), Problem> {
        match self.value {
            None => Ok(()),
            Some(_) => Err(Problem::new(self.span, format!("`{}` takes no value", self.name))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Problem> {
        let name = self.name;
        let value = self.value.ok_or_else(|| Problem::new(self.span, format!("`{name}` needs a value")))?;
        seed.deserialize(Reader(value)).map_err(|problem| problem.at(&value.span))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Problem> {
        self.newtype(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Problem> {
        self.newtype(visitor)
    }
}

impl<'de> Variant<'de> {
    fn newtype<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let name = self.name;
        let value = self.value.ok_or_else(|| Problem::new(self.span, format!("`{name}` needs a value")))?;
        Reader(value).deserialize_any(visitor)
    }
}
