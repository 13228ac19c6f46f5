//! Trust tiers of servers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The trust in a server, from the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// A server whose annotations are not believed.
    #[default]
    Unknown,
    /// A server of a known author. Its annotations are believed once they are pinned.
    Known,
    /// A server of the operator of this host.
    Owned,
}

impl Trust {
    /// Returns the word for this tier.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Known => "known",
            Self::Owned => "owned",
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
