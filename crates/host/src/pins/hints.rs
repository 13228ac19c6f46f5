//! The hints among a tool's annotations.

use serde::{Deserialize, Serialize};

/// The four hints of a tool's annotations that say how harmless it is.
///
/// They are compared by themselves and are no part of a digest, because some servers omit them at times. A hint that
/// disappears makes a tool stricter and needs no approval; one that makes it look more harmless does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hints {
    /// Whether the tool does not modify its environment. `false` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// Whether the tool may perform destructive updates. `true` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Whether repeated calls have no further effect. `false` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Whether the tool interacts with external systems. `true` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl Hints {
    /// Returns whether there is no hint.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether these hints make a tool look more harmless than `approved` ones did.
    pub fn weaken(&self, approved: &Self) -> bool {
        let harmless = |hints: &Self| {
            [
                hints.read_only_hint == Some(true),
                hints.destructive_hint == Some(false),
                hints.idempotent_hint == Some(true),
                hints.open_world_hint == Some(false),
            ]
        };
        harmless(self).iter().zip(harmless(approved)).any(|(now, then)| *now && !then)
    }
}
