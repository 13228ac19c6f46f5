//! Hints for the client on how to use something.

use serde::{Deserialize, Serialize};

use crate::field;

/// For whom something is, how much it matters and how old it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// For whom it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Role>>,
    /// How much it matters, from 0 (optional) to 1 (needed).
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    pub priority: Option<f64>,
    /// When it last changed, as an ISO 8601 time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

impl Annotations {
    /// No hints yet.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { Annotations {
    into { last_modified: String }
    value { audience: Vec<Role>, priority: f64 }
} }

/// Who speaks, or who is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}
