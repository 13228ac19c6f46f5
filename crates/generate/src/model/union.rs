//! `oneOf`, `anyOf` and lists of types: one of several.

use std::borrow::Cow;

use super::{
    Docs, EnumValue, Kind, Type, Variant,
    build::{Alternative, Builder, Place, Shape},
    combine::merge,
};
use crate::{json::Json, names::pascal};

/// The number of alternatives that are told apart.
const MOST: usize = 200;

impl<'a> Builder<'a> {
    /// The type of a schema with `oneOf` or `anyOf`; none if it has neither, or if these only say what is required.
    pub(super) fn alternatives(&mut self, schema: &Json, place: Place<'a, '_>) -> Option<Shape> {
        let key = ["oneOf", "anyOf"].into_iter().find(|key| schema.get(key).is_some())?;
        let listed = schema.get(key).and_then(Json::items)?;
        if listed.is_empty() || listed.iter().all(|one| !is_structural(one)) {
            return None;
        }
        if listed.len() > MOST {
            return Some(Shape::Type(Type::Any));
        }
        if let Some(kind) = documented_strings(listed) {
            return Some(Shape::Kind(kind));
        }
        let base: Vec<_> = schema.members()?.iter().filter(|(k, _)| k != key && is_structure(k)).cloned().collect();
        // `type` beside alternatives only repeats what they say.
        let has_base = base.iter().any(|(k, _)| k != "type");
        let is_null = |one: &Json| one.get("type").and_then(Json::as_str) == Some("null");
        let is_nullable = listed.iter().any(is_null);
        let alternatives: Vec<_> = listed
            .iter()
            .filter(|one| !is_null(one))
            .enumerate()
            .map(|(at, one)| {
                let whole = if has_base { Cow::Owned(with_base(&base, one)) } else { Cow::Borrowed(one) };
                (variant_name(one, at), Alternative::Schema(whole))
            })
            .collect();
        Some(self.union(&alternatives, schema, is_nullable, place))
    }

    pub(super) fn union(
        &mut self,
        alternatives: &[(String, Alternative<'_>)],
        schema: &Json,
        is_nullable: bool,
        place: Place<'a, '_>,
    ) -> Shape {
        let or_null = |ty: Type| Shape::Type(if is_nullable { ty.nullable() } else { ty });
        if let ([(_, only)], false) = (alternatives, is_nullable)
            && let Alternative::OfType(name) = only
        {
            return self.one_type(name, schema, place);
        }
        let mut variants: Vec<Variant> = Vec::new();
        for (name, alternative) in alternatives {
            let type_name = if alternatives.len() == 1 { place.name.to_owned() } else { place.join(name) };
            let inside = place.named(&type_name);
            let ty = match alternative {
                Alternative::Schema(schema) => self.convert(schema, inside),
                Alternative::OfType(of) => match self.one_type(of, schema, inside) {
                    Shape::Type(ty) => ty,
                    Shape::Kind(kind) => self.nested(kind, inside),
                },
            };
            if !variants.iter().any(|variant| variant.ty == ty) {
                variants.push(Variant { name: name.clone(), ty });
            }
        }
        let has_null = variants.iter().any(|variant| matches!(variant.ty, Type::Nullable(_) | Type::Null));
        for variant in &mut variants {
            if let Type::Nullable(inner) = &variant.ty {
                variant.ty = (**inner).clone();
            }
        }
        variants.retain(|variant| variant.ty != Type::Null);
        let is_nullable = is_nullable || has_null;
        if variants.iter().any(|variant| variant.ty == Type::Any) {
            return Shape::Type(Type::Any);
        }
        match <[Variant; 1]>::try_from(variants) {
            Ok([only]) if is_nullable => Shape::Type(only.ty.nullable()),
            Ok([only]) => Shape::Type(only.ty),
            Err(none) if none.is_empty() => or_null(Type::Null),
            Err(variants) if is_nullable => Shape::Type(self.nested(Kind::Union(variants), place).nullable()),
            Err(variants) => Shape::Kind(Kind::Union(variants)),
        }
    }
}

/// An enumeration of strings.
pub(super) fn strings(texts: Vec<String>) -> Kind {
    Kind::Enum(texts.into_iter().map(|text| EnumValue { text, docs: Docs::default() }).collect())
}

/// Alternatives that are single strings, each with its documentation.
fn documented_strings(alternatives: &[Json]) -> Option<Kind> {
    let mut values: Vec<EnumValue> = Vec::new();
    for one in alternatives {
        let listed = one.get("const").map(std::slice::from_ref).or_else(|| one.get("enum").and_then(Json::items))?;
        for value in listed {
            let text = value.as_str()?.to_owned();
            if !values.iter().any(|known| known.text == text) {
                let mut docs = if listed.len() == 1 { Docs::of(one) } else { Docs::default() };
                docs.notes.clear();
                values.push(EnumValue { text, docs });
            }
        }
    }
    (!values.is_empty()).then_some(Kind::Enum(values))
}

/// Whether a keyword describes values, and has a meaning for types.
fn is_structure(key: &str) -> bool {
    matches!(key, "$ref" | "type" | "properties" | "additionalProperties" | "required" | "items" | "allOf")
}

/// Whether an alternative says more than what is required.
fn is_structural(one: &Json) -> bool {
    let keys = ["$ref", "type", "properties", "items", "allOf", "anyOf", "oneOf", "const", "enum", "prefixItems"];
    keys.iter().any(|key| one.get(key).is_some())
}

/// An alternative with the keywords beside `oneOf`.
fn with_base(base: &[(String, Json)], one: &Json) -> Json {
    if one.get("$ref").is_some() {
        let whole = Json::Array(vec![Json::Object(base.to_vec()), one.clone()]);
        return Json::Object(vec![("allOf".to_owned(), whole)]);
    }
    let mut merged = base.to_vec();
    one.members().unwrap_or_default().iter().cloned().for_each(|member| merge(&mut merged, member));
    Json::Object(merged)
}

/// The name of an alternative: that of its definition, its constant, its title, its type, or a number.
fn variant_name(one: &Json, at: usize) -> String {
    let text = |key: &str| one.get(key).and_then(Json::as_str);
    let constant = || {
        let properties = one.get("properties").and_then(Json::members)?;
        properties.iter().find_map(|(_, property)| property.get("const").and_then(Json::as_str))
    };
    let simple = || text("type").filter(|ty| *ty != "object");
    let found = text("$ref").and_then(|reference| reference.rsplit('/').next());
    let found = found.or_else(constant).or_else(|| text("title")).or_else(|| text("const")).or_else(simple);
    match found.map(pascal).filter(|name| name.starts_with(|c: char| !c.is_ascii_digit())) {
        Some(name) => name,
        None => format!("Variant{}", at + 1),
    }
}
