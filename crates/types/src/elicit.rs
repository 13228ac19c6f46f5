//! Elicitation: forms and URLs for the user.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{ElicitSchema, Map, Meta, RawJson, ResultType, TaskMetadata};

/// Parameters of `elicitation/create`.
///
/// ```
/// use couplet_types::{ElicitParams, ElicitSchema, PrimitiveSchema};
///
/// let schema = ElicitSchema::new().required("name", PrimitiveSchema::string());
/// let params = ElicitParams::form("Who are you?", &schema);
/// assert_eq!(params.schema()?, Some(schema));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[doc(alias = "ElicitRequestParams")]
#[doc(alias = "ElicitRequestFormParams")]
#[doc(alias = "ElicitRequestURLParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitParams {
    /// The mode; a form when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ElicitMode>,
    /// The message for the user.
    pub message: String,
    /// The schema of the form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_schema: Option<RawJson>,
    /// The URL to open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The id that the completion notification repeats (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// Requests to run the elicitation as a task (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitParams {
    /// Creates a form elicitation.
    pub fn form(message: impl Into<String>, schema: &ElicitSchema) -> Self {
        let schema = RawJson::new(schema).expect("the schema has string keys and plain values only");
        Self { message: message.into(), requested_schema: Some(schema), ..Self::default() }
    }

    /// Creates a URL elicitation.
    pub fn visit(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self { mode: Some(ElicitMode::Url), message: message.into(), url: Some(url.into()), ..Self::default() }
    }

    /// Parses the schema of the form; `None` if there is none.
    ///
    /// # Errors
    /// If the schema uses more of JSON Schema than elicitation allows.
    pub fn schema(&self) -> Result<Option<ElicitSchema>, serde_json::Error> {
        self.requested_schema.as_ref().map(RawJson::parse).transpose()
    }

    /// Returns whether this is a URL elicitation.
    pub fn is_url(&self) -> bool {
        self.mode == Some(ElicitMode::Url)
    }
}

setters! { ElicitParams {
    into { requested_schema: RawJson, url: String, elicitation_id: String, meta: Meta }
    value { mode: ElicitMode, task: TaskMetadata }
} }

/// The mode of an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ElicitMode {
    /// A form in the client.
    Form,
    /// A URL that the user opens.
    Url,
}

/// Result of `elicitation/create`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitResult {
    /// The action of the user.
    pub action: ElicitAction,
    /// The content of the form; only if the user submitted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<RawJson>>,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitResult {
    /// Creates the result of a user who submitted the form.
    pub fn accept(content: impl Into<Map<RawJson>>) -> Self {
        Self { content: Some(content.into()), ..Self::new(ElicitAction::Accept) }
    }

    /// Creates the result of a user who declined.
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// Creates the result of a user who dismissed the request.
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }

    /// Creates a result without content.
    pub fn new(action: ElicitAction) -> Self {
        Self { action, content: None, result_type: None, meta: None }
    }

    /// Deserializes the content of the form.
    ///
    /// # Errors
    /// If the content does not match the type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        match &self.content {
            Some(content) => RawJson::new(content)?.parse(),
            None => RawJson::empty_object().parse(),
        }
    }
}

setters! { ElicitResult {
    into { content: Map<RawJson>, meta: Meta }
    value { result_type: ResultType }
} }

/// The action of the user in an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// The user accepted.
    Accept,
    /// The user declined.
    Decline,
    /// The user dismissed the request without a choice.
    Cancel,
}

/// Parameters of `notifications/elicitation/complete` (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationCompleteParams {
    /// The id of the elicitation that is complete.
    pub elicitation_id: String,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitationCompleteParams {
    /// Creates the parameters for the elicitation with this id.
    pub fn new(elicitation_id: impl Into<String>) -> Self {
        Self { elicitation_id: elicitation_id.into(), meta: None }
    }
}

setters! { ElicitationCompleteParams { into { meta: Meta } } }

has_meta!(ElicitParams, ElicitResult, ElicitationCompleteParams);
