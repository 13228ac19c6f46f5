//! Responses: the output schema, and what the document says about each status.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    document::{Document, members},
    schema::{Direction, Rewriter},
    text,
};

/// The maximum size of an output schema in bytes, and the numbers of levels that are tried.
const LARGEST: usize = 4 << 10;
const LEVELS: [usize; 4] = [5, 3, 2, 1];

/// The maximum number of responses and of media types.
const MOST: usize = 100;

/// The responses that the document describes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected {
    /// Whether the response is a member `result` of the structured content, because it is not an object.
    pub(crate) wrapped: bool,
    /// The value of `Accept`.
    pub(crate) accept: String,
    /// Descriptions of errors by status (`404`, `4XX`, `default`).
    errors: BTreeMap<String, String>,
}

impl Expected {
    /// Reads the responses of an operation, and writes its output schema.
    pub(super) fn parse(document: &Document, responses: &Value) -> (Self, Option<Value>) {
        let mut expected = Self::default();
        let mut schemas: Vec<&Value> = Vec::new();
        let mut types: Vec<&str> = Vec::new();
        for (status, response) in members(responses).take(MOST) {
            let response = document.resolve(response);
            let is_success = status.starts_with('2') || status == "default" && !responses_have_success(responses);
            if !is_success {
                let described = text::clean(response["description"].as_str().unwrap_or_default(), 200);
                expected.errors.insert(text::truncated(status, 10).to_ascii_uppercase(), described);
                continue;
            }
            for (name, media) in members(&response["content"]).take(MOST) {
                types.push(name);
                let schema = &document.resolve(media)["schema"];
                let is_known = || schemas.iter().any(|known| std::ptr::eq(*known, schema) || *known == schema);
                if is_json(name) && schema.is_object() && !is_known() {
                    schemas.push(schema);
                }
            }
        }
        expected.accept = accept(&types);
        let output = match schemas[..] {
            // Requests accept JSON before XML. Another type may be meant for some arguments only.
            [schema] if types.iter().all(|name| is_json(name) || is_xml(name)) => expected.output(document, schema),
            _ => None,
        };
        (expected, output)
    }

    /// Writes the output schema: an object, as older clients require.
    fn output(&mut self, document: &Document, schema: &Value) -> Option<Value> {
        let kind = Rewriter::new(document, Direction::Response, 1, LARGEST).parts(schema).kind();
        self.wrapped = kind != Some("object");
        let mut deepest = usize::MAX;
        for levels in LEVELS {
            if levels > deepest {
                continue;
            }
            let mut rewriter = Rewriter::new(document, Direction::Response, levels, LARGEST);
            let written = Value::Object(rewriter.rewrite(schema));
            let output = if self.wrapped { wrapped(written) } else { written };
            if !rewriter.is_over_budget() && output.to_string().len() <= LARGEST {
                return Some(output);
            }
            deepest = rewriter.deepest();
        }
        Some(if self.wrapped { wrapped(json!({})) } else { json!({ "type": "object" }) })
    }

    /// Returns what the document says about a status that is an error.
    pub(crate) fn error(&self, status: u16) -> Option<&str> {
        let keys = [status.to_string(), format!("{}XX", status / 100), "DEFAULT".to_owned()];
        keys.iter().find_map(|key| self.errors.get(key)).map(String::as_str).filter(|text| !text.is_empty())
    }
}

fn wrapped(mut schema: Value) -> Value {
    // Below the root a value may be `null`.
    if let Some(Value::String(kind)) = schema.get("type") {
        schema["type"] = json!([kind, "null"]);
    }
    let properties = Map::from_iter([("result".to_owned(), schema)]);
    json!({ "type": "object", "properties": properties })
}

fn responses_have_success(responses: &Value) -> bool {
    members(responses).any(|(status, _)| status.starts_with('2'))
}

/// Whether a media type is JSON.
pub(crate) fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json") || essence == "text/json"
}

/// Whether a media type is XML that stands for data.
fn is_xml(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_data = essence.starts_with("application/") || essence.starts_with("text/");
    is_data && !essence.contains("html") && (essence.ends_with("/xml") || essence.ends_with("+xml"))
}

fn accept(types: &[&str]) -> String {
    let valid = |name: &&&str| name.len() <= 256 && http::HeaderValue::from_str(name).is_ok() && !name.contains(',');
    let json = types.iter().filter(valid).find(|name| is_json(name));
    match json.or_else(|| types.iter().find(valid)) {
        Some(name) if *name != "*/*" => format!("{name}, */*;q=0.1"),
        _ => "application/json, */*;q=0.1".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_schema_is_that_of_json() {
        let document = Document::from_value(json!({ "openapi": "3.0.0" })).expect("it is a document");
        let schema = json!({ "schema": { "type": "object" } });
        for (others, expected) in [
            (&[][..], true),
            (&["application/xml"], true),
            (&["text/xml; charset=utf-8", "application/atom+xml"], true),
            (&["text/csv"], false),
            (&["image/svg+xml"], false),
            (&["application/xhtml+xml"], false),
        ] {
            let mut content = json!({ "application/json": schema });
            others.iter().for_each(|name| content[*name] = schema.clone());
            let (found, output) = Expected::parse(&document, &json!({ "200": { "content": content } }));
            assert_eq!(
                (output.is_some(), found.accept.as_str()),
                (expected, "application/json, */*;q=0.1"),
                "{others:?}"
            );
        }
    }
}
