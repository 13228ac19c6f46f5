//! The chain of lines: each has the hash of the one before it.

use hmac_sha256::HMAC;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::names::hex;

/// The end of an audit log: the number of its last record and the hash of its last line.
///
/// It is stored beside the log, at most a second behind it, so that a log whose end is missing is found. With a key it is
/// signed, and then a log whose hashes were all computed anew is found, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The number of the last record.
    pub seq: u64,
    /// The hash of the last line.
    pub hash: String,
    /// The HMAC of the other members, if there is a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
}

impl Head {
    pub(super) fn new(seq: u64, hash: String, key: Option<&[u8; 32]>) -> Self {
        let mac = key.map(|key| hex(&Self::mac(seq, &hash, key)));
        Self { seq, hash, mac }
    }

    /// Whether the head was signed with a key.
    pub(super) fn is_signed(&self, key: &[u8; 32]) -> bool {
        self.mac.as_deref() == Some(&*hex(&Self::mac(self.seq, &self.hash, key)))
    }

    fn mac(seq: u64, hash: &str, key: &[u8; 32]) -> [u8; 32] {
        HMAC::mac(format!("couplet audit head {seq} {hash}"), key)
    }
}

/// The hash of a line, without its line break. It is computed for each call, with the instructions that processors have
/// for it.
pub(super) fn hash(line: &[u8]) -> String {
    hex(&Sha256::digest(line))
}

/// The members that each line begins with.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Link {
    pub(super) seq: u64,
    pub(super) prev: String,
}

/// The hash in front of the first line.
pub(super) fn start() -> String {
    "0".repeat(64)
}
