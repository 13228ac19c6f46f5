//! Swagger 2 documents, converted to the layout of OpenAPI 3.
//!
//! The result is about as large as the source, whatever refers to what: schemas stay in `definitions`, `parameters` and
//! `responses`, where their references lead, and a path item that others refer to is converted once.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{items, members};
use crate::text;

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// The maximum length of a name or a media type that is copied to each place that refers to it.
const LONGEST: usize = 256;

/// The members of a parameter that belong to its schema in OpenAPI 3.
const SCHEMA_KEYS: [&str; 16] = [
    "type",
    "format",
    "items",
    "default",
    "enum",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "multipleOf",
];

pub(super) fn convert(mut root: Value) -> Value {
    let (mut paths, mut shared) = (Map::new(), BTreeMap::new());
    for (path, item) in members(&root["paths"]) {
        let converted = match item["$ref"].as_str() {
            Some(reference) => {
                let number = shared.len();
                let number = shared.entry(reference).or_insert(number);
                json!({ "$ref": format!("#/components/pathItems/{number}") })
            }
            None => path_item(&root, item),
        };
        paths.insert(path.to_owned(), converted);
    }
    let shared: Map<String, Value> = shared
        .into_iter()
        .map(|(reference, number)| (number.to_string(), path_item(&root, target(&root, reference))))
        .collect();
    let schemes: Map<String, Value> = members(&root["securityDefinitions"])
        .map(|(name, scheme)| (name.to_owned(), security_scheme(scheme)))
        .collect();
    let mut converted = json!({
        "openapi": "3.0.0",
        "servers": servers(&root),
        "paths": paths,
        "components": { "securitySchemes": schemes, "pathItems": shared },
    });
    for member in ["info", "definitions", "parameters", "responses", "security", "tags"] {
        if let Some(value) = root.get_mut(member) {
            converted[member] = value.take();
        }
    }
    converted
}

fn servers(root: &Value) -> Value {
    let path = root["basePath"].as_str().unwrap_or_default();
    let Some(host) = root["host"].as_str() else { return json!([{ "url": path }]) };
    let has_https = root["schemes"].is_null() || items(&root["schemes"]).any(|scheme| scheme == "https");
    let scheme = if has_https { "https" } else { "http" };
    json!([{ "url": format!("{scheme}://{host}{path}") }])
}

fn path_item(root: &Value, item: &Value) -> Value {
    let mut converted = Map::new();
    let shared: Vec<Found<'_>> = items(&item["parameters"]).map(|parameter| Found::new(root, parameter)).collect();
    for method in METHODS {
        if let Some(operation) = item.get(method).filter(|operation| operation.is_object()) {
            converted.insert(method.to_owned(), operation_of(root, operation, &shared));
        }
    }
    Value::Object(converted)
}

/// A parameter or a response, and the reference that leads to it.
#[derive(Clone, Copy)]
struct Found<'a> {
    value: &'a Value,
    reference: Option<&'a str>,
}

impl<'a> Found<'a> {
    fn new(root: &'a Value, value: &'a Value) -> Self {
        let reference = value["$ref"].as_str();
        Self { value: reference.map_or(value, |reference| target(root, reference)), reference }
    }

    fn is_in(self, place: &str) -> bool {
        self.value["in"] == place
    }

    /// The name, if it can be copied.
    fn name(self) -> Option<&'a str> {
        self.value["name"].as_str().filter(|name| name.len() <= LONGEST)
    }

    /// The schema of a parameter that is not a body: its own members, or a reference to it, which has the same ones.
    fn schema(self) -> Value {
        if let Some(reference) = self.reference {
            return json!({ "$ref": reference });
        }
        let own = SCHEMA_KEYS.iter().filter_map(|key| Some(((*key).to_owned(), self.value.get(*key)?.clone())));
        Value::Object(own.collect())
    }

    /// The schema that is a member: of a body or a response.
    fn member(self) -> Value {
        match self.reference {
            Some(reference) => json!({ "$ref": format!("{reference}/schema") }),
            None => self.value["schema"].clone(),
        }
    }

    fn description(self) -> String {
        text::clean(self.value["description"].as_str().unwrap_or_default(), 500)
    }
}

fn operation_of(root: &Value, operation: &Value, shared: &[Found<'_>]) -> Value {
    let own: Vec<Found<'_>> = items(&operation["parameters"]).map(|parameter| Found::new(root, parameter)).collect();
    // Those of the path that the operation replaces are left out when parameters are collected.
    let all = || own.iter().chain(shared).copied();
    let plain = all().filter(|p| !p.is_in("body") && !p.is_in("formData")).map(parameter);
    let form: Vec<Found<'_>> = all().filter(|p| p.is_in("formData")).collect();
    let body = all().find(|p| p.is_in("body"));
    let consumes = list(operation, root, "consumes");
    let produces = list(operation, root, "produces");

    let mut converted: Map<String, Value> = members(operation)
        .filter(|(name, _)| !["parameters", "responses", "consumes", "produces"].contains(name))
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect();
    converted.insert("parameters".to_owned(), plain.collect());
    let body = match body {
        Some(body) => {
            let media = consumes.iter().find(|m| m.contains("json")).or(consumes.first()).copied();
            let content = json!({ media.unwrap_or("application/json"): { "schema": body.member() } });
            let required = body.value["required"] == true;
            Some(json!({ "required": required, "description": body.description(), "content": content }))
        }
        None => (!form.is_empty()).then(|| form_body(&form, &consumes)),
    };
    if let Some(body) = body {
        converted.insert("requestBody".to_owned(), body);
    }
    let responses: Map<String, Value> = members(&operation["responses"])
        .map(|(status, response)| (status.to_owned(), response_of(Found::new(root, response), &produces)))
        .collect();
    converted.insert("responses".to_owned(), Value::Object(responses));
    Value::Object(converted)
}

fn parameter(found: Found<'_>) -> Value {
    let parameter = found.value;
    // A reference that leads nowhere, or to a name of unusual length, is for the reader of parameters.
    let Some(name) = found.name() else {
        return found.reference.map_or_else(|| parameter.clone(), |reference| json!({ "$ref": reference }));
    };
    let is_query = found.is_in("query");
    let (style, explode) = match parameter["collectionFormat"].as_str() {
        Some("multi") => ("form", true),
        Some("ssv" | "tsv") if is_query => ("spaceDelimited", false),
        Some("pipes") if is_query => ("pipeDelimited", false),
        _ if is_query => ("form", false),
        _ => ("simple", false),
    };
    json!({
        "name": name,
        "in": parameter["in"].as_str().filter(|place| place.len() <= LONGEST),
        "required": parameter["required"] == true,
        "description": found.description(),
        "style": style,
        "explode": explode,
        "schema": found.schema(),
    })
}

fn form_body(form: &[Found<'_>], consumes: &[&str]) -> Value {
    let has_file = form.iter().any(|found| found.value["type"] == "file");
    let is_multipart = has_file || consumes.first().is_some_and(|first| first.starts_with("multipart/"));
    let (mut properties, mut required, mut encoding) = (Map::new(), Vec::new(), Map::new());
    for found in form {
        let Some(name) = found.name().filter(|name| !properties.contains_key(*name)) else { continue };
        let mut schema = found.schema();
        if found.reference.is_none() {
            schema["description"] = found.description().into();
        }
        properties.insert(name.to_owned(), schema);
        if found.value["required"] == true {
            required.push(name);
        }
        if found.value["type"] == "array" {
            let explode = found.value["collectionFormat"] == "multi";
            encoding.insert(name.to_owned(), json!({ "style": "form", "explode": explode }));
        }
    }
    let media = if is_multipart { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let content = json!({ media: { "schema": schema, "encoding": encoding } });
    json!({ "required": !required.is_empty(), "content": content })
}

fn response_of(found: Found<'_>, produces: &[&str]) -> Value {
    let mut converted = json!({ "description": found.description() });
    if found.value.get("schema").is_some() {
        let media = produces.iter().find(|m| m.contains("json")).or(produces.first()).copied();
        converted["content"] = json!({ media.unwrap_or("application/json"): { "schema": found.member() } });
    }
    converted
}

fn security_scheme(scheme: &Value) -> Value {
    match scheme["type"].as_str() {
        Some("basic") => json!({ "type": "http", "scheme": "basic" }),
        Some("oauth2") => {
            let flow = match scheme["flow"].as_str() {
                Some("application") => "clientCredentials",
                Some("accessCode") => "authorizationCode",
                Some(other) => other,
                None => "implicit",
            };
            json!({ "type": "oauth2", "flows": { flow: { "tokenUrl": scheme["tokenUrl"], "scopes": scheme["scopes"] } } })
        }
        _ => scheme.clone(),
    }
}

/// The media types of an operation, or else of the document.
fn list<'a>(operation: &'a Value, root: &'a Value, member: &str) -> Vec<&'a str> {
    let own = operation.get(member).filter(|own| own.is_array());
    let listed = items(own.unwrap_or(&root[member])).take(20).filter_map(Value::as_str);
    listed.filter(|media| media.len() <= LONGEST).collect()
}

/// Follows a reference to a parameter, a response or a path.
fn target<'a>(root: &'a Value, reference: &str) -> &'a Value {
    reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)).unwrap_or(&Value::Null)
}
