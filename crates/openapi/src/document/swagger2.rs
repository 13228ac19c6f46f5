//! Swagger 2 documents, converted to the layout of OpenAPI 3.
//!
//! Schemas stay in `definitions`, where their references lead; parameters and responses are resolved on the way, because
//! their layout differs.

use serde_json::{Map, Value, json};

use super::{items, members};

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

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

pub(super) fn convert(root: Value) -> Value {
    let mut paths = Map::new();
    for (path, item) in members(&root["paths"]) {
        paths.insert(path.to_owned(), path_item(&root, resolve(&root, item)));
    }
    let schemes: Map<String, Value> = members(&root["securityDefinitions"])
        .map(|(name, scheme)| (name.to_owned(), security_scheme(scheme)))
        .collect();
    let mut converted = json!({
        "openapi": "3.0.0",
        "servers": servers(&root),
        "paths": paths,
        "components": { "securitySchemes": schemes },
    });
    for member in ["info", "definitions", "security", "tags"] {
        if let Some(value) = root.get(member) {
            converted[member] = value.clone();
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
    let shared: Vec<&Value> = items(&item["parameters"]).map(|parameter| resolve(root, parameter)).collect();
    for method in METHODS {
        if let Some(operation) = item.get(method).filter(|operation| operation.is_object()) {
            converted.insert(method.to_owned(), operation_of(root, operation, &shared));
        }
    }
    Value::Object(converted)
}

fn operation_of(root: &Value, operation: &Value, shared: &[&Value]) -> Value {
    let own: Vec<&Value> = items(&operation["parameters"]).map(|parameter| resolve(root, parameter)).collect();
    let is_replaced = |p: &Value| own.iter().any(|o| o["name"] == p["name"] && o["in"] == p["in"]);
    let all: Vec<&Value> = own.iter().copied().chain(shared.iter().copied().filter(|p| !is_replaced(p))).collect();
    let place = |parameter: &Value, place: &str| parameter["in"] == place;
    let plain = all.iter().filter(|p| !place(p, "body") && !place(p, "formData")).map(|p| parameter(p));
    let form: Vec<&Value> = all.iter().copied().filter(|p| place(p, "formData")).collect();
    let body = all.iter().find(|p| place(p, "body"));
    let consumes = list(operation, root, "consumes");

    let mut converted = operation.as_object().cloned().unwrap_or_default();
    converted.insert("parameters".to_owned(), plain.collect());
    let body = match body {
        Some(body) => {
            let media = consumes.iter().find(|m| m.contains("json")).or(consumes.first()).copied();
            let content = json!({ media.unwrap_or("application/json"): { "schema": body["schema"] } });
            Some(
                json!({ "required": body["required"] == true, "description": body["description"], "content": content }),
            )
        }
        None => (!form.is_empty()).then(|| form_body(&form, &consumes)),
    };
    if let Some(body) = body {
        converted.insert("requestBody".to_owned(), body);
    }
    let produces = list(operation, root, "produces");
    let responses: Map<String, Value> = members(&operation["responses"])
        .map(|(status, response)| (status.to_owned(), response_of(resolve(root, response), &produces)))
        .collect();
    converted.insert("responses".to_owned(), Value::Object(responses));
    Value::Object(converted)
}

fn parameter(parameter: &Value) -> Value {
    let is_query = parameter["in"] == "query";
    let (style, explode) = match parameter["collectionFormat"].as_str() {
        Some("multi") => ("form", true),
        Some("ssv" | "tsv") if is_query => ("spaceDelimited", false),
        Some("pipes") if is_query => ("pipeDelimited", false),
        _ if is_query => ("form", false),
        _ => ("simple", false),
    };
    json!({
        "name": parameter["name"],
        "in": parameter["in"],
        "required": parameter["required"] == true,
        "description": parameter["description"],
        "style": style,
        "explode": explode,
        "schema": schema(parameter),
    })
}

fn schema(parameter: &Value) -> Value {
    let own = SCHEMA_KEYS.iter().filter_map(|key| Some(((*key).to_owned(), parameter.get(*key)?.clone())));
    Value::Object(own.collect())
}

fn form_body(form: &[&Value], consumes: &[&str]) -> Value {
    let has_file = form.iter().any(|parameter| parameter["type"] == "file");
    let is_multipart = has_file || consumes.first().is_some_and(|first| first.starts_with("multipart/"));
    let (mut properties, mut required, mut encoding) = (Map::new(), Vec::new(), Map::new());
    for parameter in form {
        let Some(name) = parameter["name"].as_str() else { continue };
        let mut schema = schema(parameter);
        schema["description"] = parameter["description"].clone();
        properties.insert(name.to_owned(), schema);
        if parameter["required"] == true {
            required.push(name);
        }
        if parameter["type"] == "array" {
            let explode = parameter["collectionFormat"] == "multi";
            encoding.insert(name.to_owned(), json!({ "style": "form", "explode": explode }));
        }
    }
    let media = if is_multipart { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let content = json!({ media: { "schema": schema, "encoding": encoding } });
    json!({ "required": !required.is_empty(), "content": content })
}

fn response_of(response: &Value, produces: &[&str]) -> Value {
    let mut converted = json!({ "description": response["description"] });
    if let Some(schema) = response.get("schema") {
        let media = produces.iter().find(|m| m.contains("json")).or(produces.first()).copied();
        converted["content"] = json!({ media.unwrap_or("application/json"): { "schema": schema } });
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
    items(own.unwrap_or(&root[member])).filter_map(Value::as_str).collect()
}

/// Follows a reference to a parameter, a response or a path.
fn resolve<'a>(root: &'a Value, value: &'a Value) -> &'a Value {
    let target = value["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(value)
}
