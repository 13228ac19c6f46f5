//! From a document to its operations.

use std::collections::BTreeSet;

use http::Method;
use serde_json::Value;

use super::{
    Operation, Place, Requirement,
    describe::{description, title},
    inputs::Sources,
    names,
    parameter::Parameter,
    responses::Expected,
    servers::ServerSettings,
};
use crate::{
    document::{Document, items, members},
    filter::Filters,
    text,
};

const METHODS: [(&str, Method); 7] = [
    ("get", Method::GET),
    ("put", Method::PUT),
    ("post", Method::POST),
    ("delete", Method::DELETE),
    ("patch", Method::PATCH),
    ("head", Method::HEAD),
    ("options", Method::OPTIONS),
];

/// The maximum number of operations.
const MOST: usize = 50_000;

/// The maximum size of all tools together in bytes, about. Operations may share their parts, so a small document can
/// describe much.
const LARGEST: usize = 128 << 20;

/// The maximum lengths of a path and of a parameter's name, and the maximum number of parameters.
const LONGEST_PATH: usize = 2_000;
const LONGEST_NAME: usize = 1_000;
const MOST_PARAMETERS: usize = 500;

/// An operation of the document that cannot become a tool, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The HTTP method.
    pub method: Method,
    /// The path template, without invisible characters, truncated.
    pub path: String,
    /// The reason.
    pub reason: String,
}

/// An operation as the document describes it.
struct Raw<'a> {
    method: &'a Method,
    path: &'a str,
    item: &'a Value,
    operation: &'a Value,
}

impl Raw<'_> {
    /// The wanted name: the `operationId`, or the method and the path.
    fn wanted(&self) -> String {
        let id = self.operation["operationId"].as_str().filter(|id| id.contains(|c: char| c.is_ascii_alphanumeric()));
        id.map_or_else(|| format!("{}_{}", self.method.as_str().to_ascii_lowercase(), self.path), str::to_owned)
    }

    fn key(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// Returns the operations that the filters select, and those that cannot be used. At most `most` are looked at.
pub(crate) fn collect(
    document: &Document,
    servers: &ServerSettings,
    filters: &Filters,
    most: usize,
) -> (Vec<Operation>, Vec<Skipped>) {
    let raw = raw(document);
    let wanted: Vec<(String, String)> = raw.iter().map(|raw| (raw.wanted(), raw.key())).collect();
    // The secrets of the configuration are no arguments.
    let secret: BTreeSet<(&str, &str)> = document
        .security_schemes()
        .filter(|(_, scheme)| scheme["type"] == "apiKey")
        .filter_map(|(_, scheme)| Some((scheme["in"].as_str()?, scheme["name"].as_str()?)))
        .collect();
    let (mut operations, mut skipped, mut size) = (Vec::new(), Vec::new(), 0);
    for (raw, name) in raw.iter().zip(names::unique(&wanted)) {
        let tags = items(&raw.operation["tags"]).take(100).filter_map(Value::as_str);
        let tags: Vec<String> = tags.map(|tag| text::truncated(tag, 200)).collect();
        if !filters.select(&name, raw.operation["operationId"].as_str(), raw.method, raw.path, &tags) {
            continue;
        }
        if operations.len() + skipped.len() == most {
            break;
        }
        let made = match size < LARGEST {
            true => operation(document, servers, raw, &secret),
            false => Err("the tools before it are too large together: select fewer operations".to_owned()),
        };
        match made {
            Ok((operation, bytes)) => {
                size += bytes;
                operations.push(Operation { name, tags, ..operation });
            }
            Err(reason) => {
                let path = text::clean(raw.path, 200);
                skipped.push(Skipped { method: raw.method.clone(), path, reason });
            }
        }
    }
    (operations, skipped)
}

/// Returns the tags of all operations, each once.
pub(crate) fn tags(document: &Document) -> BTreeSet<String> {
    let raw = raw(document);
    let tags = raw.iter().flat_map(|raw| items(&raw.operation["tags"]).take(100)).filter_map(Value::as_str);
    tags.map(|tag| text::clean(tag, 60)).filter(|tag| !tag.is_empty()).collect()
}

fn raw(document: &Document) -> Vec<Raw<'_>> {
    let mut found = Vec::new();
    for (path, item) in members(document.member("paths")).filter(|(path, _)| path.starts_with('/')) {
        let item = document.resolve(item);
        for (member, method) in &METHODS {
            if let Some(operation) = item.get(*member).filter(|operation| operation.is_object())
                && found.len() < MOST
            {
                found.push(Raw { method, path, item, operation });
            }
        }
    }
    found
}

fn operation(
    document: &Document,
    servers: &ServerSettings,
    raw: &Raw<'_>,
    secret: &BTreeSet<(&str, &str)>,
) -> Result<(Operation, usize), String> {
    let Raw { method, path, item, operation } = *raw;
    if path.len() > LONGEST_PATH || path.contains(char::is_control) {
        return Err("its path is too long, or has control characters".to_owned());
    }
    let base = servers.base(document, &[operation, item])?;
    let parameters = parameters(document, raw, secret)?;
    let body = match operation.get("requestBody") {
        Some(body) => found(document, body, "request body")?,
        None => &Value::Null,
    };
    let has_content = body["content"].as_object().is_some_and(|content| !content.is_empty());
    if body["required"] == true && !has_content {
        return Err("its request body is not described".to_owned());
    }
    let inputs = Sources { document, parameters, body }.inputs()?;
    let (expected, output_schema) = Expected::parse(document, &operation["responses"]);
    let names: usize = inputs.parameters.iter().map(|parameter| parameter.name.len()).sum();
    let size = inputs.size + names + output_schema.as_ref().map_or(0, |schema| schema.to_string().len());
    let made = Operation {
        name: String::new(),
        method: method.clone(),
        path: path.to_owned(),
        tags: Vec::new(),
        title: title(operation),
        description: description(operation, item, &raw.key(), &inputs.parameters),
        input_schema: inputs.schema,
        accepted_schema: inputs.accepted,
        output_schema,
        id: operation["operationId"].as_str().map(str::to_owned),
        base,
        parameters: inputs.parameters,
        body: inputs.body,
        expected,
        reserved: secret.iter().filter(|(place, _)| *place == "query").map(|(_, name)| (*name).to_owned()).collect(),
        security: security(document, operation),
    };
    Ok((made, size))
}

/// Follows the reference of a part that an operation cannot do without.
fn found<'a>(document: &'a Document, part: &'a Value, what: &str) -> Result<&'a Value, String> {
    let resolved = document.resolve(part);
    match part["$ref"].as_str() {
        Some(reference) if resolved.is_null() => {
            let reference = text::clean(reference, 100);
            Err(format!("its {what} is at `{reference}`, which is not in this document"))
        }
        _ => Ok(resolved),
    }
}

/// Returns the parameters of an operation, those of its path, and the variables of its path that are not described.
fn parameters<'a>(
    document: &'a Document,
    raw: &Raw<'a>,
    secret: &BTreeSet<(&str, &str)>,
) -> Result<Vec<(Parameter, &'a Value)>, String> {
    let mut found: Vec<(Parameter, &Value)> = Vec::new();
    let listed = items(&raw.operation["parameters"]).chain(items(&raw.item["parameters"]));
    for (number, listed) in listed.enumerate() {
        let source = self::found(document, listed, "parameter")?;
        if number == MOST_PARAMETERS {
            return Err(format!("it has more than {MOST_PARAMETERS} parameters"));
        }
        if source["name"].as_str().is_some_and(|name| name.len() > LONGEST_NAME) {
            return Err(format!("a parameter has a name of more than {LONGEST_NAME} bytes"));
        }
        let Some(parameter) = Parameter::parse(source) else { continue };
        let is_secret = secret.iter().any(|(place, name)| {
            let is_header = parameter.place == Place::Header && parameter.name.eq_ignore_ascii_case(name);
            *place == parameter.place.as_str() && (is_header || parameter.name == *name)
        });
        let is_unused = parameter.place == Place::Path && !raw.path.contains(&format!("{{{}}}", parameter.name));
        // The operation's own parameters come first, and replace those of the path.
        let is_replaced = found.iter().any(|(p, _)| p.name == parameter.name && p.place == parameter.place);
        if !is_secret && !is_unused && !is_replaced {
            found.push((parameter, source));
        }
    }
    for variable in variables(raw.path) {
        if !found.iter().any(|(p, _)| p.place == Place::Path && p.name == variable) {
            found.push((Parameter::undescribed(variable), &Value::Null));
        }
    }
    found.sort_by_key(|(parameter, _)| parameter.place);
    Ok(found)
}

/// Returns the names of the variables of a path template.
fn variables(path: &str) -> impl Iterator<Item = &str> {
    path.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
        .filter(|name| !name.is_empty())
}

/// Returns the alternatives of schemes that an operation needs; `None` if the document says nothing.
fn security(document: &Document, operation: &Value) -> Option<Vec<Requirement>> {
    let listed = operation.get("security").or_else(|| Some(document.member("security"))).filter(|s| s.is_array())?;
    let scopes = |list: &Value| items(list).take(100).filter_map(Value::as_str).map(str::to_owned).collect();
    let all = |one: &Value| members(one).take(10).map(|(name, list)| (name.to_owned(), scopes(list))).collect();
    Some(items(listed).take(20).map(all).collect())
}
