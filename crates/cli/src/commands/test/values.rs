//! Saved values and environment variables in strings: `${name}` and `${env:NAME}`.

use std::{collections::HashMap, env};

use serde_json::Value;

/// The values that earlier calls saved.
#[derive(Clone, Debug, Default)]
pub(super) struct Values(HashMap<String, Value>);

/// A part of a string.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    /// The name between `${` and `}`.
    Name(&'a str),
}

const ENVIRONMENT: &str = "env:";

impl Values {
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Fills in a string. A string that is one `${name}` has the type of the value.
    ///
    /// # Errors
    /// If there is no such value; the message names it.
    pub(super) fn fill_text(&self, text: &str) -> Result<Value, String> {
        let parts = parts(text);
        if let [Part::Name(name)] = parts.as_slice() {
            return self.get(name);
        }
        let mut filled = String::with_capacity(text.len());
        for part in parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Name(name) => match self.get(name)? {
                    Value::String(text) => filled.push_str(&text),
                    value => filled.push_str(&value.to_string()),
                },
            }
        }
        Ok(filled.into())
    }

    /// Fills in a string that stays a string.
    pub(super) fn fill_string(&self, text: &str) -> Result<String, String> {
        Ok(match self.fill_text(text)? {
            Value::String(text) => text,
            value => value.to_string(),
        })
    }

    /// Fills in all strings of a value. Keys of objects stay as they are.
    pub(super) fn fill(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => self.fill_text(text)?,
            Value::Array(items) => Value::Array(items.iter().map(|item| self.fill(item)).collect::<Result<_, _>>()?),
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), self.fill(value)?)))
                    .collect::<Result<_, String>>()?,
            ),
            value => value.clone(),
        })
    }

    fn get(&self, name: &str) -> Result<Value, String> {
        if let Some(variable) = name.strip_prefix(ENVIRONMENT) {
            let value = env::var(variable);
            return value.map(Value::from).map_err(|_| format!("the environment variable `{variable}` is not set"));
        }
        self.0.get(name).cloned().ok_or_else(|| format!("`${{{name}}}` has no value: the call that saves it failed"))
    }
}

/// Returns the names of saved values in a string.
pub(super) fn names(text: &str) -> Vec<&str> {
    let name = |part| match part {
        Part::Name(name) if !name.starts_with(ENVIRONMENT) => Some(name),
        _ => None,
    };
    parts(text).into_iter().filter_map(name).collect()
}

/// Splits a string. `$${` stands for `${`.
fn parts(text: &str) -> Vec<Part<'_>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            parts.push(Part::Text(&rest[..at - 1]));
            parts.push(Part::Text("${"));
            rest = &rest[at + 2..];
            continue;
        }
        let Some(length) = rest[at..].find('}') else { break };
        if at > 0 {
            parts.push(Part::Text(&rest[..at]));
        }
        parts.push(Part::Name(&rest[at + 2..at + length]));
        rest = &rest[at + length + 1..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strings_are_filled_in() {
        let mut values = Values::default();
        values.set("id", json!(7));
        values.set("who", json!("Ada"));
        for (text, expected) in [
            ("${id}", json!(7)),
            ("notes://${id}/${who}", json!("notes://7/Ada")),
            ("$${id} costs $5", json!("${id} costs $5")),
            ("${", json!("${")),
            ("", json!("")),
        ] {
            assert_eq!(values.fill_text(text).unwrap(), expected, "{text}");
        }
        assert_eq!(values.fill(&json!({ "a": ["${id}", 1] })).unwrap(), json!({ "a": [7, 1] }));
        assert_eq!(values.fill_string("${id}").unwrap(), "7");
    }

    #[test]
    fn missing_values_are_named() {
        let values = Values::default();
        assert!(values.fill_text("x ${token}").unwrap_err().contains("`${token}`"));
        assert!(values.fill_text("${env:COUPLET_UNSET}").unwrap_err().contains("`COUPLET_UNSET`"));
        assert_eq!(names("${a} $${b} ${env:C} ${d}"), ["a", "d"]);
    }
}
