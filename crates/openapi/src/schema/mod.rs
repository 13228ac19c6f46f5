//! Schemas of a document, rewritten for hosts: inlined, without keywords that model APIs reject, of limited size.
//!
//! Every keyword of the result was checked for its type, so the result is always valid JSON Schema, whatever the document
//! contains. This module knows schemas; it does not know parameters, bodies or tools.

mod gather;
mod keywords;
mod null;

use serde_json::{Map, Value, json};

use crate::{
    document::{Document, members},
    text,
};
use gather::Parts;
pub(crate) use null::{allow_null, without_null};

/// The bytes that a schema has besides its names and its description, about.
const NODE_BYTES: usize = 20;

/// The maximum length of a description within a schema.
const DESCRIPTION: usize = 400;

/// The description of `null`.
pub(crate) const NULL: &str = "May be `null`.";

/// The direction in which values of a schema are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Arguments: members that only the API writes are left out, and `null` where it cannot be sent.
    Request,
    /// Results: only the types remain, each with `null`, since APIs deviate from their documents.
    Response,
}

/// A rewriter of schemas. One is used for one tool, so that its budget is the tool's.
pub(crate) struct Rewriter<'a> {
    document: &'a Document,
    direction: Direction,
    /// Whether `null` can be sent. A schema that has it is not listed as it is: see [`without_null`].
    pub(crate) nulls: bool,
    /// The number of levels that are written; below there is only a type.
    levels: usize,
    /// The bytes that were written, about, and the maximum.
    bytes: usize,
    most_bytes: usize,
    /// The deepest level that was reached.
    deepest: usize,
    /// The schemas that are being written, outermost first. One that comes again is recursion.
    open: Vec<&'a Map<String, Value>>,
}

impl<'a> Rewriter<'a> {
    pub(crate) fn new(document: &'a Document, direction: Direction, levels: usize, most_bytes: usize) -> Self {
        Self { document, direction, nulls: false, levels, bytes: 0, most_bytes, deepest: 0, open: Vec::new() }
    }

    /// Whether more was to be written than one result may have. The result is then incomplete.
    pub(crate) fn is_over_budget(&self) -> bool {
        self.bytes > self.most_bytes
    }

    /// Returns the deepest level that was reached: with any larger number of levels the result is the same.
    pub(crate) fn deepest(&self) -> usize {
        self.deepest
    }

    /// Rewrites a schema.
    pub(crate) fn rewrite(&mut self, schema: &'a Value) -> Map<String, Value> {
        self.node(schema, 0)
    }

    /// Returns the schemas that a schema consists of.
    pub(crate) fn parts(&self, schema: &'a Value) -> Parts<'a> {
        Parts::of(self.document, schema)
    }

    fn node(&mut self, schema: &'a Value, level: usize) -> Map<String, Value> {
        self.bytes += NODE_BYTES;
        self.deepest = self.deepest.max(level);
        let parts = self.parts(schema);
        let mut out = Map::new();
        let kind = parts.kind();
        if let Some(kind) = kind {
            out.insert("type".into(), self.kind(kind, level));
        }
        let itself = self.document.resolve(schema).as_object();
        let is_recursive = itself.is_some_and(|it| self.open.iter().any(|open| std::ptr::eq(*open, it)));
        if level >= self.levels || is_recursive || self.is_over_budget() {
            self.cut(&parts, &mut out);
            self.nullable(&parts, &mut out);
            return out;
        }
        let outside = self.open.len();
        self.open.extend(itself);
        if self.direction == Direction::Request {
            self.bytes += self.describe(&parts, DESCRIPTION, &mut out);
            keywords::copy(&parts, kind, &mut out);
            self.alternatives(&parts, level, &mut out);
        }
        match kind {
            Some("object") => self.object(&parts, level, &mut out),
            Some("array") => self.array(&parts, level, &mut out),
            _ => {}
        }
        self.open.truncate(outside);
        self.nullable(&parts, &mut out);
        out
    }

    /// Allows `null` where the document does, and says so to models, which do not see it in the schema.
    fn nullable(&mut self, parts: &Parts<'a>, out: &mut Map<String, Value>) {
        if self.nulls && parts.is_nullable(self.document) && allow_null(out) {
            keywords::describe(NULL, out);
            self.bytes += NULL.len();
        }
    }

    /// The type, which is nullable in results.
    fn kind(&self, kind: &str, level: usize) -> Value {
        match self.direction {
            Direction::Response if level > 0 => json!([kind, "null"]),
            _ => kind.into(),
        }
    }

    /// Ends a schema that is too deep, recursive or beyond the budget.
    fn cut(&self, parts: &Parts<'a>, out: &mut Map<String, Value>) {
        if self.direction == Direction::Request {
            self.describe(parts, DESCRIPTION / 4, out);
            if parts.kind() == Some("array") {
                out.insert("items".into(), json!({}));
            }
        }
    }

    /// Writes the description, and returns its length.
    fn describe(&self, parts: &Parts<'a>, most: usize, out: &mut Map<String, Value>) -> usize {
        let described = parts.find("description").or_else(|| parts.find("title"));
        let description = text::clean(described.and_then(Value::as_str).unwrap_or_default(), most);
        let length = description.len();
        if length > 0 {
            out.insert("description".into(), description.into());
        }
        length
    }

    fn alternatives(&mut self, parts: &Parts<'a>, level: usize, out: &mut Map<String, Value>) {
        let alternatives = parts.alternatives(self.document);
        if alternatives.len() < 2 || out.contains_key("enum") {
            if let kinds @ [_, _, ..] = &parts.kinds()[..] {
                out.insert("anyOf".into(), kinds.iter().map(|kind| json!({ "type": kind })).collect());
            }
            return;
        }
        let mut written: Vec<Value> = Vec::new();
        for alternative in alternatives {
            let schema = Value::Object(self.node(alternative, level + 1));
            if !written.contains(&schema) {
                written.push(schema);
            }
        }
        // One that allows everything makes the others meaningless.
        if written.iter().all(|schema| schema.as_object().is_some_and(|schema| !schema.is_empty())) {
            out.insert("anyOf".into(), Value::Array(written));
        }
    }

    fn object(&mut self, parts: &Parts<'a>, level: usize, out: &mut Map<String, Value>) {
        let mut properties = Map::new();
        for (name, property) in parts.properties() {
            if self.is_over_budget() {
                break;
            }
            if !properties.contains_key(name) && !self.is_hidden(property) {
                self.bytes += name.len();
                let written = self.node(property, level + 1);
                properties.insert(name.to_owned(), Value::Object(written));
            }
        }
        if self.direction == Direction::Request {
            let required: Vec<Value> =
                parts.required().filter(|name| properties.contains_key(*name)).map(Value::from).collect();
            if !required.is_empty() {
                out.insert("required".into(), Value::Array(required));
            }
            match parts.find("additionalProperties") {
                Some(Value::Bool(false)) if parts.iter().count() == 1 => {
                    out.insert("additionalProperties".into(), false.into());
                }
                Some(values @ Value::Object(members)) if !members.is_empty() && properties.is_empty() => {
                    let written = self.node(values, level + 1);
                    out.insert("additionalProperties".into(), Value::Object(written));
                }
                _ => {}
            }
        }
        if !properties.is_empty() {
            out.insert("properties".into(), Value::Object(properties));
        }
    }

    fn array(&mut self, parts: &Parts<'a>, level: usize, out: &mut Map<String, Value>) {
        let items = match parts.find("items") {
            Some(items @ Value::Object(_)) => self.node(items, level + 1),
            _ => Map::new(),
        };
        out.insert("items".into(), Value::Object(items));
    }

    /// Whether values in this direction do not have a property.
    pub(crate) fn is_hidden(&self, property: &'a Value) -> bool {
        let flag = match self.direction {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
        };
        property == &Value::Bool(false) || self.document.resolve(property).get(flag) == Some(&Value::Bool(true))
    }
}

/// Returns the first place where a value does not fit a schema that was written for [`Direction::Response`].
pub(crate) fn mismatch(schema: &Value, value: &Value) -> Option<String> {
    let mut path = String::new();
    let expected = walk(schema, value, &mut path)?;
    Some(format!("`{}` is not {expected}", if path.is_empty() { "/" } else { &path }))
}

fn walk(schema: &Value, value: &Value, path: &mut String) -> Option<String> {
    let fits = |kind: &Value| match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("null") => value.is_null(),
        _ => true,
    };
    let is_valid = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(fits),
        kind => fits(kind),
    };
    if !is_valid {
        let expected = schema["type"].get(0).unwrap_or(&schema["type"]).as_str().unwrap_or_default();
        return Some(format!("of the type `{expected}`"));
    }
    let length = path.len();
    let mut into = |step: &str, schema: &Value, value: &Value| {
        path.push('/');
        path.push_str(step);
        let found = walk(schema, value, path);
        if found.is_none() {
            path.truncate(length);
        }
        found
    };
    match value {
        Value::Object(_) => members(&schema["properties"]).find_map(|(name, s)| into(name, s, value.get(name)?)),
        Value::Array(items) => {
            let schema = schema.get("items")?;
            items.iter().enumerate().find_map(|(at, item)| into(&at.to_string(), schema, item))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
