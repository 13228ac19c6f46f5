//! Request bodies: their media type, and the arguments that they are made of.

use serde_json::Value;

use super::parameter::{Place, Style};
use crate::document::{Document, members};

/// The way in which a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    Form,
    Multipart,
    Text,
    Binary,
}

impl BodyKind {
    fn of(media_type: &str) -> Self {
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/x-www-form-urlencoded" => Self::Form,
            json if json == "application/json" || json.ends_with("+json") || json == "*/*" => Self::Json,
            text if text.starts_with("text/") || text.ends_with("/xml") || text.ends_with("+xml") => Self::Text,
            multipart if multipart.starts_with("multipart/") => Self::Multipart,
            yaml if yaml.ends_with("yaml") => Self::Text,
            _ => Self::Binary,
        }
    }

    /// The order in which the alternatives of a document are preferred.
    fn rank(self) -> u8 {
        match self {
            Self::Json => 0,
            Self::Form => 1,
            Self::Multipart => 2,
            Self::Text => 3,
            Self::Binary => 4,
        }
    }
}

/// The body of an operation's requests.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) kind: BodyKind,
    pub(crate) media_type: String,
    pub(crate) required: bool,
    /// Whether `null` can be the whole body.
    pub(crate) nullable: bool,
    pub(crate) content: Content,
}

/// The arguments that a body is made of.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// One argument for each member.
    Members(Vec<Member>),
    /// One argument for everything.
    Whole(String),
}

/// A member of a body.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The name in the body.
    pub(crate) name: String,
    /// The name among the arguments of the tool.
    pub(crate) argument: String,
    /// The style in a form; `None` for JSON text in place of objects.
    pub(crate) style: Option<Style>,
    pub(crate) explode: bool,
    /// The media type of a part.
    pub(crate) media_type: Option<String>,
    pub(crate) is_file: bool,
    /// Whether `null` is sent as a value.
    pub(crate) nullable: bool,
}

/// The preferred alternative of a request body.
pub(super) struct Chosen<'a> {
    pub(super) kind: BodyKind,
    pub(super) media_type: &'a str,
    pub(super) schema: &'a Value,
    pub(super) encoding: &'a Value,
}

impl<'a> Chosen<'a> {
    /// Chooses an alternative of a resolved request body: JSON, then forms, then text.
    pub(super) fn of(document: &'a Document, body: &'a Value) -> Option<Self> {
        let is_media_type =
            |name: &str| name.len() <= 256 && http::HeaderValue::from_str(name).is_ok() && name.contains('/');
        let all = members(&body["content"]).take(100).filter(|(name, _)| is_media_type(name));
        let (name, media) = all.min_by_key(|(name, _)| BodyKind::of(name).rank())?;
        let media = document.resolve(media);
        let kind = BodyKind::of(name);
        let media_type = match (kind, name) {
            (BodyKind::Json, "*/*") => "application/json",
            (BodyKind::Binary, name) if name.contains('*') => "application/octet-stream",
            (_, name) => name,
        };
        Some(Self { kind, media_type, schema: &media["schema"], encoding: &media["encoding"] })
    }

    /// Describes how a member is written.
    pub(super) fn member(&self, document: &Document, name: &str, argument: String, schema: &Value) -> Member {
        let encoding = &self.encoding[name];
        let style = encoding["style"].as_str().map(|style| Style::of(Some(style), Place::Query));
        let explode =
            encoding["explode"].as_bool().unwrap_or(matches!(style, None | Some(Style::Form | Style::DeepObject)));
        let media_type = encoding["contentType"].as_str().map(|list| list.split(',').next().unwrap_or(list).trim());
        let media_type = media_type.filter(|name| is_concrete(name)).map(str::to_owned);
        Member {
            name: name.to_owned(),
            argument,
            style,
            explode,
            media_type,
            is_file: self.kind == BodyKind::Multipart && is_file(document, schema),
            nullable: false,
        }
    }
}

/// Whether a media type can be the type of a part.
pub(crate) fn is_concrete(name: &str) -> bool {
    let is_token =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b));
    name.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// Whether a schema is the one of a file, or of a list of files.
pub(super) fn is_file(document: &Document, schema: &Value) -> bool {
    let schema = document.resolve(schema);
    let is_bytes = |schema: &Value| {
        let has_media_type = schema["contentMediaType"].as_str().is_some_and(|kind| !kind.starts_with("text/"));
        schema["type"] == "file"
            || schema["format"] == "binary"
            // With an encoding the content is text, and a string.
            || has_media_type && schema.get("contentEncoding").is_none()
    };
    is_bytes(schema) || is_bytes(document.resolve(&schema["items"]))
}
