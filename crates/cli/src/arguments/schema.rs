//! The part of JSON Schema that is needed to convert typed arguments.
//!
//! Schemas come from servers: an invalid one accepts anything, and recursion is bounded.

use std::sync::Arc;

use couplet::types::{Map, RawJson};
use serde::Deserialize;
use serde_json::Value;

/// A schema or subschema.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    root: Arc<Value>,
    here: Arc<Keywords>,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
    Null,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Keywords {
    #[serde(rename = "type")]
    kind: Value,
    properties: Option<Map<RawJson>>,
    required: Vec<String>,
    items: Option<RawJson>,
    #[serde(rename = "enum")]
    choices: Option<Vec<Value>>,
    #[serde(rename = "const")]
    only: Option<Value>,
    any_of: Vec<RawJson>,
    one_of: Vec<RawJson>,
    all_of: Vec<RawJson>,
    #[serde(rename = "$ref")]
    reference: Option<String>,
    title: Option<String>,
    description: Option<String>,
    #[serde(rename = "default")]
    default_value: Option<RawJson>,
    additional_properties: Option<RawJson>,
}

impl Schema {
    /// The maximum length of a chain of references.
    const REFERENCES: usize = 16;

    pub(crate) fn new(schema: &RawJson) -> Self {
        let root = Arc::new(schema.parse().unwrap_or_default());
        Self::at(root, schema)
    }

    fn at(root: Arc<Value>, schema: &RawJson) -> Self {
        let mut here: Keywords = schema.parse().unwrap_or_default();
        for _ in 0..Self::REFERENCES {
            let Some(target) = here.reference.take().and_then(|r| resolve(&root, &r)) else { break };
            let description = here.description.take();
            here = target;
            here.description = description.or(here.description);
        }
        Self { root, here: Arc::new(here) }
    }

    fn part(&self, schema: &RawJson) -> Self {
        Self::at(self.root.clone(), schema)
    }

    /// Returns the schema of a member.
    pub(crate) fn property(&self, name: &str) -> Option<Self> {
        let own = self.property_here(name);
        own.or_else(|| self.parts().find_map(|part| part.property_here(name)))
    }

    /// Looks at `properties` only, so that a recursive schema cannot loop.
    fn property_here(&self, name: &str) -> Option<Self> {
        self.here.properties.as_ref()?.get(name).map(|schema| self.part(schema))
    }

    fn has_properties(&self) -> bool {
        self.here.properties.as_ref().is_some_and(|properties| !properties.is_empty())
    }

    /// Returns the names of the members, in the order of the schema.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.here.properties.iter().flat_map(Map::keys)
    }

    /// Returns the names of the required members.
    pub(crate) fn required(&self) -> impl Iterator<Item = &str> {
        self.here.required.iter().map(String::as_str)
    }

    /// Whether a member is required.
    pub(crate) fn is_required(&self, name: &str) -> bool {
        self.here.required.iter().any(|n| n == name)
    }

    /// Whether other members are accepted: if `additionalProperties` says so, or there are no `properties`. If
    /// `additionalProperties` is absent, an unknown name is more likely a typing mistake.
    pub(crate) fn is_open(&self) -> bool {
        match &self.here.additional_properties {
            Some(schema) => schema.get() != "false",
            None => !self.has_properties() && (self.here.properties.is_none() || self.here.kind != "object"),
        }
    }

    /// Returns the schema of additional members.
    pub(crate) fn additional(&self) -> Self {
        let schema = self.here.additional_properties.clone().unwrap_or_else(RawJson::empty_object);
        self.part(&schema)
    }

    /// Returns the schema of the items of a list.
    pub(crate) fn items(&self) -> Self {
        self.part(&self.here.items.clone().unwrap_or_else(RawJson::empty_object))
    }

    /// Returns the alternatives of `anyOf` and `oneOf`.
    pub(crate) fn alternatives(&self) -> Vec<Self> {
        self.here.any_of.iter().chain(&self.here.one_of).map(|schema| self.part(schema)).collect()
    }

    fn parts(&self) -> impl Iterator<Item = Self> {
        self.here.all_of.iter().map(|schema| self.part(schema))
    }

    /// Returns the values of `enum` or `const`.
    pub(crate) fn choices(&self) -> Option<Vec<Value>> {
        self.here.only.clone().map(|only| vec![only]).or_else(|| self.here.choices.clone())
    }

    /// Returns the accepted types; empty means any.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<Kind> = match &self.here.kind {
            Value::String(name) => Kind::of(name).into_iter().collect(),
            Value::Array(names) => names.iter().filter_map(Value::as_str).filter_map(Kind::of).collect(),
            _ => Vec::new(),
        };
        if kinds.is_empty() {
            kinds = self.parts().flat_map(|part| part.kinds_here()).collect();
        }
        if kinds.is_empty() && self.has_properties() {
            kinds.push(Kind::Object);
        }
        kinds
    }

    fn kinds_here(&self) -> Vec<Kind> {
        self.here.kind.as_str().and_then(Kind::of).into_iter().collect()
    }

    /// Whether an object is accepted.
    pub(crate) fn is_object(&self) -> bool {
        let takes = |schema: &Self| schema.kinds().contains(&Kind::Object);
        takes(self) || self.alternatives().iter().any(takes)
    }

    /// Whether a list is accepted.
    pub(crate) fn is_list(&self) -> bool {
        let takes = |schema: &Self| schema.kinds().contains(&Kind::Array);
        takes(self) || self.alternatives().iter().any(takes)
    }

    /// Returns the schema of the nested object, or of the objects in the list, with the separator for paths.
    pub(crate) fn inner(&self) -> Option<(&'static str, Self)> {
        let has_members = |schema: &Self| schema.names().next().is_some();
        let object = |schema: &Self| std::iter::once(schema.clone()).chain(schema.alternatives()).find(has_members);
        if let Some(schema) = object(self) {
            return Some((".", schema));
        }
        let list = std::iter::once(self.clone()).chain(self.alternatives()).find(Self::is_list)?;
        object(&list.items()).map(|schema| ("[].", schema))
    }

    /// Returns the description or title, on one line.
    pub(crate) fn description(&self) -> Option<String> {
        self.here.description.as_deref().or(self.here.title.as_deref()).map(crate::output::text::line)
    }

    /// Returns the default value.
    pub(crate) fn default_value(&self) -> Option<&RawJson> {
        self.here.default_value.as_ref()
    }

    /// Formats the type briefly: `string`, `integer[]`, `"a"|"b"`.
    pub(crate) fn sketch(&self) -> String {
        self.sketch_to(3)
    }

    fn sketch_to(&self, depth: usize) -> String {
        let join = |mut all: Vec<String>| {
            all.dedup();
            all.join("|")
        };
        if let Some(choices) = self.choices() {
            return join(choices.iter().map(Value::to_string).collect());
        }
        let alternatives = self.alternatives();
        if !alternatives.is_empty() && depth > 0 {
            return join(
                alternatives.iter().map(|schema| schema.sketch_to(depth - 1)).filter(|s| s != "null").collect(),
            );
        }
        let kinds = self.kinds();
        let named = kinds.iter().filter(|kind| **kind != Kind::Null || kinds.len() == 1);
        let name = |kind: &Kind| match kind {
            Kind::Array if depth > 0 => format!("{}[]", self.items().sketch_to(depth - 1)),
            kind => kind.name().to_owned(),
        };
        if kinds.is_empty() { "any".to_owned() } else { join(named.map(name).collect()) }
    }
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        [Self::String, Self::Integer, Self::Number, Self::Boolean, Self::Array, Self::Object, Self::Null]
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
            Self::Null => "null",
        }
    }
}

/// Resolves a reference within the schema.
fn resolve(root: &Value, reference: &str) -> Option<Keywords> {
    let target = root.pointer(reference.strip_prefix('#')?)?;
    serde_json::from_value(target.clone()).ok()
}
