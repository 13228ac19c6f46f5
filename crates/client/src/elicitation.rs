//! Elicitation requests, as callbacks see them.

use couplet_types::{ElicitAction, ElicitParams, ElicitResult, ElicitSchema, Map, RawJson, RpcError};
use serde::Serialize;

/// An elicitation request: a form to fill in or a URL to open, and constructors of the user's response.
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
    /// Creates a request, for tests of callbacks.
    pub fn new(params: ElicitParams) -> Self {
        Self(params)
    }

    /// Returns the message for the user.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the schema of the form; `None` for URL elicitation.
    ///
    /// # Errors
    /// If the schema uses more of JSON Schema than elicitation allows; [`Elicitation::params`] has it as it was
    /// received.
    pub fn schema(&self) -> Result<Option<ElicitSchema>, serde_json::Error> {
        self.0.schema()
    }

    /// Returns whether this is URL elicitation.
    pub fn is_url(&self) -> bool {
        self.0.is_url()
    }

    /// Returns the URL to open; `None` for form elicitation. Show it in full, and open it only if the user agrees.
    pub fn url(&self) -> Option<&str> {
        self.0.url.as_deref().filter(|_| self.is_url())
    }

    /// Returns the host of the URL, to be shown separately: it is the site that really opens.
    pub fn url_host(&self) -> Option<&str> {
        let (_, rest) = self.url()?.split_once("://")?;
        let authority = rest.split(['/', '?', '#', '\\']).next()?;
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        match host.strip_prefix('[') {
            Some(v6) => v6.split(']').next(),
            None => host.split(':').next(),
        }
    }

    /// Returns whether the user should be warned about the URL: it is not `https:`, has user information that hides the
    /// host, or has a host that may imitate another one (Punycode, or characters beyond ASCII).
    pub fn is_suspicious_url(&self) -> bool {
        let (Some(url), Some(host)) = (self.url(), self.url_host()) else { return self.is_url() };
        let foreign = host.split('.').any(|label| label.to_ascii_lowercase().starts_with("xn--")) || !host.is_ascii();
        let hidden = url.split(['/', '?', '#']).nth(2).is_some_and(|authority| authority.contains('@'));
        host.is_empty() || foreign || hidden || !url.to_ascii_lowercase().starts_with("https://")
    }

    /// Returns the default values of the form, to be shown to the user.
    pub fn defaults(&self) -> Map<RawJson> {
        self.schema().ok().flatten().map_or_else(Map::new, |schema| schema.defaults())
    }

    /// Returns the request as it was received.
    pub fn params(&self) -> &ElicitParams {
        &self.0
    }

    /// Creates the response of a user who submitted the form. The content is any type that serializes to a JSON object.
    ///
    /// # Errors
    /// If the content is not an object, does not match the schema, or if this is URL elicitation.
    pub fn accept(&self, content: impl Serialize) -> Result<ElicitResult, RpcError> {
        if self.is_url() {
            return Err(RpcError::internal("URL elicitation has no content: use `accept_url`"));
        }
        let content: Map<RawJson> = RawJson::new(&content)
            .and_then(|raw| raw.parse())
            .map_err(|e| RpcError::internal(format!("the content of the form is not an object: {e}")))?;
        if let Ok(Some(schema)) = self.schema() {
            schema
                .check(&content)
                .map_err(|what| RpcError::internal(format!("the content does not match the form: {what}")))?;
        }
        Ok(ElicitResult::accept(content))
    }

    /// Creates the response of a user who agreed to open the URL. Whether they finished there is between them and the
    /// server.
    ///
    /// # Errors
    /// If this is form elicitation.
    pub fn accept_url(&self) -> Result<ElicitResult, RpcError> {
        if self.is_url() {
            Ok(ElicitResult::new(ElicitAction::Accept))
        } else {
            Err(RpcError::internal("form elicitation needs content: use `accept`"))
        }
    }

    /// Creates the response of a user who declined.
    ///
    /// # Errors
    /// Never; the type is the same as that of [`Elicitation::accept`].
    pub fn decline(&self) -> Result<ElicitResult, RpcError> {
        Ok(ElicitResult::decline())
    }

    /// Creates the response of a user who dismissed the request without a choice.
    ///
    /// # Errors
    /// Never; the type is the same as that of [`Elicitation::accept`].
    pub fn cancel(&self) -> Result<ElicitResult, RpcError> {
        Ok(ElicitResult::cancel())
    }
}
