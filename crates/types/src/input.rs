//! Multi round-trip requests: the server asks for input in its answer, the client asks again with it (2026-07-28).

use serde::{Deserialize, Serialize, de};

use crate::{Map, Meta, RawJson, Request, ResultType};

/// What a server needs, by names that it chose.
pub type InputRequests = Map<InputRequest>;

/// What the client found out, by the same names.
pub type InputResponses = Map<RawJson>;

/// One thing that a server needs: a request without an id.
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
    /// A request with parameters.
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
    /// When the parameters cannot be printed.
    pub fn new<R: Request>(params: &R::Params) -> Result<Self, serde_json::Error> {
        Ok(Self { method: R::METHOD.to_owned(), params: Some(RawJson::new(params)?) })
    }

    /// A request as it came.
    pub fn raw(method: impl Into<String>, params: RawJson) -> Self {
        Self { method: method.into(), params: Some(params) }
    }

    /// The parameters, if the request is of this method.
    ///
    /// # Errors
    /// When it is of another method, or the parameters do not have the right shape.
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

/// An answer that asks for input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InputRequiredResult {
    /// What the server needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// What the client has to send back unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl InputRequiredResult {
    /// An answer that asks for nothing yet.
    pub fn new() -> Self {
        Self { result_type: Some(ResultType::InputRequired), ..Self::default() }
    }
}

setters! { InputRequiredResult {
    into { request_state: String, meta: Meta }
    value { input_requests: InputRequests }
} }

has_meta!(InputRequiredResult);
