//! Responses of an API, as results of tools and resources.

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_auth::{Secret, fetch::Fetched};
use couplet_types::{CallToolResult, ContentBlock, RawJson, ResourceContents};
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value};

use crate::{
    operation::{Operation, is_json},
    schema,
    send::Received,
};

/// The maximum length of an error's body that the model sees.
const ERROR: usize = 4_000;

/// The minimum lengths of secrets that are removed, from errors and from other responses: a shorter one may be an ordinary
/// word.
const SHORTEST_IN_ERRORS: usize = 6;
const SHORTEST: usize = 16;

/// The content of a response, by its kind.
enum Payload {
    Empty,
    /// The value, and its text as the API wrote it, which has numbers that `Value` cannot represent.
    Json(Value, String),
    Text(String),
    Bytes(Vec<u8>),
}

/// Returns the result of a call.
pub(crate) fn result(operation: &Operation, received: &Received) -> CallToolResult {
    let response = &received.response;
    let (content, media_type) = content(received);
    let status = response.status.as_u16();
    if !response.status.is_success() {
        return CallToolResult::error(error(operation, received, &content));
    }
    match (&operation.output_schema, content) {
        (Some(schema), Payload::Json(value, text)) => structured(operation, schema, value, text, status),
        (Some(schema), Payload::Empty) => {
            let value = if operation.expected.wrapped { Value::Null } else { Value::Object(Map::new()) };
            let text = value.to_string();
            structured(operation, schema, value, text, status)
        }
        (Some(_), Payload::Text(text)) => deviating(status, "it is not JSON", &text),
        (Some(_), Payload::Bytes(_)) => deviating(status, "it is not JSON", "(bytes)"),
        (None, Payload::Json(value, text)) => match RawJson::from_text(&*text) {
            Ok(raw) if value.is_object() => CallToolResult::text(text).structured_content(raw),
            _ => CallToolResult::text(text),
        },
        (None, Payload::Empty) => {
            CallToolResult::text(format!("The API answered with the status {status} and no content."))
        }
        (None, Payload::Text(text)) => CallToolResult::text(text),
        (None, Payload::Bytes(bytes)) => CallToolResult::new(vec![block(operation, &bytes, media_type)]),
    }
}

/// Returns the contents of a resource, or an error.
pub(crate) fn contents(operation: &Operation, received: &Received, uri: &str) -> Result<ResourceContents, String> {
    let (content, media_type) = content(received);
    if !received.response.status.is_success() {
        return Err(error(operation, received, &content));
    }
    let contents = match content {
        Payload::Empty => ResourceContents::text(uri, ""),
        Payload::Json(_, text) | Payload::Text(text) => ResourceContents::text(uri, text),
        Payload::Bytes(bytes) => ResourceContents::blob(uri, STANDARD.encode(bytes)),
    };
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    Ok(if essence.contains('/') { contents.mime_type(essence) } else { contents })
}

fn structured(operation: &Operation, schema: &Value, value: Value, text: String, status: u16) -> CallToolResult {
    let (value, raw) = match operation.expected.wrapped {
        true => (Value::Object(Map::from_iter([("result".to_owned(), value)])), format!("{{\"result\":{text}}}")),
        false => (value, text.clone()),
    };
    match (schema::mismatch(schema, &value), RawJson::from_text(raw)) {
        (None, Ok(raw)) => CallToolResult::text(text).structured_content(raw),
        (what, _) => deviating(status, what.as_deref().unwrap_or("it is not JSON"), &text),
    }
}

/// The result for a response that is not as the document says. It has no structured content, which only errors may lack.
fn deviating(status: u16, what: &str, text: &str) -> CallToolResult {
    CallToolResult::error(format!(
        "The request succeeded with the status {status}; do not repeat it. The response is not as the API describes it: \
         {what}. It is:\n{text}"
    ))
}

/// Explains an error to the model.
fn error(operation: &Operation, received: &Received, content: &Payload) -> String {
    let status = received.response.status;
    let mut text = format!("The API answered with the status {status}.");
    if let Some(described) = operation.expected.error(status.as_u16()) {
        text = format!("{text} {described}");
    }
    if matches!(status.as_u16(), 401 | 403) {
        let missing: Vec<String> = received.applied.missing.iter().map(|name| format!("`{name}`")).collect();
        if received.is_foreign {
            text += " This operation is at another origin than the API, which gets no credentials.";
        } else if !missing.is_empty() {
            text += &format!(
                " This server has no credentials for {}; its operator can configure them.",
                missing.join(" and ")
            );
        }
    }
    let said = match content {
        Payload::Json(_, said) | Payload::Text(said) => said.clone(),
        Payload::Empty | Payload::Bytes(_) => String::new(),
    };
    let secrets = &received.applied.secrets;
    let said = crate::text::truncated(&redacted(&said, secrets, SHORTEST_IN_ERRORS).unwrap_or(said), ERROR);
    if said.is_empty() { text } else { format!("{text}\n{said}") }
}

/// Removes secrets that the API repeats; `None` if there are none.
fn redacted(text: &str, secrets: &[Secret], shortest: usize) -> Option<String> {
    let long = secrets.iter().map(Secret::reveal).filter(|secret| secret.len() >= shortest);
    long.fold(None, |changed: Option<String>, secret| {
        let now = changed.as_deref().unwrap_or(text);
        if now.contains(secret) { Some(now.replace(secret, "[redacted]")) } else { changed }
    })
}

/// Removes secrets from the strings of a value; returns whether there were any.
fn redact(value: &mut Value, secrets: &[Secret]) -> bool {
    match value {
        Value::String(text) => match redacted(text, secrets, SHORTEST) {
            Some(changed) => {
                *text = changed;
                true
            }
            None => false,
        },
        // Each of them, not only the first.
        Value::Array(items) => items.iter_mut().map(|item| redact(item, secrets)).filter(|found| *found).count() > 0,
        Value::Object(members) => {
            members.values_mut().map(|member| redact(member, secrets)).filter(|found| *found).count() > 0
        }
        _ => false,
    }
}

/// Returns the content of a response without the secrets of its request, and the media type.
fn content(received: &Received) -> (Payload, &str) {
    let secrets = &received.applied.secrets;
    let (content, media_type) = parsed(&received.response);
    let content = match content {
        Payload::Json(mut value, text) => {
            // The text is written again only if it must be: it may have numbers that a value cannot represent.
            let text = if redact(&mut value, secrets) { value.to_string() } else { text };
            Payload::Json(value, text)
        }
        Payload::Text(text) => Payload::Text(redacted(&text, secrets, SHORTEST).unwrap_or(text)),
        other => other,
    };
    (content, media_type)
}

fn parsed(response: &Fetched) -> (Payload, &str) {
    let media_type = response.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if response.body.is_empty() {
        return (Payload::Empty, media_type);
    }
    let is_json = is_json(media_type) || media_type.is_empty();
    let text = std::str::from_utf8(&response.body);
    if let Some((value, text)) =
        text.ok().filter(|_| is_json).and_then(|text| Some((serde_json::from_str(text).ok()?, text)))
    {
        return (Payload::Json(value, text.trim().to_owned()), media_type);
    }
    let content = match text {
        Ok(text) if !is_media(media_type) => Payload::Text(text.to_owned()),
        _ => Payload::Bytes(response.body.to_vec()),
    };
    (content, media_type)
}

fn is_media(media_type: &str) -> bool {
    ["image/", "audio/", "video/", "application/octet-stream", "application/pdf", "application/zip"]
        .iter()
        .any(|kind| media_type.starts_with(kind) && !media_type.starts_with("image/svg"))
}

fn block(operation: &Operation, bytes: &[u8], media_type: &str) -> ContentBlock {
    let data = STANDARD.encode(bytes);
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    match essence {
        kind if kind.starts_with("image/") => ContentBlock::image(data, kind),
        kind if kind.starts_with("audio/") => ContentBlock::audio(data, kind),
        kind => {
            let contents = ResourceContents::blob(format!("api:///{}", operation.name), data);
            let kind = if kind.contains('/') { kind } else { "application/octet-stream" };
            ContentBlock::resource(contents.mime_type(kind))
        }
    }
}
