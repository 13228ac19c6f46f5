//! Finds the line and the column of a JSON Pointer in a text.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;

use super::source::Unit;

/// The line and the column, counted from 1, of a pointer into a message.
pub(super) fn of(unit: &Unit<'_>, pointer: &str) -> (u64, u64) {
    let offset = offset(unit.text, pointer);
    let before = &unit.text[..offset];
    let line = before.matches('\n').count() as u64;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
    (unit.line + line, if line == 0 { unit.column + column } else { column })
}

/// The offset of the value at a pointer, or of its deepest existing ancestor.
fn offset(text: &str, pointer: &str) -> usize {
    let start = text.as_ptr() as usize;
    let Ok(mut current) = serde_json::from_str::<&RawValue>(text) else { return 0 };
    for token in pointer.split('/').skip(1) {
        match child(current.get(), &token.replace("~1", "/").replace("~0", "~")) {
            Some(next) => current = next,
            None => break,
        }
    }
    current.get().as_ptr() as usize - start
}

fn child<'a>(text: &'a str, token: &str) -> Option<&'a RawValue> {
    if text.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        return items.get(token.parse::<usize>().ok()?).copied();
    }
    let Members(members) = serde_json::from_str(text).ok()?;
    members.into_iter().rfind(|(key, _)| key == token).map(|(_, value)| value)
}

/// The members of an object in source order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> de::Visitor<'de> for Object {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = access.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Object).map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_lead_to_places() {
        let text = "{\n  \"a/b\": [1, {\"ü\": 2, \"c\": \"x\"}],\n  \"d\": {}\n}";
        let unit = Unit { column: 4, ..Unit::new(text, 10) };
        for (pointer, place) in [
            ("", (10, 5)),
            ("/a~1b", (11, 10)),
            ("/a~1b/0", (11, 11)),
            ("/a~1b/1/c", (11, 28)),
            ("/a~1b/1/none", (11, 14)),
            ("/d", (12, 8)),
        ] {
            assert_eq!(of(&unit, pointer), place, "{pointer}");
        }
        // The last of duplicate members counts.
        assert_eq!(of(&Unit::new(r#"{"a":1,"a":2}"#, 1), "/a"), (1, 12));
    }
}
