//! The kinds of definitions.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of a definition that a server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A tool, by its name.
    Tool,
    /// A prompt, by its name.
    Prompt,
    /// A resource, by its URI.
    Resource,
    /// A resource template, by its URI template.
    Template,
    /// The server's instructions for the model; they have no name.
    Instructions,
}

impl Kind {
    /// Returns the word for this kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "template",
            Self::Instructions => "instructions",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
