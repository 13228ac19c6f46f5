//! Prompts: messages that a server prepares for the person to send.

use serde::{Deserialize, Serialize};

use crate::{CacheScope, ContentBlock, Icon, InputResponses, Map, Meta, PaginatedParams, ResultType, Role, field};

/// A prompt, as a server lists it.
///
/// ```
/// use couplet_types::{Prompt, PromptArgument};
///
/// let prompt = Prompt::new("review").arguments(vec![PromptArgument::new("code").required(true)]);
/// assert_eq!(prompt.display_name(), "review");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Prompt {
    /// The name for programs.
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What can be filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<PromptArgument>>,
    /// Pictures to show beside the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Prompt {
    /// A prompt without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// What to show to people: the title, or else the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

setters! { Prompt {
    into { title: String, description: String, meta: Meta }
    value { arguments: Vec<PromptArgument>, icons: Vec<Icon> }
} }

/// Something to fill in in a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name for programs.
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to write there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it has to be filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

impl PromptArgument {
    /// An argument that may be left out.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

setters! { PromptArgument { into { title: String, description: String } value { required: bool } } }

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: ContentBlock,
}

impl PromptMessage {
    /// A message.
    pub fn new(role: Role, content: impl Into<ContentBlock>) -> Self {
        Self { role, content: content.into() }
    }

    /// A message of the person.
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::User, content)
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

/// Parameters of `prompts/list`.
pub type ListPromptsParams = PaginatedParams;

/// The answer to `prompts/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListPromptsResult {
    /// The prompts on this page.
    pub prompts: Vec<Prompt>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// For how many milliseconds the answer may be reused.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "field::ttl")]
    pub ttl_ms: Option<u64>,
    /// Who may share a stored copy of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListPromptsResult {
    /// A page of prompts.
    pub fn new(prompts: Vec<Prompt>) -> Self {
        Self { prompts, ..Self::default() }
    }
}

setters! { ListPromptsResult {
    into { next_cursor: String, meta: Meta }
    value { ttl_ms: u64, cache_scope: CacheScope, result_type: ResultType }
} }

/// Parameters of `prompts/get`.
#[doc(alias = "GetPromptRequestParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptParams {
    /// The prompt.
    pub name: String,
    /// What was filled in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String>>,
    /// The answers to what the previous round asked for (2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The state that the previous round handed out, returned unchanged (2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetPromptParams {
    /// Asks for a prompt, with nothing filled in.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

setters! { GetPromptParams {
    into { arguments: Map<String>, request_state: String, meta: Meta }
    value { input_responses: InputResponses }
} }

/// The answer to `prompts/get`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptResult {
    /// What the prompt is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages.
    pub messages: Vec<PromptMessage>,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetPromptResult {
    /// A prompt's messages.
    pub fn new(messages: Vec<PromptMessage>) -> Self {
        Self { messages, ..Self::default() }
    }
}

setters! { GetPromptResult {
    into { description: String, meta: Meta }
    value { result_type: ResultType }
} }

has_meta!(ListPromptsResult, GetPromptParams, GetPromptResult);
