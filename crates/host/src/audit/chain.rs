//! The chain of lines: each has the hash of the one before it.

use blake3::Hash;
use serde::{Deserialize, Serialize};

/// The context of the key that signs heads.
const HEADS: &str = "couplet 2026-11-17 audit heads";
/// The context of the key of argument digests.
const ARGUMENTS: &str = "couplet 2026-11-17 audit arguments";

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
    /// The keyed hash of the other members, if there is a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
}

impl Head {
    pub(super) fn new(seq: u64, hash: Hash, key: Option<&[u8; 32]>) -> Self {
        let hash = hash.to_string();
        let mac = key.map(|key| Self::mac(seq, &hash, key).to_string());
        Self { seq, hash, mac }
    }

    /// Whether the head was signed with a key.
    pub(super) fn is_signed(&self, key: &[u8; 32]) -> bool {
        let mac = self.mac.as_deref().and_then(|mac| Hash::from_hex(mac).ok());
        mac == Some(Self::mac(self.seq, &self.hash, key))
    }

    fn mac(seq: u64, hash: &str, key: &[u8; 32]) -> Hash {
        blake3::keyed_hash(&blake3::derive_key(HEADS, key), format!("{seq} {hash}").as_bytes())
    }
}

/// The key of argument digests, which no head is signed with.
pub(super) fn arguments_key(key: &[u8; 32]) -> [u8; 32] {
    blake3::derive_key(ARGUMENTS, key)
}

/// The hash of a line, without its line break. It is BLAKE3, because it is computed for each call: without instructions of
/// the processor for it, SHA-256 takes ten times as many.
pub(super) fn hash(line: &[u8]) -> Hash {
    blake3::hash(line)
}

/// The members that each line begins with.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Link {
    pub(super) seq: u64,
    prev: String,
}

impl Link {
    /// Whether the line continues the one with this hash.
    pub(super) fn continues(&self, hash: Hash) -> bool {
        Hash::from_hex(&self.prev).is_ok_and(|prev| prev == hash)
    }
}

/// The hash in front of the first line.
pub(super) const START: Hash = Hash::from_bytes([0; 32]);
