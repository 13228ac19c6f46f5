//! The canonical form of a definition, and its fingerprint.

use std::fmt;

use couplet_core::JsonText;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, SeqAccess, Visitor},
    ser,
};
use serde_json::value::RawValue;

use super::{Digest, Hints, number};

/// The digest of a definition, and the hints that are compared by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// The digest of the canonical form without hints and volatile `_meta` keys.
    pub digest: Digest,
    /// The hints of a tool.
    pub hints: Hints,
}

/// Computes the fingerprint of a definition.
///
/// The order of keys, the spelling of numbers and whitespace do not matter; every member does, known or not. The exceptions
/// are the hints of annotations, and trace context in `_meta`.
///
/// ```
/// use couplet_core::JsonText;
/// use couplet_host::pins::fingerprint;
///
/// let of = |text: &'static str| fingerprint(&JsonText::new(text).unwrap()).unwrap();
/// assert_eq!(of(r#"{"name": "a", "max": 1.0}"#), of(r#"{"max":1,"name":"a"}"#));
/// assert_ne!(of(r#"{"name": "a"}"#), of(r#"{"name": "a", "title": "b"}"#));
/// ```
///
/// # Errors
/// If a key appears twice in an object, or if a number is out of range: readers differ in their understanding of these.
pub fn fingerprint(definition: &JsonText) -> Result<Fingerprint, Uncanonical> {
    let mut tree = Node::parse(definition.as_str())?;
    let hints = tree.take_hints();
    tree.drop_volatile();
    let mut text = String::with_capacity(definition.as_str().len());
    tree.write(&mut text);
    Ok(Fingerprint { digest: Digest::of(text), hints })
}

/// Returns the canonical form of a JSON text, if it has one.
pub(crate) fn canonical_text(text: &str) -> Option<String> {
    Node::parse(text).ok().map(|node| node.text())
}

/// A definition without a canonical form.
#[derive(Debug)]
pub struct Uncanonical(serde_json::Error);

impl fmt::Display for Uncanonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the definition has no canonical form: {}", couplet_core::visible(&self.0.to_string()))
    }
}

impl std::error::Error for Uncanonical {}

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
    pub(super) fn parse(text: &str) -> Result<Self, Uncanonical> {
        serde_json::from_str(text).map_err(Uncanonical)
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

    /// Returns the nesting of arrays and objects.
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Array(elements) => 1 + elements.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(members) => 1 + members.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            _ => 0,
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
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Number(number::canonical(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element()? {
            elements.push(element);
        }
        Ok(Node::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members: Vec<(String, Node)> = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        if let Some(twice) = members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let key = couplet_core::excerpt(&twice[0].0, 60);
            return Err(de::Error::custom(format!("`{key}` appears twice")));
        }
        Ok(Node::Object(members))
    }
}
