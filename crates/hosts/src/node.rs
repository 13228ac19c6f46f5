//! A configuration as a tree, independent of its format, with the positions of its parts.
//!
//! ```
//! use couplet_hosts::{Format, tree::position};
//!
//! let text = "{\n  \"a\": [1, true] // a list\n}";
//! let root = Format::Jsonc.read("a.jsonc".as_ref(), text)?;
//! let list = root.get("a").unwrap();
//! assert_eq!((list.kind(), position(text, list.span.start)), ("a list", (2, 8)));
//! # Ok::<(), couplet_hosts::Error>(())
//! ```

use std::{fmt, ops::Range};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

/// A value and its range in the text. Values that were not parsed have the range `0..0`.
#[derive(Clone, Debug)]
pub struct Node {
    /// The range in the text, in bytes.
    pub span: Range<usize>,
    /// The value.
    pub value: Value,
}

/// The value of a [`Node`].
#[derive(Clone, Debug)]
pub enum Value {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A table, in the order of the text. A key may occur twice.
    Table(Vec<Member>),
    /// A value that only one format has, such as a date or an alias, as written.
    Other(String),
}

/// A member of a table.
#[derive(Clone, Debug)]
pub struct Member {
    /// The key.
    pub key: String,
    /// The range of the key.
    pub span: Range<usize>,
    /// The value.
    pub value: Node,
}

impl Node {
    pub(crate) fn new(value: Value) -> Self {
        Self { span: 0..0, value }
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::new(Value::Text(text.into()))
    }

    pub(crate) fn list(items: impl IntoIterator<Item = String>) -> Self {
        Self::new(Value::List(items.into_iter().map(Self::text).collect()))
    }

    pub(crate) fn table(members: impl IntoIterator<Item = (String, Self)>) -> Self {
        let member = |(key, value)| Member { key, span: 0..0, value };
        Self::new(Value::Table(members.into_iter().map(member).collect()))
    }

    /// Returns the string, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items of a list, if it is one.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the members of a table, if it is one.
    #[must_use]
    pub fn members(&self) -> Option<&[Member]> {
        match &self.value {
            Value::Table(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the member with a key; the last one if it occurs twice, as JSON parsers do.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.members()?.iter().rev().find(|m| m.key == key).map(|m| &m.value)
    }

    /// Returns the node at a path of keys.
    pub fn at<'a>(&self, path: impl IntoIterator<Item = &'a String>) -> Option<&Self> {
        path.into_iter().try_fold(self, |node, key| node.get(key))
    }

    /// Sets or removes the member at a path.
    pub(crate) fn with(mut self, path: &[String], value: Option<&Self>) -> Self {
        let Some((key, rest)) = path.split_first() else { return value.cloned().unwrap_or(self) };
        let mut members = match std::mem::replace(&mut self.value, Value::Null) {
            Value::Table(members) => members,
            _ => Vec::new(),
        };
        let at = members.iter().rposition(|m| m.key == *key);
        match (at, rest, value) {
            (Some(at), [], None) => drop(members.remove(at)),
            (None, [], None) => {}
            (Some(at), ..) => {
                let old = std::mem::replace(&mut members[at].value, Self::new(Value::Null));
                members[at].value = old.with(rest, value);
            }
            (None, ..) => members.push(Member {
                key: key.clone(),
                span: 0..0,
                value: Self::new(Value::Table(Vec::new())).with(rest, value),
            }),
        }
        self.value = Value::Table(members);
        self
    }

    /// Returns the kind of value with its article, for error messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Other(_) => "something else",
        }
    }
}

/// Equality ignores positions and the order of members; an empty table differs from an absent one.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Number(a), Value::Number(b))
            | (Value::Text(a), Value::Text(b))
            | (Value::Other(a), Value::Other(b)) => a == b,
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Table(a), Value::Table(b)) => {
                let sorted = |members: &[Member]| {
                    let mut all: Vec<usize> = (0..members.len()).collect();
                    all.sort_by(|&a, &b| members[a].key.cmp(&members[b].key));
                    all
                };
                let same = |(&x, &y): (&usize, &usize)| a[x].key == b[y].key && a[x].value == b[y].value;
                a.len() == b.len() && sorted(a).iter().zip(&sorted(b)).all(same)
            }
            _ => false,
        }
    }
}

/// For the table of hosts, which needs members in order.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Node;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_bool<E>(self, v: bool) -> Result<Node, E> {
                Ok(Node::new(Value::Bool(v)))
            }

            fn visit_i64<E>(self, v: i64) -> Result<Node, E> {
                Ok(Node::new(Value::Number(v.to_string())))
            }

            fn visit_str<E>(self, v: &str) -> Result<Node, E> {
                Ok(Node::text(v))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Node::new(Value::List(items)))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, Node>()? {
                    members.push(member);
                }
                Ok(Node::table(members))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
