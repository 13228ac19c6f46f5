//! The parts of a schema: itself, the targets of its references, and the members of `allOf`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::document::{Document, items, members};

/// Limits of parts and of nested references.
const MOST: usize = 64;
const DEEPEST: usize = 16;

/// The maximum number of values that are looked at: choices, and names of required properties.
const MOST_VALUES: usize = 1_000;

const KINDS: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];

/// The parts of a schema, nearest first. The nearest one that has a keyword decides.
pub(crate) struct Parts<'a>(Vec<&'a Map<String, Value>>);

impl<'a> Parts<'a> {
    pub(super) fn of(document: &'a Document, schema: &'a Value) -> Self {
        let mut parts = Vec::new();
        gather(document, schema, 0, &mut parts);
        let mut parts = Self(parts);
        // A single alternative is no choice.
        if let [only] = parts.alternatives(document)[..] {
            gather(document, only, 0, &mut parts.0);
        }
        parts
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a Map<String, Value>> {
        self.0.iter().copied()
    }

    /// Returns a keyword of the nearest part that has it.
    pub(crate) fn find(&self, keyword: &str) -> Option<&'a Value> {
        self.iter().find_map(|part| part.get(keyword))
    }

    /// Returns the types of a list of types, without `null` and arrays, which would need more than a type.
    pub(super) fn kinds(&self) -> Vec<&'a str> {
        let listed = self.find("type").filter(|kinds| kinds.is_array()).into_iter().flat_map(items);
        let known = |kind: &&str| KINDS.contains(kind) && *kind != "array";
        listed.take(MOST).filter_map(Value::as_str).filter(known).collect()
    }

    /// Returns the type, if there is exactly one besides `null`, or if the keywords imply one.
    pub(crate) fn kind(&self) -> Option<&'a str> {
        match self.find("type") {
            // Swagger 2.
            Some(Value::String(kind)) if kind == "file" => Some("string"),
            Some(Value::String(kind)) => KINDS.into_iter().find(|known| known == kind),
            Some(Value::Array(kinds)) => {
                let mut named = kinds.iter().take(MOST).filter_map(Value::as_str).filter(|kind| *kind != "null");
                match (named.next(), named.next()) {
                    (Some(kind), None) => KINDS.into_iter().find(|known| *known == kind),
                    _ => None,
                }
            }
            _ if self.find("properties").is_some() || self.find("additionalProperties").is_some() => Some("object"),
            _ if self.find("items").is_some() => Some("array"),
            _ => match self.find("enum") {
                Some(Value::Array(values)) => {
                    let mut values = values.iter().take(MOST_VALUES).peekable();
                    (values.peek().is_some() && values.all(|v| v.is_string() || v.is_null())).then_some("string")
                }
                _ => None,
            },
        }
    }

    /// Returns the alternatives of `oneOf`, `anyOf` or a list of types, without `null` and without those that only require
    /// members.
    pub(crate) fn alternatives(&self, document: &'a Document) -> Vec<&'a Value> {
        let listed = self.find("oneOf").or_else(|| self.find("anyOf"));
        let is_choice = |schema: &&Value| {
            let schema = document.resolve(schema);
            schema["type"] != "null"
                && ["type", "properties", "allOf", "oneOf", "anyOf", "enum", "const", "items", "additionalProperties"]
                    .iter()
                    .any(|keyword| schema.get(*keyword).is_some())
        };
        listed.into_iter().flat_map(items).take(MOST_VALUES).filter(is_choice).take(MOST).collect()
    }

    /// Whether `null` is allowed: by `nullable` of OpenAPI 3.0 and its predecessor, among the types, as an alternative or a
    /// choice, or because nothing is said.
    pub(crate) fn is_nullable(&self, document: &'a Document) -> bool {
        let is_null = |schema: &Value| match &schema["type"] {
            Value::Array(kinds) => kinds.iter().take(MOST).any(|kind| kind == "null"),
            kind => kind == "null",
        };
        let is_flagged = |schema: &Value| schema["nullable"] == true || schema["x-nullable"] == true;
        let listed = self.find("oneOf").or_else(|| self.find("anyOf"));
        let mut listed = listed.into_iter().flat_map(items).take(MOST_VALUES).map(|schema| document.resolve(schema));
        let flag = self.find("nullable").or_else(|| self.find("x-nullable"));
        if flag == Some(&Value::Bool(true)) || listed.any(|schema| is_null(schema) || is_flagged(schema)) {
            return true;
        }
        match (self.find("type"), self.find("enum"), self.find("const")) {
            (Some(Value::Array(kinds)), ..) => kinds.iter().take(MOST).any(|kind| kind == "null"),
            (Some(kind), ..) => kind == "null",
            (None, Some(values), _) => items(values).take(MOST_VALUES).any(Value::is_null),
            (None, None, Some(value)) => value.is_null(),
            (None, None, None) => self.kind().is_none() && self.alternatives(document).is_empty(),
        }
    }

    /// Returns the properties of all parts, nearest first; a name may come twice.
    pub(crate) fn properties(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.iter().filter_map(|part| part.get("properties")).flat_map(members)
    }

    /// Returns the names of required properties, each once.
    pub(crate) fn required(&self) -> impl Iterator<Item = &'a str> {
        let mut seen = BTreeSet::new();
        let listed =
            self.iter().filter_map(|part| part.get("required")).flat_map(|names| items(names).take(MOST_VALUES));
        listed.filter_map(Value::as_str).filter(move |name| seen.insert(*name))
    }
}

fn gather<'a>(document: &'a Document, schema: &'a Value, depth: usize, parts: &mut Vec<&'a Map<String, Value>>) {
    let Value::Object(members) = schema else { return };
    if depth > DEEPEST || parts.len() >= MOST || parts.iter().any(|part| std::ptr::eq(*part, members)) {
        return;
    }
    parts.push(members);
    if let Some(target) = members.get("$ref").and_then(Value::as_str).and_then(|reference| document.target(reference)) {
        gather(document, target, depth + 1, parts);
    }
    for member in members.get("allOf").into_iter().flat_map(items).take(MOST) {
        gather(document, member, depth + 1, parts);
    }
}
