//! Effect classes of tools.

use std::fmt;

use couplet_types::ToolAnnotations;
use serde::{Deserialize, Serialize};

use super::Trust;
use crate::names::Kind;

/// The worst effect that a call may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Nothing is modified.
    Read,
    /// Something is added or changed.
    Write,
    /// Something may be lost.
    Destructive,
}

impl Effect {
    /// Returns the word for this class.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The effect class of a target, and whether it reaches systems beyond its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Effects {
    /// The effect class.
    pub class: Effect,
    /// Whether the target interacts with external systems.
    pub open_world: bool,
}

impl Effects {
    /// The class of a target of which nothing is known: destructive, open world.
    pub const STRICTEST: Self = Self { class: Effect::Destructive, open_world: true };

    /// Creates a class, for a target that the configuration describes.
    pub fn new(class: Effect, open_world: bool) -> Self {
        Self { class, open_world }
    }

    /// Derives the class of a tool from its annotations.
    ///
    /// Annotations count only if the server is trusted and if the definition `is_pinned`; otherwise the class is the
    /// strictest. A missing hint has the default of the specification, which is the stricter one.
    pub fn of_tool(annotations: Option<&ToolAnnotations>, trust: Trust, is_pinned: bool) -> Self {
        let Some(hints) = annotations.filter(|_| trust >= Trust::Known && is_pinned) else { return Self::STRICTEST };
        let class = match (hints.read_only_hint, hints.destructive_hint) {
            (Some(true), _) => Effect::Read,
            (_, Some(false)) => Effect::Write,
            _ => Effect::Destructive,
        };
        Self { class, open_world: hints.open_world_hint != Some(false) }
    }

    /// Derives the class of a target that has no annotations: prompts and resources of trusted servers are only read.
    pub fn of_kind(kind: Kind, trust: Trust) -> Self {
        match kind {
            Kind::Prompt | Kind::Resource | Kind::Template if trust >= Trust::Known => {
                Self { class: Effect::Read, ..Self::STRICTEST }
            }
            _ => Self::STRICTEST,
        }
    }
}
