//! Properties in the order of their declaration, as far as it is known.
//!
//! `serde_json` sorts the members of an object, unless a feature of the whole program is on. The declaration order is known
//! for the arguments themselves. Further inside, only the list of required properties has it: they come first, in that
//! order, and the others follow.

use couplet_types::RawJson;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use super::declared::Declared;

/// Writes a schema with its properties in order.
pub(crate) fn print(schema: &Value) -> RawJson {
    RawJson::new(&Ordered(schema)).expect("a `Value` is always printable")
}

/// Writes the schema of a type with its properties as the type declares them.
pub(crate) fn print_declared(schema: &Value, declared: &Declared) -> RawJson {
    RawJson::new(&Root { schema, declared }).expect("a `Value` is always printable")
}

/// The names of an object schema's properties, in order.
pub(crate) fn properties(schema: &Map<String, Value>) -> Vec<&str> {
    let known = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    let mut names: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    // The sort is stable: what is not required stays as it was.
    names.sort_by_key(|name| required.iter().position(|r| r == name).unwrap_or(usize::MAX));
    names
}

/// The same, as a type declares them.
pub(crate) fn declared_properties<'s>(schema: &'s Map<String, Value>, declared: &Declared) -> Vec<&'s str> {
    let mut names = properties(schema);
    names.sort_by_key(|name| declared.position(name));
    names
}

struct Ordered<'a>(&'a Value);

/// The whole schema of a type.
struct Root<'a> {
    schema: &'a Value,
    declared: &'a Declared,
}

struct Properties<'a> {
    names: Vec<&'a str>,
    values: &'a Map<String, Value>,
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(Ordered)),
            Value::Object(schema) => write(schema, properties(schema), serializer),
            plain => plain.serialize(serializer),
        }
    }
}

impl Serialize for Root<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.schema {
            Value::Object(schema) => write(schema, declared_properties(schema, self.declared), serializer),
            other => Ordered(other).serialize(serializer),
        }
    }
}

/// Writes an object, and its properties in the order of their names here.
fn write<S: Serializer>(schema: &Map<String, Value>, names: Vec<&str>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(schema.len()))?;
    for (key, value) in schema {
        match value {
            Value::Object(values) if key == "properties" => {
                map.serialize_entry(key, &Properties { names: names.clone(), values })?;
            }
            _ => map.serialize_entry(key, &Ordered(value))?,
        }
    }
    map.end()
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.names.iter().filter_map(|name| Some((*name, Ordered(self.values.get(*name)?))));
        serializer.collect_map(entries)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn required_properties_come_first_and_in_order() {
        let inner = json!({ "properties": { "x": {}, "b": {} }, "required": ["x"] });
        let schema =
            json!({ "type": "object", "properties": { "a": {}, "c": inner, "b": {} }, "required": ["c", "b"] });
        let inner = r#"{"properties":{"x":{},"b":{}},"required":["x"]}"#;
        let expected =
            format!(r#"{{"properties":{{"c":{inner},"b":{{}},"a":{{}}}},"required":["c","b"],"type":"object"}}"#);
        assert_eq!(print(&schema).get(), expected);
    }
}
