//! The `data` member of errors.

use serde::{Deserialize, Serialize};

use crate::{ClientCapabilities, ElicitParams};

/// The data of [`code::UNSUPPORTED_VERSION`](crate::code::UNSUPPORTED_VERSION), and of the same error in `initialize`.
#[doc(alias = "UnsupportedProtocolVersionError")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UnsupportedVersionData {
    /// The supported revisions.
    pub supported: Vec<String>,
    /// The requested revision.
    pub requested: String,
}

impl UnsupportedVersionData {
    /// Creates the data from the supported and the requested revisions.
    pub fn new(supported: impl IntoIterator<Item = impl Into<String>>, requested: impl Into<String>) -> Self {
        Self { supported: supported.into_iter().map(Into::into).collect(), requested: requested.into() }
    }
}

/// The data of [`code::MISSING_CLIENT_CAPABILITY`](crate::code::MISSING_CLIENT_CAPABILITY).
#[doc(alias = "MissingRequiredClientCapabilityError")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MissingCapabilityData {
    /// The capabilities that the client has to declare.
    pub required_capabilities: ClientCapabilities,
}

impl MissingCapabilityData {
    /// Creates the data from the capabilities that the client has to declare.
    pub fn new(required_capabilities: ClientCapabilities) -> Self {
        Self { required_capabilities }
    }
}

/// The data of [`code::URL_ELICITATION_REQUIRED`](crate::code::URL_ELICITATION_REQUIRED).
#[doc(alias = "URLElicitationRequiredError")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UrlElicitationRequiredData {
    /// The URL elicitations to complete first.
    pub elicitations: Vec<ElicitParams>,
}

impl UrlElicitationRequiredData {
    /// Creates the data from the URL elicitations to complete first.
    pub fn new(elicitations: Vec<ElicitParams>) -> Self {
        Self { elicitations }
    }
}
