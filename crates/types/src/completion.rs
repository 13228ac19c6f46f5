//! Completion of arguments.

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
    /// The prompt or resource template that has the argument; `ref` on the wire.
    #[serde(rename = "ref")]
    pub reference: CompletionReference,
    /// The argument and its value so far.
    pub argument: CompletionArgument,
    /// The arguments that are already resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<CompletionContext>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CompleteParams {
    /// Creates the parameters for an argument and its value so far.
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

/// A reference to the prompt or resource template that has the argument.
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
    /// Creates a reference to a prompt.
    pub fn prompt(name: impl Into<String>) -> Self {
        PromptReference::new(name).into()
    }

    /// Creates a reference to a resource template.
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

/// A reference to a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptReference {
    /// The programmatic name.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl PromptReference {
    /// Creates a reference to a prompt.
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

/// A reference to a resource template or a resource.
#[doc(alias = "ResourceReference")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceTemplateReference {
    /// The URI or URI template.
    pub uri: String,
}

impl ResourceTemplateReference {
    /// Creates a reference to a resource template.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into() }
    }
}

impl From<ResourceTemplateReference> for CompletionReference {
    fn from(reference: ResourceTemplateReference) -> Self {
        Self::Resource(reference)
    }
}

/// An argument and its value so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompletionArgument {
    /// The argument.
    pub name: String,
    /// The value so far.
    pub value: String,
}

impl CompletionArgument {
    /// Creates an argument with its value so far.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// The context of a completion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompletionContext {
    /// The other arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String>>,
}

impl CompletionContext {
    /// Creates a context of other arguments that are already resolved.
    pub fn new(arguments: impl Into<Map<String>>) -> Self {
        Self { arguments: Some(arguments.into()) }
    }
}

/// Result of `completion/complete`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompleteResult {
    /// The suggestions.
    pub completion: Completion,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CompleteResult {
    /// Creates a result.
    pub fn new(completion: Completion) -> Self {
        Self { completion, ..Self::default() }
    }
}

setters! { CompleteResult { into { meta: Meta } value { result_type: ResultType } } }

/// The suggested values of an argument.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// The suggested values, best first; at most 100.
    pub values: Vec<String>,
    /// The total number of suggestions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more suggestions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
}

impl Completion {
    /// Creates a completion of suggested values, best first.
    pub fn new(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { values: values.into_iter().map(Into::into).collect(), total: None, has_more: None }
    }
}

setters! { Completion { value { total: u64, has_more: bool } } }

has_meta!(CompleteParams, CompleteResult);
