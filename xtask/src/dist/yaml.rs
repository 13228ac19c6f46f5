//! YAML as JSON values, as far as the workflows use it.

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// Parses a document. All scalars but `null` are strings; a key that is there twice is an error.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut open = vec![Open::List(Vec::new())];
    for next in Parser::new_from_str(text) {
        let (event, _) = next.map_err(|e| e.to_string())?;
        let value = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) if text.is_empty() || text == "~" => Value::Null,
            Event::Scalar(text, ..) => text.into_owned().into(),
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Value::Array(items),
                Some(Open::Map(members, _)) => Value::Object(members),
                None => return Err("not balanced".to_owned()),
            },
            Event::Alias(_) => return Err("GitHub has no aliases in all places: none are used".to_owned()),
            _ => continue,
        };
        match open.last_mut() {
            Some(Open::List(items)) => items.push(value),
            Some(Open::Map(members, key)) => match key.take() {
                None => *key = Some(value.as_str().ok_or("a key has to be a string")?.to_owned()),
                Some(key) if members.contains_key(&key) => return Err(format!("`{key}` is there twice")),
                Some(key) => drop(members.insert(key, value)),
            },
            None => return Err("not balanced".to_owned()),
        }
    }
    match open.pop() {
        Some(Open::List(mut documents)) if documents.len() == 1 => Ok(documents.remove(0)),
        _ => Err("expected one document".to_owned()),
    }
}

/// A collection that has not ended.
enum Open {
    List(Vec<Value>),
    /// The members, and the key whose value is next.
    Map(Map<String, Value>, Option<String>),
}

#[test]
fn collections_and_scalars_are_read() {
    let value = parse("a: [1, {b: c}]\nd:\ne: |\n  x\n  y\n").unwrap();
    assert_eq!(value, serde_json::json!({ "a": ["1", { "b": "c" }], "d": null, "e": "x\ny\n" }));
    assert_eq!(parse("a: 1\na: 2\n").unwrap_err(), "`a` is there twice");
    assert!(parse("a: [1\n").is_err());
}
