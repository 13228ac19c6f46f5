//! Parameters: where they go, and how their values are written.

use serde_json::Value;

use super::responses::is_json;
use crate::document::{Document, members};

/// The place of a parameter in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
    Cookie,
}

impl Place {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "path" => Self::Path,
            "query" => Self::Query,
            "header" => Self::Header,
            "cookie" => Self::Cookie,
            _ => return None,
        })
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

/// A style of OpenAPI: how lists and objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

impl Style {
    /// Returns the style of this name if the place allows it, or else the default of the place.
    pub(crate) fn of(name: Option<&str>, place: Place) -> Self {
        match (place, name) {
            (Place::Path, Some("label")) => Self::Label,
            (Place::Path, Some("matrix")) => Self::Matrix,
            (Place::Path | Place::Header, _) => Self::Simple,
            (Place::Query, Some("spaceDelimited")) => Self::SpaceDelimited,
            (Place::Query, Some("pipeDelimited")) => Self::PipeDelimited,
            (Place::Query, Some("deepObject")) => Self::DeepObject,
            (Place::Query | Place::Cookie, _) => Self::Form,
        }
    }
}

/// The way in which the values of a parameter are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    Styled {
        style: Style,
        explode: bool,
        allow_reserved: bool,
    },
    /// JSON text.
    Json,
}

/// A parameter of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    /// The name in the request.
    pub(crate) name: String,
    /// The name among the arguments of the tool.
    pub(crate) argument: String,
    pub(crate) place: Place,
    pub(crate) required: bool,
    pub(crate) values: Values,
    /// Whether `null` is sent as a value.
    pub(crate) nullable: bool,
    /// The only value that the document allows. It is no argument.
    pub(crate) fixed: Option<Value>,
}

/// Headers that requests set by themselves, or that belong to the connection: no parameter can be one of them.
const OWN_HEADERS: [&str; 16] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl Parameter {
    /// Parses a resolved parameter; `None` if it has no name or place, or if arguments must not set it.
    pub(super) fn parse(value: &Value) -> Option<Self> {
        let name = value["name"].as_str().filter(|name| !name.is_empty())?;
        let place = Place::named(value["in"].as_str()?)?;
        if place == Place::Header {
            let is_token = http::HeaderName::from_bytes(name.as_bytes()).is_ok();
            if !is_token || OWN_HEADERS.contains(&&*name.to_ascii_lowercase()) {
                return None;
            }
        }
        if place == Place::Cookie && !name.bytes().all(|b| b.is_ascii_graphic() && !b"=;,\"\\".contains(&b)) {
            return None;
        }
        let style = Style::of(value["style"].as_str(), place);
        let explode = value["explode"].as_bool().unwrap_or(matches!(style, Style::Form | Style::DeepObject));
        let allow_reserved = place == Place::Query && value["allowReserved"] == true;
        let media_type = members(&value["content"]).map(|(name, _)| name).next();
        let is_content = value.get("schema").is_none() && media_type.is_some_and(is_json);
        let values = if is_content { Values::Json } else { Values::Styled { style, explode, allow_reserved } };
        let required = value["required"] == true || place == Place::Path;
        let (name, argument) = (name.to_owned(), name.to_owned());
        Some(Self { name, argument, place, required, values, nullable: false, fixed: None })
    }

    /// Creates the parameter for a variable of a path that the document does not describe.
    pub(super) fn undescribed(name: &str) -> Self {
        let values = Values::Styled { style: Style::Simple, explode: false, allow_reserved: false };
        let (name, argument) = (name.to_owned(), name.to_owned());
        Self { name, argument, place: Place::Path, required: true, values, nullable: false, fixed: None }
    }

    /// Returns the schema of a resolved parameter.
    pub(super) fn schema<'a>(document: &'a Document, value: &'a Value) -> &'a Value {
        match value.get("schema") {
            Some(schema) => schema,
            None => {
                let content = value["content"].as_object().and_then(|content| content.values().next());
                content.map_or(&Value::Null, |media| &document.resolve(media)["schema"])
            }
        }
    }
}
