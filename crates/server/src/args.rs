//! Parsing of tool arguments, with error messages that a model can act on.
//!
//! Valid arguments are parsed by `serde_json` and nothing else. Only after a failure they are parsed again, by a
//! deserializer that tracks the path of each value; it is slower.

use std::{fmt, vec};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, Error, Unexpected, Visitor},
};
use serde_json::value::RawValue;

use crate::{
    check,
    fault::{Fault, MAX_QUOTED, Step, capped, nearest, one_of},
};

/// Parses the arguments of a tool.
///
/// # Errors
/// If they are invalid, with a message that names the argument and the reason. It quotes at most 40 characters of a value.
///
/// ```
/// use couplet_server::args;
///
/// #[derive(Debug, serde::Deserialize)]
/// struct Add {
///     a: f64,
///     b: f64,
/// }
///
/// assert_eq!(args::parse::<Add>(r#"{"a": 1, "b": 2}"#)?.b, 2.0);
/// assert_eq!(
///     args::parse::<Add>(r#"{"a": "x", "b": 2}"#).unwrap_err(),
///     r#"argument `a`: expected a number, got the string "x""#,
/// );
/// assert_eq!(args::parse::<Add>(r#"{"a": 1}"#).unwrap_err(), "argument `b` is missing (required)");
/// # Ok::<(), String>(())
/// ```
pub fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, String> {
    let error = match serde_json::from_str(json) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let raw = serde_json::from_str::<&'a RawValue>(json).map_err(|e| format!("arguments are not JSON: {e}"))?;
    match T::deserialize(Node::value(raw)) {
        Err(fault) => Err(fault.to_string()),
        // JSON Schema takes `1000.0` for an integer, and `serde_json` does not.
        Ok(value) if check::has_fraction(json) => Ok(value),
        Ok(_) => Err(Fault::from(error).to_string()),
    }
}

/// Parses JSON inside of a string, for values that can be sent as a string only.
pub(crate) fn visit<'a, T>(text: &'a str, read: impl FnOnce(Node<'a>) -> Result<T, Fault>) -> Option<Result<T, Fault>> {
    serde_json::from_str::<&'a RawValue>(text).ok().map(|raw| read(Node::value(raw)))
}

/// The depth to which paths are tracked. Every level is scanned once more; `serde_json` parses the levels below.
const MAX_DEPTH: usize = 16;

/// A part of a well-formed JSON text.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    raw: &'a RawValue,
    /// Keys are strings, but a map may have numbers for keys.
    is_key: bool,
    depth: usize,
}

impl<'a> Node<'a> {
    fn value(raw: &'a RawValue) -> Self {
        Self { raw, is_key: false, depth: 0 }
    }

    /// A key or a value in this one.
    fn inner(self, raw: &'a RawValue) -> Self {
        Self { raw, is_key: false, depth: self.depth + 1 }
    }

    fn members(self) -> Result<Members<'a>, Fault> {
        let Entries(entries) = self.read()?;
        let key = |key| Node { is_key: true, ..self.inner(key) };
        let members: Vec<_> = entries.into_iter().map(|(name, value)| (key(name), self.inner(value))).collect();
        Ok(Members { left: members.into_iter(), value: None })
    }

    fn items(self) -> Result<Items<'a>, Fault> {
        Ok(Items { of: self, left: self.read::<Vec<&'a RawValue>>()?.into_iter(), read: 0 })
    }

    fn is_too_deep(self) -> bool {
        self.depth >= MAX_DEPTH && matches!(self.first(), b'{' | b'[')
    }

    fn first(self) -> u8 {
        self.raw.get().bytes().next().unwrap_or_default()
    }

    fn read<T: Deserialize<'a>>(self) -> Result<T, Fault> {
        serde_json::from_str(self.raw.get()).map_err(Fault::from)
    }

    fn name(self) -> String {
        self.read::<String>().map_or_else(|_| String::new(), |name| capped(&name, MAX_QUOTED))
    }

    /// Adds a hint about a member whose name is close to a known one: serde ignores unknown members, which may be the cause.
    fn hinted(self, fault: Fault, fields: &[&str]) -> Fault {
        const MOST: usize = 64;
        let Ok(Entries(entries)) = self.read() else { return fault };
        let names: Vec<_> = entries.iter().take(MOST).map(|(name, _)| self.inner(name).name()).collect();
        let misspelt = names.iter().filter(|name| !fields.contains(&name.as_str())).find_map(|name| {
            let known = fields.iter().copied().filter(|field| names.iter().all(|given| given != field));
            Some((name, nearest(name, known)?))
        });
        match misspelt {
            Some((name, near)) if !fault.is_of_unknown() => {
                fault.hinted(&format!("; `{name}` is unknown: did you mean `{near}`?"))
            }
            _ => fault,
        }
    }

    fn number<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        let unquoted: Option<&'a RawValue> = match self.is_key {
            true => serde_json::from_str(self.raw.get().trim_matches('"')).ok(),
            false => None,
        };
        unquoted.map_or(self, |raw| self.inner(raw)).deserialize_any(visitor)
    }
}

macro_rules! numbers {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.number(visitor)
        })*
    };
}

impl<'a> Deserializer<'a> for Node<'a> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.first() {
            _ if self.is_too_deep() => {
                let mut json = serde_json::Deserializer::from_str(self.raw.get());
                json.deserialize_any(visitor).map_err(Fault::from)
            }
            b'{' => visitor.visit_map(self.members()?),
            b'[' => {
                let mut items = self.items()?;
                let value = visitor.visit_seq(&mut items)?;
                match items.left.len() {
                    0 => Ok(value),
                    left => Err(Fault::here(format_args!("expected {} items, got {}", items.read, items.read + left))),
                }
            }
            b'"' => match self.read::<&'a str>() {
                Ok(text) => visitor.visit_borrowed_str(text),
                Err(_) => visitor.visit_string(self.read()?),
            },
            b't' | b'f' => visitor.visit_bool(self.read()?),
            b'n' => visitor.visit_unit(),
            _ => match (self.read(), self.read()) {
                (Ok(number), _) => visitor.visit_u64(number),
                (_, Ok(number)) => visitor.visit_i64(number),
                _ => match check::integer(self.raw.get()) {
                    Some(Ok(number)) => visitor.visit_u64(number),
                    Some(Err(number)) => visitor.visit_i64(number),
                    None => visitor.visit_f64(self.read()?),
                },
            },
        }
    }

    fn deserialize_u128<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.read() {
            Ok(number) => visitor.visit_u128(number),
            Err(_) => self.number(visitor),
        }
    }

    fn deserialize_i128<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.read() {
            Ok(number) => visitor.visit_i128(number),
            Err(_) => self.number(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.first() {
            b'n' => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(self, name: &'static str, visitor: V) -> Result<V::Value, Fault> {
        // `RawValue` asks for itself by this name, and only `serde_json` knows the answer.
        if name == "$serde_json::private::RawValue" {
            let mut json = serde_json::Deserializer::from_str(self.raw.get());
            return json.deserialize_newtype_struct(name, visitor).map_err(Fault::from);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let _ = name;
        // Serde would read fields by position, but an array was meant to be something else.
        match self.first() {
            b'[' => Err(Fault::invalid_type(Unexpected::Seq, &"an object")),
            _ => self.deserialize_any(visitor).map_err(|fault| self.hinted(fault, fields)),
        }
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.first() {
            _ if self.is_too_deep() => {
                let mut json = serde_json::Deserializer::from_str(self.raw.get());
                json.deserialize_enum(name, variants, visitor).map_err(Fault::from)
            }
            b'"' => visitor.visit_enum(Choice { variant: self, content: None }),
            b'{' => match self.members()?.left.as_slice() {
                [(variant, content)] => visitor.visit_enum(Choice { variant: *variant, content: Some(*content) }),
                _ => Err(Fault::here(format_args!("expected an object with one member, {}", one_of(variants)))),
            },
            _ => self.deserialize_any(Refuse(one_of(variants))).map(|never| match never {}),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    numbers! {
        deserialize_bool deserialize_f32 deserialize_f64 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'a>>
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map identifier
    }
}

/// The members of an object as they are written.
struct Entries<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'a> Deserialize<'a> for Entries<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'a> Visitor<'a> for Collect {
            type Value = Entries<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: de::MapAccess<'a>>(self, mut map: A) -> Result<Entries<'a>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

struct Members<'a> {
    left: vec::IntoIter<(Node<'a>, Node<'a>)>,
    value: Option<(Node<'a>, Node<'a>)>,
}

impl<'a> de::MapAccess<'a> for Members<'a> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.value = self.left.next();
        self.value.map(|(key, _)| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let (key, value) = self.value.take().ok_or_else(|| Fault::custom("a value was asked for before its key"))?;
        seed.deserialize(value).map_err(|fault| fault.inside(Step::Key(key.name())))
    }
}

struct Items<'a> {
    of: Node<'a>,
    left: vec::IntoIter<&'a RawValue>,
    read: usize,
}

impl<'a> de::SeqAccess<'a> for Items<'a> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(raw) = self.left.next() else { return Ok(None) };
        self.read += 1;
        seed.deserialize(self.of.inner(raw)).map(Some).map_err(|fault| fault.inside(Step::Index(self.read - 1)))
    }
}

/// A variant of an enum: `"name"`, or `{"name": content}`.
struct Choice<'a> {
    variant: Node<'a>,
    content: Option<Node<'a>>,
}

impl<'a> Choice<'a> {
    fn content<T>(self, read: impl FnOnce(Node<'a>) -> Result<T, Fault>) -> Result<T, Fault> {
        let name = self.variant.name();
        match self.content {
            Some(content) => read(content).map_err(|fault| fault.inside(Step::Key(name))),
            None => Err(Fault::here(format_args!("`{name}` needs a value: an object with the one member `{name}`"))),
        }
    }
}

impl<'a> de::EnumAccess<'a> for Choice<'a> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'a>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        Ok((seed.deserialize(self.variant)?, self))
    }
}

impl<'a> de::VariantAccess<'a> for Choice<'a> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.content {
            Some(_) => self.content(<()>::deserialize),
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, Fault> {
        self.content(|content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'a>>(self, length: usize, visitor: V) -> Result<V::Value, Fault> {
        self.content(|content| content.deserialize_tuple(length, visitor))
    }

    fn struct_variant<V: Visitor<'a>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.content(|content| content.deserialize_struct("", fields, visitor))
    }
}

/// A visitor that accepts nothing: every value has the wrong type.
struct Refuse(String);

impl<'a> Visitor<'a> for Refuse {
    type Value = std::convert::Infallible;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
