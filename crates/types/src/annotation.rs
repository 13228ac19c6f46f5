//! Annotations of content and resources.

use serde::{Deserialize, Serialize};

use crate::field;

/// Hints on the audience, priority and age of content or a resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// The intended audience.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Role>>,
    /// The importance, from 0 (optional) to 1 (required).
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    pub priority: Option<f64>,
    /// The time of the last change (ISO 8601).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

impl Annotations {
    /// Creates a value without any hints.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { Annotations {
    into { last_modified: String }
    value { audience: Vec<Role>, priority: f64 }
} }

/// The sender or the audience of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Returns the role as it is on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}
