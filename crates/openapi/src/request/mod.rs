//! Requests: a pure function from an operation and its arguments to a method, a URL, headers and a body.
//!
//! No argument can change anything but the place it is for: values are percent-encoded or refused. Nothing here knows
//! credentials or connections.

mod body;
mod encode;
mod multipart;
mod path;
mod query;
mod values;

use std::fmt;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde_json::{Map, Value};

use crate::operation::{Operation, Parameter, Place, Style, Values};
pub(crate) use encode::component;
use values::{flat, text_of};

/// A request of an operation, without credentials.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiRequest {
    /// The HTTP method.
    pub method: Method,
    /// The scheme, host and port: `https://api.example.com`.
    pub origin: String,
    /// The path, percent-encoded.
    pub path: String,
    /// The query, percent-encoded; may be empty.
    pub query: String,
    /// The headers, without `Cookie`.
    pub headers: HeaderMap,
    /// The cookies, as `name=value`.
    pub cookies: Vec<String>,
    /// The body; `None` for a request without one.
    pub body: Option<Bytes>,
}

impl ApiRequest {
    /// Returns the whole URL.
    pub fn url(&self) -> String {
        let question = if self.query.is_empty() { "" } else { "?" };
        format!("{}{}{question}{}", self.origin, self.path, self.query)
    }
}

/// An argument that a request cannot be built from. The message is for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError(String);

impl ArgumentError {
    fn new(argument: &str, what: &str) -> Self {
        Self(format!("the argument `{argument}` {what}"))
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ArgumentError {}

impl Operation {
    /// Builds the request for these arguments. It has no credentials yet.
    ///
    /// # Errors
    /// If a required argument is missing, or a value cannot stand in its place, such as an empty one in a path.
    pub fn request(&self, arguments: &Map<String, Value>) -> Result<ApiRequest, ArgumentError> {
        let mut path = path::Path::new(&self.base.path, &self.path);
        let fixed = path.fixed_query();
        let mut query = query::Query::new(fixed);
        let mut headers = HeaderMap::new();
        let mut cookies = Vec::new();
        for parameter in &self.parameters {
            let given = parameter.fixed.as_ref().or_else(|| arguments.get(&parameter.argument));
            let Some(value) = given.filter(|value| parameter.nullable || !value.is_null()) else {
                if parameter.required {
                    return Err(ArgumentError::new(&parameter.argument, "is required"));
                }
                continue;
            };
            match parameter.place {
                Place::Path => path.fill(parameter, value)?,
                Place::Query => query.add(parameter, value, |key| self.is_taken(parameter, key, fixed))?,
                Place::Header => drop(headers.append(header_name(parameter)?, header_value(parameter, value)?)),
                Place::Cookie => cookies.push(cookie(parameter, value)),
            }
        }
        let accept = HeaderValue::from_str(&self.expected.accept);
        headers.insert(ACCEPT, accept.unwrap_or(HeaderValue::from_static("*/*")));
        let body = self.body.as_ref().map(|body| body::write(body, arguments)).transpose()?.flatten();
        let body = body.map(|(media_type, bytes)| {
            headers.insert(CONTENT_TYPE, media_type);
            bytes
        });
        Ok(ApiRequest {
            method: self.method.clone(),
            origin: self.base.origin.clone(),
            path: path.finish()?,
            query: query.finish(),
            headers,
            cookies,
            body,
        })
    }

    /// Whether a name in the query belongs to another parameter, to the path or to the configuration.
    fn is_taken(&self, parameter: &Parameter, key: &str, fixed: &str) -> bool {
        let is_other = |p: &Parameter| p.place == Place::Query && p.name == key && p.name != parameter.name;
        let mut fixed = fixed.split('&').map(|pair| pair.split('=').next().unwrap_or(pair));
        self.reserved.iter().any(|name| name == key)
            || fixed.any(|name| name == key)
            || self.parameters.iter().any(is_other)
    }
}

fn header_name(parameter: &Parameter) -> Result<HeaderName, ArgumentError> {
    HeaderName::from_bytes(parameter.name.as_bytes())
        .map_err(|_| ArgumentError::new(&parameter.argument, "is for a header that does not exist"))
}

/// Writes the value of a header: the style `simple`, without encoding.
fn header_value(parameter: &Parameter, value: &Value) -> Result<HeaderValue, ArgumentError> {
    let explode = matches!(parameter.values, Values::Styled { explode: true, .. });
    let text = match (parameter.values, value) {
        (Values::Json, value) => ascii(&value.to_string()),
        (_, Value::Array(items)) => items.iter().map(text_of).collect::<Vec<_>>().join(","),
        (_, Value::Object(members)) => flat(members, explode, |text| text.to_owned()).join(","),
        (_, value) => text_of(value),
    };
    HeaderValue::from_bytes(text.as_bytes())
        .map_err(|_| ArgumentError::new(&parameter.argument, "has characters that a header cannot have"))
}

/// Escapes everything but ASCII in JSON text.
fn ascii(json: &str) -> String {
    let mut units = [0; 2];
    let escape = |c: char| match c.is_ascii() {
        true => c.to_string(),
        false => c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    };
    json.chars().map(escape).collect()
}

/// Writes a cookie. Lists and objects stay in one cookie, so that no argument can set another one.
fn cookie(parameter: &Parameter, value: &Value) -> String {
    let text = match (parameter.values, value) {
        (Values::Json, value) => encode::component(&value.to_string()),
        (Values::Styled { style: Style::Form, .. }, Value::Array(items)) => {
            items.iter().map(|item| encode::component(&text_of(item))).collect::<Vec<_>>().join(",")
        }
        (_, Value::Object(members)) => flat(members, false, encode::component).join(","),
        (_, value) => encode::component(&text_of(value)),
    };
    format!("{}={text}", parameter.name)
}

#[cfg(test)]
mod tests;
