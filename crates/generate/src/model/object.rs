//! Objects: members, optional members, and all others.

use std::collections::HashSet;

use super::{
    Docs, Field, Kind, Object, Type,
    build::{Builder, Place, Shape},
};
use crate::{json::Json, names::pascal};

impl<'a> Builder<'a> {
    pub(super) fn object(&mut self, schema: &Json, place: Place<'a, '_>) -> Shape {
        let required: HashSet<&str> =
            schema.get("required").and_then(Json::items).into_iter().flatten().filter_map(Json::as_str).collect();
        let properties = schema.get("properties").and_then(Json::members).unwrap_or_default();
        let mut fields = Vec::new();
        for (name, property) in properties {
            let type_name = place.join(&pascal(name));
            let ty = self.convert(property, place.named(&type_name));
            let is_required = required.contains(name.as_str());
            fields.push(Field { name: name.clone(), docs: Docs::of(property), ty, is_required });
        }
        // A member may be required although nothing is said about it.
        let known: HashSet<&str> = properties.iter().map(|(name, _)| name.as_str()).collect();
        let mut unknown: Vec<&str> = required.into_iter().filter(|name| !known.contains(name)).collect();
        unknown.sort_unstable();
        let any = |name: &str| Field { name: name.to_owned(), docs: Docs::default(), ty: Type::Any, is_required: true };
        fields.extend(unknown.into_iter().map(any));
        let rest = self.rest(schema, place);
        if fields.is_empty() {
            return Shape::Type(Type::Map(Box::new(rest.unwrap_or(Type::Any))));
        }
        Shape::Kind(Kind::Object(Object { fields, rest }))
    }

    /// The type of the members that have no name in the schema, if it mentions them.
    fn rest(&mut self, schema: &Json, place: Place<'a, '_>) -> Option<Type> {
        let name = place.join("Value");
        let patterns = schema.get("patternProperties").and_then(Json::members).unwrap_or_default();
        match (schema.get("additionalProperties"), patterns) {
            (None | Some(Json::Bool(false)), [(_, only)]) => Some(self.convert(only, place.named(&name))),
            (None | Some(Json::Bool(false)), []) => None,
            (Some(schema), []) if *schema != Json::Bool(true) => Some(self.convert(schema, place.named(&name))),
            _ => Some(Type::Any),
        }
    }
}

/// Whether a schema describes objects without any members: a tool without arguments.
pub(super) fn is_empty(schema: &Json) -> bool {
    const STRUCTURE: &[&str] =
        &["$ref", "allOf", "anyOf", "oneOf", "patternProperties", "$dynamicRef", "const", "enum"];
    let has_none = |key: &str| match schema.get(key) {
        None => true,
        Some(Json::Object(members)) => members.is_empty(),
        Some(Json::Array(items)) => items.is_empty(),
        Some(_) => false,
    };
    let is_closed = matches!(schema.get("additionalProperties"), None | Some(Json::Bool(false)));
    is_closed
        && has_none("properties")
        && has_none("required")
        && STRUCTURE.iter().all(|key| schema.get(key).is_none())
        && matches!(schema.get("type"), None | Some(Json::String(_)))
}
