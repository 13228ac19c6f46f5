//! Sampling: a server asks the client's model for a message.

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
    /// Which model would suit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// What to tell the model beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Which servers' context to add.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// How free the model's choice of words is.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    pub temperature: Option<f64>,
    /// How many tokens the model may write.
    pub max_tokens: u64,
    /// Texts at which the model stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// More for the model's provider: an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// Tools that the model may ask for (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Whether the model may or has to ask for a tool (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Asks to run the request as a task (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CreateMessageParams {
    /// Asks for the next message of a conversation.
    pub fn new(messages: Vec<SamplingMessage>, max_tokens: u64) -> Self {
        Self { messages, max_tokens, ..Self::default() }
    }

    /// What is wrong with the uses of tools in the conversation, if anything is: the model uses tools, the next
    /// message is the person's and answers each of them, and it has nothing else.
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

/// One message of a conversation.
///
/// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: SamplingContent,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SamplingMessage {
    /// A message.
    pub fn new(role: Role, content: impl Into<SamplingContent>) -> Self {
        Self { role, content: content.into(), meta: None }
    }

    /// A message of the person.
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::User, content)
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

setters! { SamplingMessage { into { meta: Meta } } }

/// What a message says: one block, or a list of them (since 2025-11-25).
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one block is by far the most frequent")]
pub enum SamplingContent {
    /// One block, printed without a list around it.
    One(ContentBlock),
    /// A list, also when it has one block.
    Many(Vec<ContentBlock>),
}

impl SamplingContent {
    /// The blocks, whether there is a list around them or not.
    pub fn blocks(&self) -> &[ContentBlock] {
        match self {
            Self::One(block) => slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }

    /// The tools that a model wants to use, with what they are called by.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUseContent> {
        self.blocks()
            .iter()
            .filter_map(|block| if let ContentBlock::ToolUse(tool_use) = block { Some(tool_use) } else { None })
    }

    /// The text of all text blocks, one after the other.
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

/// What the server would like the model to be. The client chooses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Names or parts of names of models, best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// How much low cost matters, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    pub cost_priority: Option<f64>,
    /// How much speed matters, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    pub speed_priority: Option<f64>,
    /// How much capability matters, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    pub intelligence_priority: Option<f64>,
}

impl ModelPreferences {
    /// No preferences yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The model that the first hint that fits any of them fits: a hint is a part of a name.
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

/// A hint at a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelHint {
    /// A model's name or a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl ModelHint {
    /// A hint by name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()) }
    }
}

/// Which servers' context to add to a sampling request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum IncludeContext {
    /// No server's.
    None,
    /// That of the server that asks.
    ///
    /// Deprecated since 2025-11-25 (SEP-2596), and removed with sampling: leave it out, or use `none`.
    ThisServer,
    /// That of all servers.
    ///
    /// Deprecated since 2025-11-25 (SEP-2596), and removed with sampling: leave it out, or use `none`.
    AllServers,
}

/// Whether a model may ask for tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolChoice {
    /// The rule; `auto` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
}

impl ToolChoice {
    /// A rule.
    pub fn new(mode: ToolChoiceMode) -> Self {
        Self { mode: Some(mode) }
    }
}

/// The rules of [`ToolChoice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ToolChoiceMode {
    /// The model decides.
    Auto,
    /// The model has to ask for one at least.
    Required,
    /// The model must not.
    None,
}

/// The answer to `sampling/createMessage`.
///
/// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: SamplingContent,
    /// The model that wrote it.
    pub model: String,
    /// Why it stopped, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CreateMessageResult {
    /// A message of a model.
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
    /// Why a model stopped.
    StopReason {
        /// It said what it had to say.
        EndTurn = "endTurn",
        /// It wrote one of the stop sequences.
        StopSequence = "stopSequence",
        /// It may not write more.
        MaxTokens = "maxTokens",
        /// It asks for a tool.
        ToolUse = "toolUse",
    }
}

has_meta!(CreateMessageParams, CreateMessageResult);
