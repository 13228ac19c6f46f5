//! Resources: data that clients can read.

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct};

use crate::{Annotations, CacheScope, Icon, InputResponses, Meta, PaginatedParams, ResultType, content, field};

/// A resource, as a server lists it or a content block links to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resource {
    /// The URI.
    pub uri: String,
    /// The programmatic name.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The size in bytes before any encoding, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Hints on the audience and priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Icons to show beside the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Resource {
    /// Creates a resource with a URI and a name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: name.into(), ..Self::default() }
    }

    /// Returns the name to show to users: the title, or else the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

setters! { Resource {
    into { title: String, description: String, mime_type: String, meta: Meta }
    value { size: u64, annotations: Annotations, icons: Vec<Icon> }
} }

/// A template for the URIs of resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// The URI template (RFC 6570).
    pub uri_template: String,
    /// The programmatic name.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type, if all resources have the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Hints on the audience and priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Icons to show beside the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ResourceTemplate {
    /// Creates a template with a URI template and a name.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri_template: uri_template.into(), name: name.into(), ..Self::default() }
    }

    /// Returns the name to show to users: the title, or else the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

setters! { ResourceTemplate {
    into { title: String, description: String, mime_type: String, meta: Meta }
    value { annotations: Annotations, icons: Vec<Icon> }
} }

/// The contents of a resource, or of a part of it.
///
/// ```
/// use couplet_types::ResourceContents;
///
/// let contents = ResourceContents::text("memo://1", "buy milk").mime_type("text/plain");
/// assert_eq!(contents.as_text(), Some("buy milk"));
/// ```
#[doc(alias = "TextResourceContents")]
#[doc(alias = "BlobResourceContents")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceContents {
    /// The URI.
    pub uri: String,
    /// The media type, if it is known.
    pub mime_type: Option<String>,
    /// The body; `text` or `blob` on the wire.
    pub body: ResourceBody,
    /// The open `_meta` map.
    pub meta: Option<Meta>,
}

/// The body of a resource: text or bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes, encoded as base64.
    Blob(String),
}

impl ResourceContents {
    /// Creates contents from text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime_type: None, body: ResourceBody::Text(text.into()), meta: None }
    }

    /// Creates contents from bytes, encoded as base64.
    pub fn blob(uri: impl Into<String>, base64: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime_type: None, body: ResourceBody::Blob(base64.into()), meta: None }
    }

    /// Returns the text, if the body is text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.body {
            ResourceBody::Text(text) => Some(text),
            ResourceBody::Blob(_) => None,
        }
    }

    /// Returns the bytes as base64, if the body is bytes.
    pub fn as_blob(&self) -> Option<&str> {
        match &self.body {
            ResourceBody::Blob(base64) => Some(base64),
            ResourceBody::Text(_) => None,
        }
    }

    /// Returns what is wrong with the contents, if anything is: bytes have to be base64, and the media type valid.
    pub fn fault(&self) -> Option<&'static str> {
        let mime = self.mime_type.as_deref().is_some_and(|m| !content::is_mime_type(m));
        self.as_blob().and_then(content::data_fault).or_else(|| mime.then_some("the MIME type is not one"))
    }
}

setters! { ResourceContents { into { mime_type: String, meta: Meta } } }

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let optional = usize::from(self.mime_type.is_some()) + usize::from(self.meta.is_some());
        let mut object = serializer.serialize_struct("ResourceContents", 2 + optional)?;
        object.serialize_field("uri", &self.uri)?;
        if let Some(mime_type) = &self.mime_type {
            object.serialize_field("mimeType", mime_type)?;
        }
        match &self.body {
            ResourceBody::Text(text) => object.serialize_field("text", text)?,
            ResourceBody::Blob(base64) => object.serialize_field("blob", base64)?,
        }
        if let Some(meta) = &self.meta {
            object.serialize_field("_meta", meta)?;
        }
        object.end()
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        field::checked::<ContentsMembers, _, _>(deserializer)
    }
}

/// Resource contents as they are on the wire.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContentsMembers {
    uri: String,
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

impl TryFrom<ContentsMembers> for ResourceContents {
    type Error = &'static str;

    fn try_from(members: ContentsMembers) -> Result<Self, &'static str> {
        let ContentsMembers { uri, mime_type, text, blob, meta } = members;
        let body = match (text, blob) {
            (Some(text), None) => ResourceBody::Text(text),
            (None, Some(base64)) => ResourceBody::Blob(base64),
            (None, None) => return Err("resource contents have neither `text` nor `blob`"),
            (Some(_), Some(_)) => return Err("resource contents have both `text` and `blob`"),
        };
        Ok(Self { uri, mime_type, body, meta })
    }
}

/// Parameters of `resources/list`.
pub type ListResourcesParams = PaginatedParams;

/// Result of `resources/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListResourcesResult {
    /// The resources on this page.
    pub resources: Vec<Resource>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The time in milliseconds for which the result may be cached.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "field::ttl")]
    pub ttl_ms: Option<u64>,
    /// Whether the cached result may be shared between callers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListResourcesResult {
    /// Creates a page of resources.
    pub fn new(resources: Vec<Resource>) -> Self {
        Self { resources, ..Self::default() }
    }
}

setters! { ListResourcesResult {
    into { next_cursor: String, meta: Meta }
    value { ttl_ms: u64, cache_scope: CacheScope, result_type: ResultType }
} }

/// Parameters of `resources/templates/list`.
pub type ListResourceTemplatesParams = PaginatedParams;

/// Result of `resources/templates/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListResourceTemplatesResult {
    /// The templates on this page.
    pub resource_templates: Vec<ResourceTemplate>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The time in milliseconds for which the result may be cached.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "field::ttl")]
    pub ttl_ms: Option<u64>,
    /// Whether the cached result may be shared between callers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListResourceTemplatesResult {
    /// Creates a page of templates.
    pub fn new(resource_templates: Vec<ResourceTemplate>) -> Self {
        Self { resource_templates, ..Self::default() }
    }
}

setters! { ListResourceTemplatesResult {
    into { next_cursor: String, meta: Meta }
    value { ttl_ms: u64, cache_scope: CacheScope, result_type: ResultType }
} }

/// Parameters of `resources/read`.
#[doc(alias = "ReadResourceRequestParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceParams {
    /// The URI.
    pub uri: String,
    /// The responses to the input requests of the previous round (2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The request state of the previous round, returned unchanged (2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ReadResourceParams {
    /// Creates the parameters for a URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }
}

setters! { ReadResourceParams {
    into { request_state: String, meta: Meta }
    value { input_responses: InputResponses }
} }

/// Result of `resources/read`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceResult {
    /// The contents, in one or more parts.
    pub contents: Vec<ResourceContents>,
    /// The time in milliseconds for which the result may be cached.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "field::ttl")]
    pub ttl_ms: Option<u64>,
    /// Whether the cached result may be shared between callers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ReadResourceResult {
    /// Creates the result from contents.
    pub fn new(contents: Vec<ResourceContents>) -> Self {
        Self { contents, ..Self::default() }
    }

    /// Returns the text of all parts that are text, concatenated.
    pub fn all_text(&self) -> String {
        self.contents.iter().filter_map(ResourceContents::as_text).collect()
    }
}

setters! { ReadResourceResult {
    into { meta: Meta }
    value { ttl_ms: u64, cache_scope: CacheScope, result_type: ResultType }
} }

has_meta!(ListResourcesResult, ListResourceTemplatesResult, ReadResourceParams, ReadResourceResult);
