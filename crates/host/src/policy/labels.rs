//! Labels of data flow: which tools together can leak private data.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

use super::{Effects, nearest::unknown};

/// The labels of a tool, or of everything that a session has done.
///
/// A session that has private data, has read untrusted text and can send data out may be made to leak the private data: the
/// *lethal trifecta*. In a configuration, labels are a list of `private`, `untrusted` and `sends`.
///
/// ```
/// use couplet_host::policy::Labels;
///
/// let mail: Labels = serde_json::from_str(r#"["private", "untrusted"]"#)?;
/// assert_eq!(mail, Labels::PRIVATE | Labels::UNTRUSTED);
/// assert_eq!(mail | Labels::SENDS, Labels::ALL);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels(u8);

impl Labels {
    /// No label.
    pub const NONE: Self = Self(0);
    /// The result contains private data.
    pub const PRIVATE: Self = Self(1);
    /// The result contains text of third parties.
    pub const UNTRUSTED: Self = Self(2);
    /// Arguments leave the caller's systems.
    pub const SENDS: Self = Self(4);
    /// All labels.
    pub const ALL: Self = Self(7);

    /// Guesses the labels of a target that has none in the configuration: an open world sends and is not trusted, a closed
    /// one is private.
    pub fn guess(effects: Effects) -> Self {
        if effects.open_world { Self::UNTRUSTED | Self::SENDS } else { Self::PRIVATE }
    }

    /// Returns whether all labels of `other` are among these.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl std::ops::BitOr for Labels {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for Labels {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

const NAMES: [(&str, Labels); 3] =
    [("private", Labels::PRIVATE), ("untrusted", Labels::UNTRUSTED), ("sends", Labels::SENDS)];

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = NAMES.iter().filter(|(_, label)| self.has(*label)).map(|(name, _)| *name).collect();
        f.write_str(&names.join(", "))
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        names.iter().try_fold(Self::NONE, |labels, name| match NAMES.iter().find(|(known, _)| known == name) {
            Some((_, label)) => Ok(labels | *label),
            None => Err(de::Error::custom(unknown("label", name, &NAMES.map(|(known, _)| known)))),
        })
    }
}

/// The data flow that a call would lead to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Flow {
    /// No leak is possible by the labels.
    #[default]
    Clear,
    /// With this call the session has all three labels, or it has them already and the call sends.
    Trifecta,
}
