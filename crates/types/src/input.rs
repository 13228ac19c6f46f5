//! Multi-round-trip requests (2026-07-28): the server's result requests input, and the client retries the request with
//! it.

use serde::{Deserialize, Serialize, de};

use crate::{Map, Meta, RawJson, Request, ResultType};

/// The input requests of a server, by keys that it chose.
pub type InputRequests = Map<InputRequest>;

/// The responses of the client, by the same keys.
pub type InputResponses = Map<RawJson>;

/// An input request: a request without an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InputRequest {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// The parameters of that method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<RawJson>,
}

impl InputRequest {
    /// Creates an input request with parameters.
    ///
    /// ```
    /// use couplet_types::{Elicit, ElicitParams, InputRequest};
    ///
    /// let request = InputRequest::new::<Elicit>(&ElicitParams::visit("Sign in", "https://example.com"))?;
    /// assert!(request.parse::<Elicit>()?.is_url());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the parameters cannot be serialized.
    pub fn new<R: Request>(params: &R::Params) -> Result<Self, serde_json::Error> {
        Ok(Self { method: R::METHOD.to_owned(), params: Some(RawJson::new(params)?) })
    }

    /// Creates an input request from raw parameters.
    pub fn raw(method: impl Into<String>, params: RawJson) -> Self {
        Self { method: method.into(), params: Some(params) }
    }

    /// Parses the parameters.
    ///
    /// # Errors
    /// If the request is of another method, or if the parameters do not match.
    pub fn parse<R: Request>(&self) -> Result<R::Params, serde_json::Error> {
        if self.method != R::METHOD {
            return Err(de::Error::custom(format_args!("`{}` is not `{}`", self.method, R::METHOD)));
        }
        match &self.params {
            Some(params) => params.parse(),
            None => RawJson::empty_object().parse(),
        }
    }
}

/// A result that requires input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InputRequiredResult {
    /// The input requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// The state that the client has to return unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl InputRequiredResult {
    /// Creates a result without input requests.
    pub fn new() -> Self {
        Self { result_type: Some(ResultType::InputRequired), ..Self::default() }
    }
}

setters! { InputRequiredResult {
    into { request_state: String, meta: Meta }
    value { input_requests: InputRequests }
} }

has_meta!(InputRequiredResult);
