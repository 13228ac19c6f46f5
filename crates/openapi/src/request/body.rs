//! Bodies: JSON, forms, parts and bytes.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::HeaderValue;
use serde_json::{Map, Value};

use super::{ArgumentError, multipart, query::Query, values::text_of};
use crate::operation::{Body, BodyKind, Content, Member, Style, is_concrete};

/// Writes the body of a request with its media type; `None` if there is nothing to send.
pub(super) fn write(
    body: &Body,
    arguments: &Map<String, Value>,
) -> Result<Option<(HeaderValue, Bytes)>, ArgumentError> {
    let given: Vec<(Member, &Value)> = match &body.content {
        Content::Members(members) => {
            let given = members.iter().filter_map(|member| Some((member, arguments.get(&member.argument)?)));
            let given = given.filter(|(member, value)| member.nullable || !value.is_null());
            given.map(|(member, value)| (member.clone(), value)).collect()
        }
        Content::Whole(argument) => {
            let given = arguments.get(argument).filter(|value| body.nullable || !value.is_null());
            let Some(value) = given else { return absent(body, argument) };
            match (body.kind, value) {
                (BodyKind::Form | BodyKind::Multipart, Value::Object(members)) => {
                    members.iter().map(|(name, value)| (plain(name, argument), value)).collect()
                }
                (BodyKind::Form | BodyKind::Multipart, _) => {
                    return Err(ArgumentError::new(argument, "must be an object"));
                }
                _ => return whole(body, argument, value).map(Some),
            }
        }
    };
    if given.is_empty() && !body.required {
        return Ok(None);
    }
    let (media_type, bytes) = match body.kind {
        BodyKind::Form => (body.media_type.clone(), form(&given)),
        BodyKind::Multipart => multipart::write(&body.media_type, &given)?,
        _ => {
            let members: Map<String, Value> = given.into_iter().map(|(m, value)| (m.name, value.clone())).collect();
            (body.media_type.clone(), Value::Object(members).to_string().into())
        }
    };
    Ok(Some((header(&media_type), bytes)))
}

fn absent(body: &Body, argument: &str) -> Result<Option<(HeaderValue, Bytes)>, ArgumentError> {
    if body.required { Err(ArgumentError::new(argument, "is required")) } else { Ok(None) }
}

/// Writes a body that one argument contains.
fn whole(body: &Body, argument: &str, value: &Value) -> Result<(HeaderValue, Bytes), ArgumentError> {
    Ok(match body.kind {
        BodyKind::Text => (header(&body.media_type), text_of(value).into()),
        BodyKind::Binary => {
            let file = File::read(argument, value)?;
            (header(file.media_type.unwrap_or(&body.media_type)), file.bytes)
        }
        _ => (header(&body.media_type), value.to_string().into()),
    })
}

fn header(media_type: &str) -> HeaderValue {
    HeaderValue::from_str(media_type).unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

/// A member of a body whose schema the document does not list.
fn plain(name: &str, argument: &str) -> Member {
    let (name, argument) = (name.to_owned(), argument.to_owned());
    Member { name, argument, style: None, explode: true, media_type: None, is_file: false, nullable: false }
}

fn form(given: &[(Member, &Value)]) -> Bytes {
    let mut query = Query::default();
    for (member, value) in given.iter().filter(|(_, value)| !value.is_null()) {
        match (member.style, value) {
            // JSON in place of an object, as multipart forms have it, too.
            (None, Value::Object(_)) => {
                query.styled(&member.name, &value.to_string().into(), (Style::Form, false));
            }
            (style, value) => query.styled(&member.name, value, (style.unwrap_or(Style::Form), member.explode)),
        }
    }
    query.finish().into()
}

/// A file among the arguments.
pub(super) struct File<'a> {
    pub(super) bytes: Bytes,
    pub(super) name: Option<&'a str>,
    pub(super) media_type: Option<&'a str>,
}

impl<'a> File<'a> {
    /// Reads a file: an object with `text` or `base64`, or only the text.
    pub(super) fn read(argument: &str, value: &'a Value) -> Result<Self, ArgumentError> {
        let fail = |what| Err(ArgumentError::new(argument, what));
        let member = |name: &str| value.get(name).and_then(Value::as_str);
        let bytes = match (value.as_str().or_else(|| member("text")), member("base64")) {
            (Some(text), None) => Bytes::copy_from_slice(text.as_bytes()),
            (None, Some(text)) => match STANDARD.decode(text.trim()) {
                Ok(bytes) => bytes.into(),
                Err(_) => return fail("has a `base64` that is not valid"),
            },
            _ => return fail("needs either `text` or `base64`"),
        };
        let media_type = member("media_type");
        if media_type.is_some_and(|name| !is_concrete(name)) {
            return fail("has a `media_type` that is not valid");
        }
        Ok(Self { bytes, name: member("filename"), media_type })
    }
}
