//! A JSON parser that reports duplicate members.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The maximum number of duplicate members that are reported.
const MOST: usize = 20;

/// Parses a value, and returns pointers to its duplicate members. The value has the last one of each.
pub(crate) fn value(text: &str) -> Result<(Value, Vec<String>), serde_json::Error> {
    let mut doubled = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Node { path: &mut Vec::new(), doubled: &mut doubled }.deserialize(&mut reader)?;
    reader.end()?;
    Ok((value, doubled))
}

/// Escapes a segment of a JSON Pointer.
pub(crate) fn escaped(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

struct Node<'a> {
    path: &'a mut Vec<String>,
    doubled: &'a mut Vec<String>,
}

impl Node<'_> {
    fn below(&mut self) -> Node<'_> {
        Node { path: self.path, doubled: self.doubled }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        self.path.push(String::new());
        loop {
            if let Some(last) = self.path.last_mut() {
                *last = items.len().to_string();
            }
            let Some(item) = access.next_element_seed(self.below())? else { break };
            items.push(item);
        }
        self.path.pop();
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            self.path.push(escaped(&key));
            if members.contains_key(&key) && self.doubled.len() < MOST {
                self.doubled.push(format!("/{}", self.path.join("/")));
            }
            let member = access.next_value_seed(self.below())?;
            self.path.pop();
            members.insert(key, member);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_that_are_there_twice_are_told() {
        let (read, doubled) = value(r#"{"a":1,"b":[{"c/d":true,"c/d":null,"x":"é"}],"a":-2.5}"#).unwrap();
        assert_eq!(read, json!({ "a": -2.5, "b": [{ "c/d": null, "x": "é" }] }));
        assert_eq!(doubled, ["/b/0/c~1d", "/a"]);
        assert!(value("{} 1").is_err());
        assert!(value(&"[".repeat(10_000)).is_err());
    }
}
