//! JSON values with sorted keys and canonical numbers.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor},
    ser,
};
use serde_json::value::RawValue;

use super::{Hints, Uncanonical, number};

/// A JSON value with sorted keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    /// In its canonical form.
    Number(String),
    String(String),
    Array(Vec<Node>),
    /// Sorted by UTF-16 code units, as JCS (RFC 8785) does.
    Object(Vec<(String, Node)>),
}

impl Node {
    /// The maximum nesting.
    const DEEPEST: usize = 128;

    pub(super) fn parse(text: &str) -> Result<Self, Uncanonical> {
        Self::at(text.trim_ascii(), 0)
    }

    /// Parses a value level by level, because numbers must not be converted on the way.
    fn at(text: &str, depth: usize) -> Result<Self, Uncanonical> {
        let wrong = |error: serde_json::Error| Uncanonical(error.to_string());
        if depth > Self::DEEPEST {
            return Err(Uncanonical(format!("it is nested deeper than {} levels", Self::DEEPEST)));
        }
        match text.as_bytes().first() {
            Some(b'{') => Self::object(serde_json::from_str(text).map_err(wrong)?, depth),
            Some(b'[') => {
                let elements: Vec<&RawValue> = serde_json::from_str(text).map_err(wrong)?;
                elements
                    .into_iter()
                    .map(|element| Self::at(element.get(), depth + 1))
                    .collect::<Result<_, _>>()
                    .map(Self::Array)
            }
            Some(b'"') => serde_json::from_str(text).map(Self::String).map_err(wrong),
            Some(b't' | b'f') => serde_json::from_str(text).map(Self::Bool).map_err(wrong),
            Some(b'n') => serde_json::from_str(text).map(|()| Self::Null).map_err(wrong),
            _ => {
                let number: &RawValue = serde_json::from_str(text).map_err(wrong)?;
                let canonical = number::canonical(number.get());
                canonical.map(Self::Number).ok_or_else(|| Uncanonical("a number is out of range".to_owned()))
            }
        }
    }

    fn object(Members(members): Members<'_>, depth: usize) -> Result<Self, Uncanonical> {
        let parse = |(key, value): (String, &RawValue)| Ok((key, Self::at(value.get(), depth + 1)?));
        let mut members: Vec<_> = members.into_iter().map(parse).collect::<Result<_, _>>()?;
        members.sort_by(|(a, _): &(String, Self), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        match members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(twice) => Err(Uncanonical(format!("`{}` appears twice", couplet_core::excerpt(&twice[0].0, 60)))),
            None => Ok(Self::Object(members)),
        }
    }

    fn members(&mut self) -> Option<&mut Vec<(String, Self)>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Applies a change to the members of a member that is an object, and removes it if none is left.
    fn reduce(&mut self, key: &str, change: impl FnOnce(&mut Vec<(String, Self)>)) {
        let Some(members) = self.members() else { return };
        let Some(at) = members.iter().position(|(own, _)| own == key) else { return };
        let Some(inner) = members[at].1.members() else { return };
        change(inner);
        if inner.is_empty() {
            members.remove(at);
        }
    }

    /// Removes the hints.
    pub(super) fn take_hints(&mut self) -> Hints {
        let mut hints = Hints::default();
        self.reduce("annotations", |members| {
            members.retain(|(key, value)| {
                let hint = match &**key {
                    "readOnlyHint" => &mut hints.read_only_hint,
                    "destructiveHint" => &mut hints.destructive_hint,
                    "idempotentHint" => &mut hints.idempotent_hint,
                    "openWorldHint" => &mut hints.open_world_hint,
                    _ => return true,
                };
                let Self::Bool(value) = value else { return true };
                *hint = Some(*value);
                false
            });
        });
        hints
    }

    /// Removes the members of `_meta` that differ from one response to the next.
    pub(super) fn drop_volatile(&mut self) {
        const VOLATILE: [&str; 3] = ["traceparent", "tracestate", "baggage"];
        self.reduce("_meta", |members| members.retain(|(key, _)| !VOLATILE.contains(&&**key)));
    }

    /// Writes the canonical form.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(text) => out.push_str(text),
            Self::String(text) => write_string(out, text),
            Self::Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    element.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    write_string(out, key);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// Returns the canonical form.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }
}

/// Strings are escaped by serde_json as JCS requires.
fn write_string(out: &mut String, text: &str) {
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(text) => {
                RawValue::from_string(text.clone()).map_err(ser::Error::custom)?.serialize(serializer)
            }
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(elements) => serializer.collect_seq(elements),
            Self::Object(members) => serializer.collect_map(members.iter().map(|(key, value)| (key, value))),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(text.get()).map_err(de::Error::custom)
    }
}

/// The members of an object as they were written.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}
