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

    /// Adds a parameter. `is_taken` says which names an object's members must not have.
    pub(super) fn add(
        &mut self,
        parameter: &Parameter,
        value: &Value,
        is_taken: impl Fn(&str) -> bool,
    ) -> Result<(), ArgumentError> {
        let Values::Styled { style, explode, allow_reserved } = parameter.values else {
            self.pair(&component(&parameter.name), &component(&value.to_string()));
            return Ok(());
        };
        let is_spread = style == Style::Form && explode;
        if let Some(key) =
            value.as_object().filter(|_| is_spread).and_then(|members| members.keys().find(|key| is_taken(key)))
        {
            return Err(ArgumentError::new(&parameter.argument, &format!("must not have a member `{key}`")));
        }
        let encode = if allow_reserved { reserved } else { component };
        self.styled(&parameter.name, value, (style, explode), encode);
        Ok(())
    }

    /// Adds a value in a style.
    pub(super) fn styled(
        &mut self,
        name: &str,
        value: &Value,
        (style, explode): (Style, bool),
        encode: impl Fn(&str) -> String + Copy,
    ) {
        let plain = component(name);
        let delimiter = match style {
            Style::SpaceDelimited => "%20",
            Style::PipeDelimited => "%7C",
            _ => ",",
        };
        match value {
            value if style == Style::DeepObject => self.deep(&plain, value, 0, encode),
            Value::Array(items) if explode => items.iter().for_each(|item| self.pair(&plain, &encode(&text_of(item)))),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| encode(&text_of(item))).collect();
                self.pair(&plain, &items.join(delimiter));
            }
            Value::Object(members) if explode => {
                members.iter().for_each(|(key, value)| self.pair(&component(key), &encode(&text_of(value))));
            }
            Value::Object(members) => self.pair(&plain, &flat(members, false, encode).join(delimiter)),
            value => self.pair(&plain, &encode(&text_of(value))),
        }
    }

    /// Adds an object as `name[key]=value`, and what is below it in the same way.
    fn deep(&mut self, name: &str, value: &Value, depth: usize, encode: impl Fn(&str) -> String + Copy) {
        match value {
            Value::Object(members) if depth < DEEPEST => {
                for (key, value) in members {
                    self.deep(&format!("{name}%5B{}%5D", component(key)), value, depth + 1, encode);
                }
            }
            Value::Array(items) if depth < DEEPEST => {
                for (at, value) in items.iter().enumerate() {
                    self.deep(&format!("{name}%5B{at}%5D"), value, depth + 1, encode);
                }
            }
            value => self.pair(name, &encode(&text_of(value))),
        }
    }

    fn pair(&mut self, name: &str, value: &str) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(name);
        self.0.push('=');
        self.0.push_str(value);
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}
