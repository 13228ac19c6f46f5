//! Suggestions for arguments while they are typed.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    Map, Meta, ResultType,
    tagged::{self, Tagged},
};

/// Parameters of `completion/complete`.
#[doc(alias = "CompleteRequestParams")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompleteParams {
    /// What has the argument: a prompt or a resource template. `ref` on the wire.
    #[serde(rename = "ref")]
    pub reference: CompletionReference,
    /// The argument and what was typed.
    pub argument: CompletionArgument,
    /// What was filled in already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<CompletionContext>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CompleteParams {
    /// Asks for suggestions for an argument, given what was typed.
    pub fn new(
        reference: impl Into<CompletionReference>,
        argument: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        Self {
            reference: reference.into(),
            argument: CompletionArgument::new(argument, value),
            context: None,
            meta: None,
        }
    }
}

setters! { CompleteParams { into { meta: Meta } value { context: CompletionContext } } }

/// What an argument belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum CompletionReference {
    /// A prompt.
    #[serde(rename = "ref/prompt")]
    Prompt(PromptReference),
    /// A resource template.
    #[serde(rename = "ref/resource")]
    Resource(ResourceTemplateReference),
}

impl CompletionReference {
    /// A prompt, by its name.
    pub fn prompt(name: impl Into<String>) -> Self {
        PromptReference::new(name).into()
    }

    /// A resource template, by its pattern.
    pub fn resource(uri: impl Into<String>) -> Self {
        ResourceTemplateReference::new(uri).into()
    }
}

impl Tagged for CompletionReference {
    const WHAT: &'static str = "reference";

    fn read<'de, D: Deserializer<'de>>(tag: &str, members: D) -> Result<Self, D::Error> {
        match tag {
            "ref/prompt" => PromptReference::deserialize(members).map(Self::Prompt),
            "ref/resource" => ResourceTemplateReference::deserialize(members).map(Self::Resource),
            _ => Err(serde::de::Error::unknown_variant(tag, &["ref/prompt", "ref/resource"])),
        }
    }
}

impl<'de> Deserialize<'de> for CompletionReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

/// A prompt, named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptReference {
    /// The name for programs.
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl PromptReference {
    /// A prompt, by its name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), title: None }
    }
}

setters! { PromptReference { into { title: String } } }

impl From<PromptReference> for CompletionReference {
    fn from(reference: PromptReference) -> Self {
        Self::Prompt(reference)
    }
}

/// A resource template, or a resource, named.
#[doc(alias = "ResourceReference")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceTemplateReference {
    /// The address or its pattern.
    pub uri: String,
}

impl ResourceTemplateReference {
    /// A resource template, by its pattern.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into() }
    }
}

impl From<ResourceTemplateReference> for CompletionReference {
    fn from(reference: ResourceTemplateReference) -> Self {
        Self::Resource(reference)
    }
}

/// An argument and what was typed so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompletionArgument {
    /// The argument.
    pub name: String,
    /// What was typed.
    pub value: String,
}

impl CompletionArgument {
    /// An argument and what was typed.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// What was filled in before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompletionContext {
    /// The other arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String>>,
}

impl CompletionContext {
    /// Other arguments that are filled in already.
    pub fn new(arguments: impl Into<Map<String>>) -> Self {
        Self { arguments: Some(arguments.into()) }
    }
}

/// The answer to `completion/complete`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompleteResult {
    /// The suggestions.
    pub completion: Completion,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CompleteResult {
    /// Some suggestions.
    pub fn new(completion: Completion) -> Self {
        Self { completion, ..Self::default() }
    }
}

setters! { CompleteResult { into { meta: Meta } value { result_type: ResultType } } }

/// Suggestions for an argument.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// The suggestions, best first; at most 100.
    pub values: Vec<String>,
    /// How many there are in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more than these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

impl Completion {
    /// Some suggestions, best first.
    pub fn new(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { values: values.into_iter().map(Into::into).collect(), total: None, has_more: None }
    }
}

setters! { Completion { value { total: u64, has_more: bool } } }

has_meta!(CompleteParams, CompleteResult);
