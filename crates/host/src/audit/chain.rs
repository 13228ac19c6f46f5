//! The chain of lines.

use serde::{Deserialize, Serialize};

/// The end of an audit log: the number of its last record and the hash of its last line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// The number of the last record.
    pub seq: u64,
    /// The hash of the last line.
    pub hash: String,
    /// The HMAC of the other members, if there is a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
}
