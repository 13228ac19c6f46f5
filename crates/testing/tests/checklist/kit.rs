//! What the tests of several sections share.

use couplet_testing::types::ProtocolVersion;

/// The revisions that begin with a handshake.
pub(crate) const SESSIONS: [ProtocolVersion; 4] = [
    ProtocolVersion::V2024_11_05,
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
];

/// The revision without one.
pub(crate) const STATELESS: ProtocolVersion = ProtocolVersion::V2026_07_28;
