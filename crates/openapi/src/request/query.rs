//! Queries: pairs of encoded names and values. Forms are written in the same way.

use serde_json::Value;

use super::{
    ArgumentError,
    encode::{component, reserved},
    values::{flat, text_of},
};
use crate::operation::{Parameter, Style, Values};

/// The maximum depth of an object in the style `deepObject`.
const DEEPEST: usize = 16;

/// A query under construction.
#[derive(Default)]
pub(super) struct Query(String);

impl Query {
    pub(super) fn new(fixed: &str) -> Self {
        let pairs = fixed.split('&').filter(|pair| !pair.is_empty());
        let encoded = pairs.map(|pair| match pair.split_once('=') {
            Some((name, value)) => format!("{}={}", component(name), component(value)),
            None => component(pair),
        });
        Self(encoded.collect::<Vec<_>>().join("&"))
    }

    /// Adds a parameter. `is_taken` says which names belong to others: an object's members must not have them.
    pub(super) fn add(
        &mut self,
        parameter: &Parameter,
        value: &Value,
        is_taken: impl Fn(&str) -> bool,
    ) -> Result<(), ArgumentError> {
        let Values::Styled { style, explode, allow_reserved } = parameter.values else {
            self.pair(&parameter.name, &component(&value.to_string()));
            return Ok(());
        };
        let encode = if allow_reserved { reserved } else { component };
        for (name, value) in pairs(&parameter.name, value, (style, explode), encode) {
            if name != parameter.name && is_taken(&name) {
                return Err(ArgumentError::new(&parameter.argument, &format!("must not set `{name}`")));
            }
            self.pair(&name, &value);
        }
        Ok(())
    }

    /// Adds a value in a style.
    pub(super) fn styled(&mut self, name: &str, value: &Value, style: (Style, bool)) {
        for (name, value) in pairs(name, value, style, component) {
            self.pair(&name, &value);
        }
    }

    /// Adds a name, and a value that is encoded already.
    fn pair(&mut self, name: &str, value: &str) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(&component(name));
        self.0.push('=');
        self.0.push_str(value);
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// Returns the names that a value is written under, each with an encoded value.
fn pairs(
    name: &str,
    value: &Value,
    (style, explode): (Style, bool),
    encode: impl Fn(&str) -> String + Copy,
) -> Vec<(String, String)> {
    let delimiter = match style {
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        _ => ",",
    };
    let one = |value: String| vec![(name.to_owned(), value)];
    let text = |value: &Value| encode(&text_of(value));
    match value {
        value if style == Style::DeepObject => {
            let mut found = Vec::new();
            deep(name, value, 0, encode, &mut found);
            found
        }
        Value::Array(items) if explode => items.iter().map(|item| (name.to_owned(), text(item))).collect(),
        Value::Array(items) => one(items.iter().map(text).collect::<Vec<_>>().join(delimiter)),
        Value::Object(members) if explode => members.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
        Value::Object(members) => one(flat(members, false, encode).join(delimiter)),
        value => one(text(value)),
    }
}

/// Writes an object as `name[key]=value`, and what is below it in the same way.
fn deep(
    name: &str,
    value: &Value,
    depth: usize,
    encode: impl Fn(&str) -> String + Copy,
    found: &mut Vec<(String, String)>,
) {
    match value {
        Value::Object(members) if depth < DEEPEST => {
            members.iter().for_each(|(key, value)| deep(&format!("{name}[{key}]"), value, depth + 1, encode, found));
        }
        Value::Array(items) if depth < DEEPEST => {
            let numbered = items.iter().enumerate();
            numbered.for_each(|(at, value)| deep(&format!("{name}[{at}]"), value, depth + 1, encode, found));
        }
        value => found.push((name.to_owned(), encode(&text_of(value)))),
    }
}
