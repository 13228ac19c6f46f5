//! The dated revisions of the protocol.

use std::{fmt, str::FromStr};

/// A dated revision of the Model Context Protocol.
///
/// It has no order on purpose: ask `couplet_core::Revision` what a revision supports instead of comparing dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProtocolVersion {
    /// 2024-11-05, the first revision.
    V2024_11_05,
    /// 2025-03-26.
    V2025_03_26,
    /// 2025-06-18.
    V2025_06_18,
    /// 2025-11-25, the last with a handshake.
    V2025_11_25,
    /// 2026-07-28, the first without sessions.
    V2026_07_28,
}

impl ProtocolVersion {
    /// Every revision, oldest first.
    pub const ALL: &'static [Self] =
        &[Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The newest revision.
    pub const LATEST: Self = Self::ALL[Self::ALL.len() - 1];

    /// Returns the date, as it is written on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ProtocolVersion {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        Self::ALL.iter().copied().find(|v| v.as_str() == text).ok_or_else(|| UnknownVersion(text.to_owned()))
    }
}

/// The error for a string that is not the date of a known revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVersion(String);

impl fmt::Display for UnknownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a known protocol version", self.0)
    }
}

impl std::error::Error for UnknownVersion {}

#[cfg(test)]
mod tests {
    use super::ProtocolVersion;

    #[test]
    fn every_revision_is_found_by_its_date_and_they_are_in_order() {
        for (at, version) in ProtocolVersion::ALL.iter().enumerate() {
            assert_eq!(version.as_str().parse(), Ok(*version));
            assert_eq!(*version as usize, at, "`{version}` is not in its place in `ProtocolVersion::ALL`");
        }
        assert!(ProtocolVersion::ALL.is_sorted_by_key(|version| version.as_str()));
        assert_eq!(
            "2024-10-07".parse::<ProtocolVersion>().unwrap_err().to_string(),
            "`2024-10-07` is not a known protocol version"
        );
    }
}
