//! Content blocks of tool results, prompts and sampling messages.

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};

use crate::{
    Annotations, Map, Meta, RawJson, Resource, ResourceContents, field,
    tagged::{self, Tagged},
};

/// A block of content.
///
/// ```
/// use couplet_types::ContentBlock;
///
/// let block: ContentBlock = serde_json::from_str(r#"{"type":"text","text":"hi"}"#)?;
/// assert_eq!(block, ContentBlock::text("hi"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[doc(alias = "SamplingMessageContentBlock")]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ContentBlock {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Audio.
    Audio(AudioContent),
    /// An embedded resource: its contents are part of the message.
    Resource(EmbeddedResource),
    /// A link to a resource that can be read.
    ResourceLink(Resource),
    /// A tool call of a model; only in sampling.
    ToolUse(ToolUseContent),
    /// The result of a tool call; only in sampling.
    ToolResult(ToolResultContent),
    /// A block of an unknown type, as it was received.
    Other(OtherContent),
}

impl ContentBlock {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        TextContent::new(text).into()
    }

    /// Creates an image from base64 and a media type.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        ImageContent::new(data, mime_type).into()
    }

    /// Creates an audio block from base64 and a media type.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        AudioContent::new(data, mime_type).into()
    }

    /// Creates an embedded resource.
    pub fn resource(contents: ResourceContents) -> Self {
        EmbeddedResource::new(contents).into()
    }

    /// Creates a link to a resource.
    pub fn link(resource: Resource) -> Self {
        Self::ResourceLink(resource)
    }

    /// Returns the text, if this is a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    /// Returns the id, if this is a tool call.
    pub(crate) fn tool_use_id(&self) -> Option<&str> {
        if let Self::ToolUse(tool_use) = self { Some(&tool_use.id) } else { None }
    }

    /// Returns the id of the tool call, if this is the result of one.
    pub(crate) fn answered_use(&self) -> Option<&str> {
        if let Self::ToolResult(result) = self { Some(&result.tool_use_id) } else { None }
    }

    /// Returns what is wrong with the binary data, if anything is: data has to be base64 with a valid media type.
    ///
    /// ```
    /// use couplet_types::ContentBlock;
    ///
    /// assert_eq!(ContentBlock::image("AAEC", "image/png").fault(), None);
    /// assert!(ContentBlock::image("not base64!", "image/png").fault().is_some());
    /// assert!(ContentBlock::audio("AAEC", "loud").fault().is_some());
    /// ```
    pub fn fault(&self) -> Option<&'static str> {
        let media = |data: &str, mime: &str| {
            data_fault(data).or_else(|| (!is_mime_type(mime)).then_some("the MIME type is not one"))
        };
        match self {
            Self::Image(image) => media(&image.data, &image.mime_type),
            Self::Audio(audio) => media(&audio.data, &audio.mime_type),
            Self::Resource(embedded) => embedded.resource.fault(),
            Self::ToolResult(result) => result.content.iter().find_map(Self::fault),
            _ => None,
        }
    }
}

/// Returns the text of all text blocks, concatenated.
pub(crate) fn all_text(blocks: &[ContentBlock]) -> String {
    blocks.iter().filter_map(ContentBlock::as_text).collect()
}

/// Returns what is wrong with a string that should be base64.
pub(crate) fn data_fault(data: &str) -> Option<&'static str> {
    let digits = data.trim_end_matches('=');
    let padded = data.len() - digits.len() <= 2 && data.len().is_multiple_of(4);
    let digit = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    (!padded || !digits.bytes().all(digit)).then_some("the data is not base64")
}

/// Returns whether a string is a media type, with or without parameters.
pub(crate) fn is_mime_type(text: &str) -> bool {
    let token = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b));
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    essence.split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype))
}

impl Tagged for ContentBlock {
    const WHAT: &'static str = "block";

    fn read<'de, D: Deserializer<'de>>(tag: &str, members: D) -> Result<Self, D::Error> {
        match tag {
            "text" => TextContent::deserialize(members).map(Self::Text),
            "image" => ImageContent::deserialize(members).map(Self::Image),
            "audio" => AudioContent::deserialize(members).map(Self::Audio),
            "resource" => EmbeddedResource::deserialize(members).map(Self::Resource),
            "resource_link" => Resource::deserialize(members).map(Self::ResourceLink),
            "tool_use" => ToolUseContent::deserialize(members).map(Self::ToolUse),
            "tool_result" => ToolResultContent::deserialize(members).map(Self::ToolResult),
            kind => Ok(Self::Other(OtherContent { kind: kind.to_owned(), members: Map::deserialize(members)? })),
        }
    }
}

impl Serialize for ContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Known<'a> {
            Text(&'a TextContent),
            Image(&'a ImageContent),
            Audio(&'a AudioContent),
            Resource(&'a EmbeddedResource),
            ResourceLink(&'a Resource),
            ToolUse(&'a ToolUseContent),
            ToolResult(&'a ToolResultContent),
        }
        let known = match self {
            Self::Text(block) => Known::Text(block),
            Self::Image(block) => Known::Image(block),
            Self::Audio(block) => Known::Audio(block),
            Self::Resource(block) => Known::Resource(block),
            Self::ResourceLink(block) => Known::ResourceLink(block),
            Self::ToolUse(block) => Known::ToolUse(block),
            Self::ToolResult(block) => Known::ToolResult(block),
            Self::Other(block) => return block.serialize(serializer),
        };
        known.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// A block of an unknown type. It is preserved as received.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OtherContent {
    /// The member `type`.
    pub kind: String,
    /// The other members.
    pub members: Map<RawJson>,
}

impl Serialize for OtherContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.members.len() + 1))?;
        map.serialize_entry("type", &self.kind)?;
        for (key, value) in self.members.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Hints on the audience and priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl TextContent {
    /// Creates text content.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

setters! { TextContent { into { meta: Meta } value { annotations: Annotations } } }

/// An image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImageContent {
    /// The bytes, as base64.
    pub data: String,
    /// The media type, such as `image/png`.
    pub mime_type: String,
    /// Hints on the audience and priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ImageContent {
    /// Creates an image from base64 and a media type.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), ..Self::default() }
    }
}

setters! { ImageContent { into { meta: Meta } value { annotations: Annotations } } }

/// Audio.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AudioContent {
    /// The bytes, as base64.
    pub data: String,
    /// The media type, such as `audio/wav`.
    pub mime_type: String,
    /// Hints on the audience and priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl AudioContent {
    /// Creates an audio block from base64 and a media type.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), ..Self::default() }
    }
}

setters! { AudioContent { into { meta: Meta } value { annotations: Annotations } } }

/// An embedded resource: its contents are part of the message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EmbeddedResource {
    /// The contents.
    pub resource: ResourceContents,
    /// Hints on the audience and priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EmbeddedResource {
    /// Embeds the contents of a resource.
    pub fn new(resource: ResourceContents) -> Self {
        Self { resource, annotations: None, meta: None }
    }
}

setters! { EmbeddedResource { into { meta: Meta } value { annotations: Annotations } } }

/// A tool call of a model, in sampling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolUseContent {
    /// The id, which the result repeats.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments.
    pub input: RawJson,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ToolUseContent {
    /// Creates a tool call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: impl Into<RawJson>) -> Self {
        Self { id: id.into(), name: name.into(), input: input.into(), meta: None }
    }
}

setters! { ToolUseContent { into { meta: Meta } } }

/// The result of a tool call, in sampling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResultContent {
    /// The id of the call.
    pub tool_use_id: String,
    /// The content of the tool's result. It cannot contain tool calls or results.
    #[serde(deserialize_with = "plain_blocks")]
    pub content: Vec<ContentBlock>,
    /// The structured content; `null` is a value.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "field::present")]
    pub structured_content: Option<RawJson>,
    /// Whether the tool failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ToolResultContent {
    /// Creates the result of a tool call.
    pub fn new(tool_use_id: impl Into<String>, content: Vec<ContentBlock>) -> Self {
        Self { tool_use_id: tool_use_id.into(), content, ..Self::default() }
    }
}

setters! { ToolResultContent {
    into { structured_content: RawJson, meta: Meta }
    value { is_error: bool }
} }

/// A block that is neither a tool call nor a tool result.
///
/// Nested results would let a peer choose the depth of the recursion, and with it of the stack.
struct PlainBlock(ContentBlock);

impl Tagged for PlainBlock {
    const WHAT: &'static str = "block";

    fn read<'de, D: Deserializer<'de>>(tag: &str, members: D) -> Result<Self, D::Error> {
        match tag {
            "tool_use" | "tool_result" => Err(serde::de::Error::custom("it cannot be inside of a `tool_result` block")),
            _ => ContentBlock::read(tag, members).map(Self),
        }
    }
}

impl<'de> Deserialize<'de> for PlainBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

fn plain_blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ContentBlock>, D::Error> {
    let blocks = Vec::<PlainBlock>::deserialize(deserializer)?;
    Ok(blocks.into_iter().map(|PlainBlock(block)| block).collect())
}

macro_rules! into_block {
    ($($type:ident => $variant:ident),*) => {$(
        impl From<$type> for ContentBlock {
            fn from(content: $type) -> Self {
                Self::$variant(content)
            }
        }
    )*};
}

into_block!(
    TextContent => Text,
    ImageContent => Image,
    AudioContent => Audio,
    EmbeddedResource => Resource,
    Resource => ResourceLink,
    ToolUseContent => ToolUse,
    ToolResultContent => ToolResult
);
