//! Tool arguments: reading them, and saying what is wrong with them in words a model can act on.
//!
//! Good arguments are read by `serde_json` and nothing else. Only after a failure are they read again, by a
//! deserialiser that keeps track of where it is; it is slower and needs no reader of its own beyond raw JSON text.

use std::{fmt, vec};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, Error, Expected, Unexpected, Visitor},
};
use serde_json::value::RawValue;

/// Reads the arguments of a tool.
///
/// # Errors
/// With a text that names the argument and says why it cannot be read. Long values are cut, at 40 characters.
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
    serde_json::from_str(json).map_err(|error| match serde_json::from_str::<&'a RawValue>(json) {
        Err(error) => format!("arguments are not JSON: {error}"),
        Ok(raw) => match T::deserialize(Node::value(raw)) {
            Err(fault) => fault.to_string(),
            Ok(_) => Fault::from(error).to_string(),
        },
    })
}

/// What is wrong, and where.
#[derive(Debug)]
struct Fault {
    /// Innermost first: it grows as the error travels out.
    path: Vec<Step>,
    /// What follows the name of the argument.
    text: String,
}

#[derive(Debug)]
enum Step {
    Key(String),
    Index(usize),
}

impl Fault {
    fn at(name: &str, text: impl Into<String>) -> Self {
        Self { path: vec![Step::Key(capped(name, MAX_QUOTED))], text: text.into() }
    }

    fn here(text: impl fmt::Display) -> Self {
        Self { path: Vec::new(), text: format!(": {text}") }
    }

    fn inside(mut self, step: Step) -> Self {
        self.path.push(step);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return write!(f, "arguments{}", self.text);
        }
        let mut path = String::new();
        for step in self.path.iter().rev() {
            match step {
                Step::Key(key) if path.is_empty() => path.push_str(key),
                Step::Key(key) => path.extend([".", key]),
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        write!(f, "argument `{}`{}", capped(&path, MAX_MESSAGE), self.text)
    }
}

impl std::error::Error for Fault {}

impl From<serde_json::Error> for Fault {
    /// Leaves out the line and the column: they say nothing to someone who did not write the text by hand.
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        Self::custom(text.split(" at line ").next().unwrap_or(&text))
    }
}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::here(capped(&message.to_string(), MAX_MESSAGE))
    }

    fn invalid_type(got: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = match (got, expected.to_string()) {
            (Unexpected::Str(_), expected) if expected == "a borrowed string" => "a string without escapes".to_owned(),
            (_, expected) => kind(&expected).to_owned(),
        };
        Self::here(format_args!("expected {expected}, got {}", quoted(got)))
    }

    fn invalid_value(got: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::here(format_args!("expected {}, got {}", range(&expected.to_string()), quoted(got)))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::here(format_args!("expected {}, got {length} items", kind(&expected.to_string())))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::here(format_args!("expected {}, got {}", one_of(expected), quoted(Unexpected::Str(variant))))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let hint = match (nearest(field, expected), expected) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) => "no arguments are known here".to_owned(),
            (None, _) => format!("known are {}", listed(expected)),
        };
        Self::at(field, format!(" is unknown; {hint}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::at(field, " is missing (required)")
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::at(field, " is given twice")
    }
}

const MAX_QUOTED: usize = 40;
const MAX_MESSAGE: usize = 200;
/// How far down paths are kept. Every level is scanned once more, and what is below is left to `serde_json`.
const MAX_DEPTH: usize = 16;

fn capped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn quoted(got: Unexpected<'_>) -> String {
    match got {
        Unexpected::Bool(value) => format!("the boolean {value}"),
        Unexpected::Unsigned(value) => format!("the number {value}"),
        Unexpected::Signed(value) => format!("the number {value}"),
        Unexpected::Float(value) => format!("the number {value:?}"),
        Unexpected::Str(value) => format!("the string {:?}", capped(value, MAX_QUOTED)),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "an array".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        other => capped(&other.to_string(), MAX_QUOTED),
    }
}

/// Serde names Rust types; whoever sent JSON knows JSON's.
fn kind(expected: &str) -> &str {
    match expected {
        "f32" | "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => {
            "an integer"
        }
        "a sequence" => "an array",
        "a map" => "an object",
        "unit" => "null",
        "a borrowed string" => "a string",
        _ if expected.starts_with("struct ") => "an object",
        _ => expected,
    }
}

fn range(expected: &str) -> &str {
    match expected {
        "u8" => "an integer from 0 to 255",
        "u16" => "an integer from 0 to 65535",
        "u32" => "an integer from 0 to 4294967295",
        "u64" | "u128" | "usize" => "an integer of 0 or more",
        "i8" => "an integer from -128 to 127",
        "i16" => "an integer from -32768 to 32767",
        "i32" => "an integer from -2147483648 to 2147483647",
        _ => kind(expected),
    }
}

fn one_of(names: &[&str]) -> String {
    match names {
        [name] => format!("`{name}`"),
        _ => format!("one of {}", listed(names)),
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The known name that is the fewest edits away, if they are few for its length.
fn nearest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let name = capped(name, MAX_QUOTED).to_lowercase();
    let distances = known.iter().map(|known| (distance(&name, &known.to_lowercase()), *known));
    distances.filter(|(distance, known)| *distance <= known.chars().count().div_ceil(3)).min().map(|(_, known)| known)
}

/// How many characters must be inserted, removed, replaced or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let above = &rows[i - 1];
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// A piece of JSON text, known to be well formed.
#[derive(Clone, Copy)]
struct Node<'a> {
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
                _ => visitor.visit_f64(self.read()?),
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
        let _ = (name, fields);
        // Serde would read fields by position; whoever sent an array meant something else.
        match self.first() {
            b'[' => Err(Fault::invalid_type(Unexpected::Seq, &"an object")),
            _ => self.deserialize_any(visitor),
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

/// Reads nothing: every value is of the wrong type.
struct Refuse(String);

impl<'a> Visitor<'a> for Refuse {
    type Value = std::convert::Infallible;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
