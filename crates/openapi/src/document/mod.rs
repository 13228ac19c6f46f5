//! Documents: parsed within limits, converted to the layout of OpenAPI 3, and never interpreted beyond that.
//!
//! A document is a JSON value. Only the members that tools need are read, where they are needed; unknown and malformed
//! ones are ignored. This module knows nothing of tools and requests.

mod files;
mod refs;
mod swagger2;
mod yaml;

use std::path::Path;

use http::Uri;
use serde_json::{Map, Value};

use crate::{error::SpecError, text};

/// The maximum length of a document in bytes.
const LONGEST: usize = 64 << 20;

/// An OpenAPI 3.0 or 3.1 document, or a Swagger 2 document converted to one.
///
/// ```
/// use couplet_openapi::Document;
///
/// let document = Document::parse(b"openapi: 3.1.0\ninfo: { title: Pets, version: '1' }\npaths: {}")?;
/// assert_eq!(document.title(), "Pets");
/// # Ok::<(), couplet_openapi::SpecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Document {
    root: Value,
    location: Option<Uri>,
}

impl Document {
    /// Parses a document in JSON or YAML, of at most 64 MiB. References to other files are not followed: see
    /// [`Document::parse_file`].
    ///
    /// # Errors
    /// If it can be parsed as neither, or is not an OpenAPI 3.0, OpenAPI 3.1 or Swagger 2 document.
    pub fn parse(text: &[u8]) -> Result<Self, SpecError> {
        Self::from_value(parse_value(text)?)
    }

    /// Parses the text of a file, and the files that it refers to: up to 256 files in the same folder and below, of at most
    /// 64 MiB together. References to other places are not followed, nor are those of Swagger 2. The files are read at
    /// once, which blocks.
    ///
    /// # Errors
    /// If the document or one of the files cannot be parsed, if there are too many or too large files, or if it is not an
    /// OpenAPI 3.0, OpenAPI 3.1 or Swagger 2 document.
    ///
    /// ```no_run
    /// use couplet_openapi::Document;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let path = std::path::Path::new("api/openapi.yaml");
    /// let document = Document::parse_file(&std::fs::read(path)?, path)?;
    /// # drop(document);
    /// # Ok(())
    /// # }
    /// ```
    pub fn parse_file(text: &[u8], path: &Path) -> Result<Self, SpecError> {
        let mut root = parse_value(text)?;
        if root.get("openapi").is_some() {
            files::add(&mut root, path, text.len())?;
        }
        Self::from_value(root)
    }

    /// Creates a document from its JSON value.
    ///
    /// # Errors
    /// If it is not an OpenAPI 3.0, OpenAPI 3.1 or Swagger 2 document.
    pub fn from_value(root: Value) -> Result<Self, SpecError> {
        let version = |member: &str| match root.get(member) {
            Some(Value::String(version)) => Some(version.clone()),
            // YAML without quotes: `swagger: 2.0`.
            Some(Value::Number(version)) => Some(version.to_string()),
            _ => None,
        };
        let root = match (version("openapi"), version("swagger")) {
            (Some(version), _) if version.starts_with("3.") => root,
            (None, Some(version)) if version.starts_with('2') => swagger2::convert(root),
            (Some(version), _) | (None, Some(version)) => {
                let version = text::clean(&version, 20);
                let what = format!("the version is `{version}`: expected OpenAPI 3.0 or 3.1, or Swagger 2.0");
                return Err(SpecError::new(what));
            }
            (None, None) => {
                return Err(SpecError::new("expected an OpenAPI document, with a member `openapi` or `swagger`"));
            }
        };
        Ok(Self { root, location: None })
    }

    /// Sets the URL that the document was fetched from: the base of relative server URLs. Its origin may be private and
    /// without TLS, since the program chose it.
    #[must_use]
    pub fn located_at(mut self, url: &str) -> Self {
        self.location = url.parse().ok();
        self
    }

    /// Returns the title of the API.
    pub fn title(&self) -> &str {
        self.root["info"]["title"].as_str().unwrap_or("API")
    }

    /// Returns the version of the API, as far as it is one: without invisible characters, truncated.
    pub fn version(&self) -> String {
        match &self.root["info"]["version"] {
            Value::String(version) => text::clean(version, 64),
            Value::Number(version) => version.to_string(),
            _ => "0".to_owned(),
        }
    }

    /// Returns the description of the API.
    pub(crate) fn description(&self) -> &str {
        self.root["info"]["description"].as_str().unwrap_or_default()
    }

    pub(crate) fn location(&self) -> Option<&Uri> {
        self.location.as_ref()
    }

    /// Returns a member of the root.
    pub(crate) fn member(&self, name: &str) -> &Value {
        &self.root[name]
    }

    /// Returns the security schemes by name, resolved.
    pub(crate) fn security_schemes(&self) -> impl Iterator<Item = (&str, &Value)> {
        let schemes = self.root["components"]["securitySchemes"].as_object();
        schemes.into_iter().flatten().map(|(name, scheme)| (name.as_str(), self.resolve(scheme)))
    }
}

/// Parses JSON or YAML, within limits.
fn parse_value(text: &[u8]) -> Result<Value, SpecError> {
    if text.len() > LONGEST {
        return Err(SpecError::new(format!("the document has more than {} MiB", LONGEST >> 20)));
    }
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let is_json = text.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
    match is_json {
        true => serde_json::from_slice(text).map_err(|e| SpecError::new(format!("invalid JSON: {e}"))),
        false => {
            let text = std::str::from_utf8(text).map_err(|_| SpecError::new("the document is not UTF-8"))?;
            yaml::parse(text).map_err(|what| SpecError::new(format!("invalid YAML: {what}")))
        }
    }
}

/// Returns the members of an object; none of any other value.
pub(crate) fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter).map(|(name, value)| (name.as_str(), value))
}

/// Returns the items of an array; none of any other value.
pub(crate) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
