//! A question to the person, as the callback sees it.

use couplet_types::{ElicitAction, ElicitParams, ElicitResult, ElicitSchema, Map, RawJson, RpcError};
use serde::Serialize;

/// A question of the server to the person, and the ways to answer it.
///
/// ```
/// use couplet_client::Elicitation;
/// use couplet_types::{ElicitParams, ElicitSchema, PrimitiveSchema};
/// use serde_json::json;
///
/// let schema = ElicitSchema::new().required("name", PrimitiveSchema::string());
/// let ask = Elicitation::new(ElicitParams::form("Who are you?", &schema));
/// assert!(ask.accept(json!({ "name": "Ada" })).is_ok());
/// assert!(ask.accept(json!({})).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Elicitation(ElicitParams);

impl Elicitation {
    /// A question.
    pub fn new(params: ElicitParams) -> Self {
        Self(params)
    }

    /// What to tell the person.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The form to fill in, if there is one.
    ///
    /// # Errors
    /// When the form uses more of JSON Schema than elicitation allows; [`Elicitation::params`] has it as it came.
    pub fn schema(&self) -> Result<Option<ElicitSchema>, serde_json::Error> {
        self.0.schema()
    }

    /// Whether the person is asked to visit an address and not to fill in a form.
    pub fn is_url(&self) -> bool {
        self.0.is_url()
    }

    /// The address to visit. Show it in full, and open it only when the person agrees.
    pub fn url(&self) -> Option<&str> {
        self.0.url.as_deref().filter(|_| self.is_url())
    }

    /// The host of the address, to be shown apart from the rest: what really will be visited.
    pub fn url_host(&self) -> Option<&str> {
        let (_, rest) = self.url()?.split_once("://")?;
        let authority = rest.split(['/', '?', '#', '\\']).next()?;
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        match host.strip_prefix('[') {
            Some(v6) => v6.split(']').next(),
            None => host.split(':').next(),
        }
    }

    /// Whether the person should be warned of the address: it is not `https:`, hides another host, or has a host
    /// that may look like another one (Punycode, or letters beyond ASCII).
    pub fn is_suspicious_url(&self) -> bool {
        let (Some(url), Some(host)) = (self.url(), self.url_host()) else { return self.is_url() };
        let foreign = host.split('.').any(|label| label.to_ascii_lowercase().starts_with("xn--")) || !host.is_ascii();
        let hidden = url.split(['/', '?', '#']).nth(2).is_some_and(|authority| authority.contains('@'));
        host.is_empty() || foreign || hidden || !url.to_ascii_lowercase().starts_with("https://")
    }

    /// What the form has filled in beforehand, to be shown to the person.
    pub fn defaults(&self) -> Map<RawJson> {
        self.schema().ok().flatten().map_or_else(Map::new, |schema| schema.defaults())
    }

    /// The question as it came.
    pub fn params(&self) -> &ElicitParams {
        &self.0
    }

    /// The person filled in the form. The content is anything that prints as a JSON object.
    ///
    /// # Errors
    /// When it does not print as an object, is not what the form allows, or the question has no form.
    pub fn accept(&self, content: impl Serialize) -> Result<ElicitResult, RpcError> {
        if self.is_url() {
            return Err(RpcError::internal("a visit has no content; `accept_url` agrees to it"));
        }
        let content: Map<RawJson> = RawJson::new(&content)
            .and_then(|raw| raw.parse())
            .map_err(|e| RpcError::internal(format!("the content of the form is not an object: {e}")))?;
        if let Ok(Some(schema)) = self.schema() {
            schema.check(&content).map_err(|what| RpcError::internal(format!("the form is not filled in: {what}")))?;
        }
        Ok(ElicitResult::accept(content))
    }

    /// The person agreed to visit the address. What comes of the visit is between them and the server.
    ///
    /// # Errors
    /// When the question is about a form.
    pub fn accept_url(&self) -> Result<ElicitResult, RpcError> {
        if self.is_url() {
            Ok(ElicitResult::new(ElicitAction::Accept))
        } else {
            Err(RpcError::internal("a form needs content; `accept` takes it"))
        }
    }

    /// The person said no.
    ///
    /// # Errors
    /// Never; the type is that of the other answers.
    pub fn decline(&self) -> Result<ElicitResult, RpcError> {
        Ok(ElicitResult::decline())
    }

    /// The person went away without a choice.
    ///
    /// # Errors
    /// Never; the type is that of the other answers.
    pub fn cancel(&self) -> Result<ElicitResult, RpcError> {
        Ok(ElicitResult::cancel())
    }
}
