//! JSON-RPC: ids, errors and error codes.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

use crate::RawJson;

/// The id of a request: a string or an integer, never null.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestId {
    /// An integer.
    Number(i64),
    /// A string.
    String(String),
}

/// The token that progress notifications repeat: a string or an integer.
pub type ProgressToken = RequestId;

impl From<i64> for RequestId {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for RequestId {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::String(text) => text.fmt(f),
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::String(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Id;
        impl Visitor<'_> for Id {
            type Value = RequestId;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an integer")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<RequestId, E> {
                Ok(RequestId::Number(number))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<RequestId, E> {
                i64::try_from(number).map(RequestId::Number).map_err(|_| E::custom("the integer is out of range"))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RequestId, E> {
                Ok(RequestId::String(text.to_owned()))
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<RequestId, E> {
                Ok(RequestId::String(text))
            }
        }
        deserializer.deserialize_any(Id)
    }
}

/// Error codes.
pub mod code {
    /// The message is not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// The message is JSON, but not a message of the protocol.
    pub const INVALID_REQUEST: i32 = -32600;
    /// The method is unknown, or behind a capability that was not advertised.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters are invalid.
    pub const INVALID_PARAMS: i32 = -32602;
    /// An internal error of the side that responds.
    pub const INTERNAL_ERROR: i32 = -32603;
    /// A resource does not exist (up to 2025-11-25).
    pub const RESOURCE_NOT_FOUND: i32 = -32002;
    /// An HTTP header is missing or does not match the body (2026-07-28).
    pub const HEADER_MISMATCH: i32 = -32020;
    /// The request needs a capability that the client did not declare (2026-07-28).
    pub const MISSING_CLIENT_CAPABILITY: i32 = -32021;
    /// The requested revision is not supported (2026-07-28).
    pub const UNSUPPORTED_VERSION: i32 = -32022;
    /// URL elicitations must be completed first (2025-11-25).
    pub const URL_ELICITATION_REQUIRED: i32 = -32042;
    /// The user rejected a sampling request (by convention, up to 2025-11-25).
    pub const USER_REJECTED: i32 = -1;
}

/// A JSON-RPC error.
///
/// ```
/// use couplet_types::{RpcError, code};
///
/// let error = RpcError::invalid_params("`city` is missing");
/// assert_eq!(error.code, code::INVALID_PARAMS);
/// assert_eq!(error.to_string(), "`city` is missing");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RpcError {
    /// The code; see [`code`].
    pub code: i32,
    /// A short description.
    pub message: String,
    /// Additional data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
}

impl RpcError {
    /// Creates an error. Application codes belong outside of -32768 to -32000.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Sets the additional data.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<RawJson>) -> Self {
        self.data = Some(data.into());
        self
    }

    /// Creates error -32700: the message is not JSON.
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(code::PARSE_ERROR, message)
    }

    /// Creates error -32600: the message is not a request of the protocol.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// Creates error -32601: the method does not exist or is not available.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("method `{method}` is not available"))
    }

    /// Creates error -32602: the parameters are invalid.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// Creates error -32603: an internal error.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RpcError {}
