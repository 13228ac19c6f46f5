//! Sampling: messages that a server requests from the client's model.

use std::{fmt, slice};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{
        MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};

use crate::{ContentBlock, Meta, RawJson, ResultType, Role, TaskMetadata, Tool, ToolUseContent, content, field};

/// Parameters of `sampling/createMessage`.
///
/// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
#[doc(alias = "CreateMessageRequestParams")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageParams {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// The preferred models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// The system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The servers whose context to include.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// The sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    pub temperature: Option<f64>,
    /// The maximum number of tokens to generate.
    pub max_tokens: u64,
    /// Stop sequences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// Metadata for the model's provider: an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// The tools that the model may call (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Whether the model may or has to call a tool (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Requests to run it as a task (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CreateMessageParams {
    /// Creates the parameters for the next message of a conversation.
    pub fn new(messages: Vec<SamplingMessage>, max_tokens: u64) -> Self {
        Self { messages, max_tokens, ..Self::default() }
    }

    /// Returns what is wrong with the tool calls in the conversation, if anything is: the message after tool calls has
    /// to be the user's, with a result for each of them and nothing else.
    pub fn unbalanced(&self) -> Option<&'static str> {
        let mut open: Vec<&str> = Vec::new();
        for message in &self.messages {
            let blocks = message.content.blocks();
            let mut answered: Vec<&str> = blocks.iter().filter_map(ContentBlock::answered_use).collect();
            if !answered.is_empty() && answered.len() != blocks.len() {
                return Some("a message with tool results must have nothing else");
            }
            answered.sort_unstable();
            if open != answered {
                return Some("every tool use needs its result in the next message");
            }
            open = blocks.iter().filter_map(ContentBlock::tool_use_id).collect();
            open.sort_unstable();
            let (uses, answers) = (!open.is_empty(), !answered.is_empty());
            if (uses && message.role == Role::User) || (answers && message.role == Role::Assistant) {
                return Some("the assistant uses tools, and the user has their results");
            }
        }
        (!open.is_empty()).then_some("the last tool use has no result")
    }
}

setters! { CreateMessageParams {
    into { system_prompt: String, metadata: RawJson, meta: Meta }
    value {
        model_preferences: ModelPreferences,
        include_context: IncludeContext,
        temperature: f64,
        stop_sequences: Vec<String>,
        tools: Vec<Tool>,
        tool_choice: ToolChoice,
        task: TaskMetadata,
    }
} }

/// A message of a conversation.
///
/// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingMessage {
    /// The role of the sender.
    pub role: Role,
    /// The content.
    pub content: SamplingContent,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SamplingMessage {
    /// Creates a message.
    pub fn new(role: Role, content: impl Into<SamplingContent>) -> Self {
        Self { role, content: content.into(), meta: None }
    }

    /// Creates a message of the user.
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates a message of the model.
    pub fn assistant(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

setters! { SamplingMessage { into { meta: Meta } } }

/// The content of a message: one block, or a list of them (since 2025-11-25).
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one block is by far the most frequent")]
pub enum SamplingContent {
    /// One block, serialized without a list.
    One(ContentBlock),
    /// A list, also of one block.
    Many(Vec<ContentBlock>),
}

impl SamplingContent {
    /// Returns the blocks.
    pub fn blocks(&self) -> &[ContentBlock] {
        match self {
            Self::One(block) => slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }

    /// Returns the tool calls of the model.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUseContent> {
        self.blocks()
            .iter()
            .filter_map(|block| if let ContentBlock::ToolUse(tool_use) = block { Some(tool_use) } else { None })
    }

    /// Returns the text of all text blocks, concatenated.
    pub fn all_text(&self) -> String {
        content::all_text(self.blocks())
    }
}

impl<T: Into<ContentBlock>> From<T> for SamplingContent {
    fn from(block: T) -> Self {
        Self::One(block.into())
    }
}

impl From<Vec<ContentBlock>> for SamplingContent {
    fn from(blocks: Vec<ContentBlock>) -> Self {
        Self::Many(blocks)
    }
}

impl Serialize for SamplingContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(block) => block.serialize(serializer),
            Self::Many(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> Visitor<'de> for OneOrMany {
            type Value = SamplingContent;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a content block or an array of them")
            }
            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<SamplingContent, A::Error> {
                ContentBlock::deserialize(MapAccessDeserializer::new(members)).map(SamplingContent::One)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, blocks: A) -> Result<SamplingContent, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(blocks)).map(SamplingContent::Many)
            }
        }
        let content = deserializer.deserialize_any(OneOrMany)?;
        // A user approves what a model is given, so there must be nothing that cannot be shown.
        for block in content.blocks() {
            if let ContentBlock::Other(other) = block {
                return Err(serde::de::Error::custom(format_args!("unknown type `{}` of a content block", other.kind)));
            }
        }
        Ok(content)
    }
}

/// The preferences of the server for a model. The client chooses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Names of models or parts of them, best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// The importance of low cost, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    pub cost_priority: Option<f64>,
    /// The importance of speed, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    pub speed_priority: Option<f64>,
    /// The importance of capability, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    pub intelligence_priority: Option<f64>,
}

impl ModelPreferences {
    /// Creates empty preferences.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the model that matches the first matching hint. A hint matches if it is a part of the name.
    ///
    /// ```
    /// use couplet_types::{ModelHint, ModelPreferences};
    ///
    /// let wanted = ModelPreferences::new().hints(vec![ModelHint::new("sonnet"), ModelHint::new("gemini")]);
    /// assert_eq!(wanted.pick(["gemini-2-pro", "claude-sonnet-5"]), Some("claude-sonnet-5"));
    /// assert_eq!(wanted.pick(["gpt-6"]), None);
    /// ```
    pub fn pick<'a>(&self, models: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        let models: Vec<&str> = models.into_iter().collect();
        let mut names = self.hints.iter().flatten().filter_map(|h| h.name.as_deref());
        names.find_map(|name| models.iter().find(|model| model.contains(name)).copied())
    }
}

setters! { ModelPreferences {
    value { hints: Vec<ModelHint>, cost_priority: f64, speed_priority: f64, intelligence_priority: f64 }
} }

/// A hint for the choice of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelHint {
    /// The name of a model or a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl ModelHint {
    /// Creates a hint.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()) }
    }
}

/// The servers whose context to include in a sampling request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum IncludeContext {
    /// None.
    None,
    /// The server that sent the request.
    ///
    /// Deprecated since 2025-11-25 (SEP-2596), and removed with sampling: leave it out, or use `none`.
    ThisServer,
    /// All servers.
    ///
    /// Deprecated since 2025-11-25 (SEP-2596), and removed with sampling: leave it out, or use `none`.
    AllServers,
}

/// Whether a model may or has to call tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolChoice {
    /// The mode; `auto` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
}

impl ToolChoice {
    /// Creates a tool choice.
    pub fn new(mode: ToolChoiceMode) -> Self {
        Self { mode: Some(mode) }
    }
}

/// The mode of a [`ToolChoice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ToolChoiceMode {
    /// The model decides.
    Auto,
    /// The model has to call at least one tool.
    Required,
    /// The model must not call tools.
    None,
}

/// Result of `sampling/createMessage`.
///
/// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// The role of the sender.
    pub role: Role,
    /// The content.
    pub content: SamplingContent,
    /// The name of the model.
    pub model: String,
    /// The reason why the model stopped, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CreateMessageResult {
    /// Creates the result from a message of a model.
    pub fn new(model: impl Into<String>, content: impl Into<SamplingContent>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
            model: model.into(),
            stop_reason: None,
            result_type: None,
            meta: None,
        }
    }
}

setters! { CreateMessageResult {
    into { meta: Meta }
    value { stop_reason: StopReason, result_type: ResultType }
} }

open_strings! {
    /// The reason why a model stopped.
    StopReason {
        /// The model finished its turn.
        EndTurn = "endTurn",
        /// A stop sequence was generated.
        StopSequence = "stopSequence",
        /// The maximum number of tokens was reached.
        MaxTokens = "maxTokens",
        /// The model called a tool.
        ToolUse = "toolUse",
    }
}

has_meta!(CreateMessageParams, CreateMessageResult);
