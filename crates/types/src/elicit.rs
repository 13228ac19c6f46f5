//! Elicitation: asking the person something.

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
    /// A form or an address; a form when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ElicitMode>,
    /// What to tell the person.
    pub message: String,
    /// The schema of the form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_schema: Option<RawJson>,
    /// The address to visit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Ties the visit to the notification that it is over (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// Asks to run the elicitation as a task (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitParams {
    /// Asks the person to fill in a form.
    pub fn form(message: impl Into<String>, schema: &ElicitSchema) -> Self {
        let schema = RawJson::new(schema).expect("the schema has string keys and plain values only");
        Self { message: message.into(), requested_schema: Some(schema), ..Self::default() }
    }

    /// Asks the person to visit an address.
    pub fn visit(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self { mode: Some(ElicitMode::Url), message: message.into(), url: Some(url.into()), ..Self::default() }
    }

    /// The schema of the form, if there is one.
    ///
    /// # Errors
    /// When the schema uses more of JSON Schema than elicitation allows.
    pub fn schema(&self) -> Result<Option<ElicitSchema>, serde_json::Error> {
        self.requested_schema.as_ref().map(RawJson::parse).transpose()
    }

    /// Whether this is about an address and not about a form.
    pub fn is_url(&self) -> bool {
        self.mode == Some(ElicitMode::Url)
    }
}

setters! { ElicitParams {
    into { requested_schema: RawJson, url: String, elicitation_id: String, meta: Meta }
    value { mode: ElicitMode, task: TaskMetadata }
} }

/// How the person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ElicitMode {
    /// With a form inside of the client.
    Form,
    /// On a page that the person visits.
    Url,
}

/// The answer to `elicitation/create`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitResult {
    /// What the person did.
    pub action: ElicitAction,
    /// What was filled in; only when the person accepted a form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<RawJson>>,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitResult {
    /// The person filled in the form.
    pub fn accept(content: impl Into<Map<RawJson>>) -> Self {
        Self { content: Some(content.into()), ..Self::new(ElicitAction::Accept) }
    }

    /// The person said no.
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// The person said neither yes nor no.
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }

    /// An answer without content.
    pub fn new(action: ElicitAction) -> Self {
        Self { action, content: None, result_type: None, meta: None }
    }

    /// What was filled in, as a type of yours.
    ///
    /// # Errors
    /// When the content does not have the type's shape.
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

/// What the person did with an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// Agreed.
    Accept,
    /// Said no.
    Decline,
    /// Went away without a choice.
    Cancel,
}

/// Parameters of `notifications/elicitation/complete` (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationCompleteParams {
    /// Which visit is over.
    pub elicitation_id: String,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitationCompleteParams {
    /// The visit with this id is over.
    pub fn new(elicitation_id: impl Into<String>) -> Self {
        Self { elicitation_id: elicitation_id.into(), meta: None }
    }
}

setters! { ElicitationCompleteParams { into { meta: Meta } } }

has_meta!(ElicitParams, ElicitResult, ElicitationCompleteParams);
