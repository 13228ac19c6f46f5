//! JSON Schemas of the protocol, per revision.
//!
//! ```
//! use couplet_types::ProtocolVersion;
//!
//! let tool = couplet_vocab::schema::definition(ProtocolVersion::ALL[0], "Tool").unwrap();
//! assert_eq!(tool["$ref"], "#/definitions/Tool");
//! assert_eq!(tool["definitions"]["Tool"]["properties"]["name"]["type"], "string");
//! ```

use std::collections::BTreeSet;

use couplet_types::ProtocolVersion;
use serde_json::{Map, Value, json};

use crate::table::{self, Body, Kind, Range, TABLE};

/// Returns the schema of a whole revision: all its definitions by name, as in the official one.
///
/// ```
/// use couplet_types::ProtocolVersion;
///
/// let schema = couplet_vocab::schema::document(ProtocolVersion::ALL[4]);
/// assert!(schema["$defs"]["JSONRPCMessage"].is_object());
/// ```
pub fn document(version: ProtocolVersion) -> Value {
    let (dialect, place) = dialect(version);
    let definitions: Map<String, Value> =
        TABLE.names(version).map(|name| (name.to_owned(), body(name, version))).collect();
    json!({ "$schema": dialect, (place): definitions })
}

/// Returns the schema of one definition with all that it refers to, or `None` if the revision has no such definition.
pub fn definition(version: ProtocolVersion, name: &str) -> Option<Value> {
    TABLE.body(name, version)?;
    let (dialect, place) = dialect(version);
    let mut needed = BTreeSet::new();
    collect(name, version, &mut needed);
    let definitions: Map<String, Value> =
        needed.into_iter().map(|name| (name.to_owned(), body(name, version))).collect();
    Some(json!({ "$schema": dialect, "$ref": format!("#/{place}/{name}"), (place): definitions }))
}

/// Returns an iterator over the names of all definitions of a revision, in order.
///
/// ```
/// use couplet_types::ProtocolVersion;
///
/// assert!(couplet_vocab::schema::names(ProtocolVersion::ALL[3]).any(|name| name == "Task"));
/// ```
pub fn names(version: ProtocolVersion) -> impl Iterator<Item = &'static str> {
    TABLE.names(version)
}

/// Returns an iterator over the revisions that define a name, oldest first.
pub fn revisions(name: &str) -> impl Iterator<Item = ProtocolVersion> {
    ProtocolVersion::ALL.iter().copied().filter(move |version| TABLE.body(name, *version).is_some())
}

/// The dialect of JSON Schema of a revision, and the member that holds its definitions.
fn dialect(version: ProtocolVersion) -> (&'static str, &'static str) {
    let row = TABLE.dialects.iter().find(|(revisions, ..)| revisions.has(version));
    let (_, dialect, place) = row.expect("the table has a dialect for every revision");
    (dialect, place)
}

/// Collects a name, and all that its definition refers to.
fn collect(name: &'_ str, version: ProtocolVersion, needed: &mut BTreeSet<&'static str>) {
    let Some(definition) = TABLE.definitions.get(name) else { return };
    if !needed.insert(definition.name) {
        return;
    }
    match definition.body(version) {
        Some(Body::Kind(kind)) => collect_kind(kind, version, needed),
        Some(Body::Members(members)) => {
            let members = members.iter().filter(|m| m.revisions.has(version));
            members.for_each(|m| collect_kind(&m.kind, version, needed));
        }
        None => {}
    }
}

fn collect_kind(kind: &Kind, version: ProtocolVersion, needed: &mut BTreeSet<&'static str>) {
    match kind {
        Kind::Named(name) => collect(name, version, needed),
        Kind::List(inner, _) | Kind::Map(inner) => collect_kind(inner, version, needed),
        Kind::Union(kinds) => kinds.iter().for_each(|k| collect_kind(k, version, needed)),
        _ => {}
    }
}

fn body(name: &str, version: ProtocolVersion) -> Value {
    let (_, place) = dialect(version);
    let mut schema = match TABLE.body(name, version) {
        Some(Body::Kind(kind)) => kind_schema(kind, place),
        Some(Body::Members(members)) => {
            let members: Vec<_> = members.iter().filter(|m| m.revisions.has(version)).collect();
            let properties: Map<String, Value> = members
                .iter()
                .map(|m| {
                    let mut schema = kind_schema(&m.kind, place);
                    describe(&mut schema, table::about_member(name, m.name));
                    (m.name.to_owned(), schema)
                })
                .collect();
            let required: Vec<_> = members.iter().filter(|m| !m.optional).map(|m| m.name).collect();
            let mut schema = json!({ "type": "object", "properties": properties });
            if !required.is_empty() {
                schema["required"] = json!(required);
            }
            schema
        }
        None => json!({}),
    };
    describe(&mut schema, table::about(name).as_deref());
    schema
}

fn describe(schema: &mut Value, words: Option<&str>) {
    if let (Some(schema), Some(words)) = (schema.as_object_mut(), words) {
        schema.insert("description".to_owned(), words.into());
    }
}

fn kind_schema(kind: &Kind, place: &str) -> Value {
    match kind {
        Kind::Any => json!({}),
        Kind::Object => json!({ "type": "object" }),
        Kind::String(None) => json!({ "type": "string" }),
        Kind::String(Some(format)) => json!({ "type": "string", "format": format }),
        Kind::Integer(range) => ranged("integer", *range),
        Kind::Number(range) => ranged("number", *range),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Null => json!({ "type": "null" }),
        Kind::Text(text) => json!({ "type": "string", "const": text }),
        Kind::Code(code) => json!({ "type": "integer", "const": code }),
        Kind::Named(name) => json!({ "$ref": format!("#/{place}/{name}") }),
        Kind::List(item, None) => json!({ "type": "array", "items": kind_schema(item, place) }),
        Kind::List(item, Some(most)) => json!({ "type": "array", "items": kind_schema(item, place), "maxItems": most }),
        Kind::Map(value) => json!({ "type": "object", "additionalProperties": kind_schema(value, place) }),
        Kind::Union(kinds) => union_schema(kinds, place),
    }
}

fn union_schema(kinds: &[Kind], place: &str) -> Value {
    let texts: Option<Vec<_>> = kinds.iter().map(|k| if let Kind::Text(t) = k { Some(*t) } else { None }).collect();
    match texts {
        Some(texts) => json!({ "type": "string", "enum": texts }),
        None => json!({ "anyOf": kinds.iter().map(|k| kind_schema(k, place)).collect::<Vec<_>>() }),
    }
}

fn ranged(kind: &str, range: Range) -> Value {
    let mut schema = json!({ "type": kind });
    if let Some(least) = range.least {
        schema["minimum"] = least.into();
    }
    if let Some(most) = range.most {
        schema["maximum"] = most.into();
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_definition_brings_what_it_needs_and_no_more() {
        let schema = definition(ProtocolVersion::ALL[0], "PromptMessage").unwrap();
        let names: Vec<_> = schema["definitions"].as_object().unwrap().keys().collect();
        let expected = [
            "Annotations",
            "BlobResourceContents",
            "EmbeddedResource",
            "ImageContent",
            "PromptMessage",
            "Role",
            "TextContent",
            "TextResourceContents",
        ];
        assert_eq!(names, expected);
        assert!(definition(ProtocolVersion::ALL[0], "Task").is_none());
    }

    #[test]
    fn words_come_from_the_types() {
        let schema = document(ProtocolVersion::ALL[2]);
        assert_eq!(schema["definitions"]["Tool"]["properties"]["name"]["description"], "The programmatic name.");
    }
}
