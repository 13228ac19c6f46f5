//! `allOf`: several schemas as one.

use super::{
    build::{Builder, Place},
    reference::{percent_decoded, resolve},
};
use crate::json::Json;

/// The number of schemas that are merged into one.
const MOST_PARTS: usize = 256;

type Members = Vec<(String, Json)>;

impl<'a> Builder<'a> {
    /// A schema with its `allOf`, as one schema without it. None if there is too much of it.
    pub(super) fn merged(&mut self, schema: &Json, place: Place<'a, '_>) -> Option<Json> {
        let is_structural = |part: &&Members| part.iter().any(|(key, _)| !is_annotation(key));
        let mut all = parts(schema, None)?;
        // One reference alone names its type.
        if all.iter().filter(is_structural).count() > 1 {
            all = parts(schema, Some(place.document))?;
        }
        let mut merged = Vec::new();
        all.into_iter().flatten().for_each(|member| merge(&mut merged, member));
        Some(Json::Object(merged))
    }
}

/// The keywords of a schema and of the schemas in its `allOf`, and of what these refer to in the document.
fn parts(schema: &Json, document: Option<&Json>) -> Option<Vec<Members>> {
    let mut parts = Vec::new();
    let mut open = vec![schema];
    while let Some(part) = open.pop() {
        if parts.len() == MOST_PARTS {
            return None;
        }
        open.extend(part.get("allOf").and_then(Json::items).unwrap_or_default().iter().rev());
        let mut own = part.members()?.to_vec();
        own.retain(|(key, _)| key != "allOf");
        if let (Some(document), Some(reference)) = (document, part.get("$ref").and_then(Json::as_str)) {
            own.retain(|(key, _)| key != "$ref");
            open.push(resolve(document, &percent_decoded(reference.strip_prefix('#')?))?);
        }
        parts.push(own);
    }
    Some(parts)
}

/// Whether a keyword says nothing about the values.
fn is_annotation(key: &str) -> bool {
    const ANNOTATIONS: &[&str] = &[
        "$comment",
        "$defs",
        "$id",
        "$schema",
        "default",
        "definitions",
        "deprecated",
        "description",
        "examples",
        "readOnly",
        "title",
        "writeOnly",
    ];
    ANNOTATIONS.contains(&key)
}

/// Adds a keyword to those of the parts before.
pub(super) fn merge(merged: &mut Members, (key, value): (String, Json)) {
    let Some((_, before)) = merged.iter_mut().find(|(k, _)| *k == key) else { return merged.push((key, value)) };
    match (key.as_str(), before, value) {
        ("properties", Json::Object(before), Json::Object(more)) => {
            for (name, schema) in more {
                match before.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, known)) if *known != schema => {
                        let both = Json::Array(vec![known.clone(), schema]);
                        *known = Json::Object(vec![("allOf".to_owned(), both)]);
                    }
                    Some(_) => {}
                    None => before.push((name, schema)),
                }
            }
        }
        ("required", Json::Array(before), Json::Array(more)) => {
            let more: Vec<_> = more.into_iter().filter(|name| !before.contains(name)).collect();
            before.extend(more);
        }
        // Each part speaks of its own members, so that no statement is true of the rest of all.
        ("additionalProperties", before, _) => *before = Json::Bool(false),
        // The first one counts: that of the whole, or of the most general part.
        _ => {}
    }
}
