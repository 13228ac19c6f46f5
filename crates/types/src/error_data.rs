//! What some errors carry as `data`.

use serde::{Deserialize, Serialize};

use crate::{ClientCapabilities, ElicitParams};

/// The data of [`code::UNSUPPORTED_VERSION`](crate::code::UNSUPPORTED_VERSION), and of the same error in `initialize`.
#[doc(alias = "UnsupportedProtocolVersionError")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UnsupportedVersionData {
    /// The revisions that are spoken.
    pub supported: Vec<String>,
    /// The revision that was asked for.
    pub requested: String,
}

impl UnsupportedVersionData {
    /// What is spoken, and what was asked for.
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
    /// What the client would have to declare.
    pub required_capabilities: ClientCapabilities,
}

impl MissingCapabilityData {
    /// What the client would have to declare.
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
    /// The addresses to visit first.
    pub elicitations: Vec<ElicitParams>,
}

impl UrlElicitationRequiredData {
    /// The addresses to visit first.
    pub fn new(elicitations: Vec<ElicitParams>) -> Self {
        Self { elicitations }
    }
}
