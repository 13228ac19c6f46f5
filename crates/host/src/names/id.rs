//! The ids of servers.

use std::{borrow::Borrow, fmt, sync::Arc};

use hmac_sha256::Hash;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The id of a server: a lower-case letter, then up to 15 lower-case letters, digits and hyphens.
///
/// It has no underscore, so that the `__` behind it in a name is always the first one.
///
/// ```
/// use couplet_host::names::ServerId;
///
/// assert_eq!(ServerId::from_key("files").as_str(), "files");
/// // A key that is not an id becomes one, with a hash so that no other key has the same.
/// assert_eq!(ServerId::from_key("My Files").as_str(), "my-files-xa1acce");
/// assert!(ServerId::parse("My Files").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(Arc<str>);

impl ServerId {
    /// The maximum length.
    pub const LONGEST: usize = 16;
    /// The length of the hash behind `-x`.
    const HASH: usize = 6;

    /// Derives the id from a key of a configuration. Different keys have different ids, but for collisions of 24 bits of
    /// SHA-256.
    ///
    /// A key that is an id stays as it is, unless it ends like a derived one.
    pub fn from_key(key: &str) -> Self {
        if is_id(key) && !is_derived(key) {
            return Self(key.into());
        }
        let mut stem: String = key.chars().take(Self::LONGEST).map(plain).collect();
        if !stem.starts_with(|c: char| c.is_ascii_lowercase()) {
            stem.insert(0, 's');
        }
        stem.truncate(Self::LONGEST - Self::HASH - "-x".len());
        let hash = hex(&Hash::hash(key.as_bytes()));
        Self(format!("{}-x{}", stem.trim_end_matches('-'), &hash[..Self::HASH]).into())
    }

    /// Parses an id.
    ///
    /// # Errors
    /// If it has another form.
    pub fn parse(id: &str) -> Result<Self, NameError> {
        if is_id(id) { Ok(Self(id.into())) } else { Err(NameError::id(id)) }
    }

    /// Returns the id as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_id(id: &str) -> bool {
    id.len() <= ServerId::LONGEST
        && id.starts_with(|c: char| c.is_ascii_lowercase())
        && id.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

fn is_derived(id: &str) -> bool {
    let hash = id.rsplit_once("-x").map(|(_, hash)| hash);
    hash.is_some_and(|hash| hash.len() == ServerId::HASH && is_hex(hash))
}

fn plain(c: char) -> char {
    let c = c.to_ascii_lowercase();
    if matches!(c, 'a'..='z' | '0'..='9') { c } else { '-' }
}

/// Whether a text consists of lower-case hexadecimal digits.
pub(super) fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The bytes in lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(2 * bytes.len());
    push_hex(&mut text, bytes);
    String::from_utf8(text).unwrap_or_default()
}

/// The digits of each byte.
const PAIRS: [[u8; 2]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let (mut pairs, mut byte) = ([[0; 2]; 256], 0);
    while byte < pairs.len() {
        pairs[byte] = [DIGITS[byte >> 4], DIGITS[byte & 15]];
        byte += 1;
    }
    pairs
};

/// Appends bytes in lower-case hexadecimal digits.
pub(crate) fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut part = [0; 64];
    for bytes in bytes.chunks(part.len() / 2) {
        for (pair, byte) in part.chunks_exact_mut(2).zip(bytes) {
            pair.copy_from_slice(&PAIRS[usize::from(*byte)]);
        }
        out.extend_from_slice(&part[..2 * bytes.len()]);
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for ServerId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for ServerId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Serialize for ServerId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ServerId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        Self::parse(&id).map_err(de::Error::custom)
    }
}

/// A string that is no server id or no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameError(String);

impl NameError {
    fn id(id: &str) -> Self {
        let id = couplet_core::visible(id);
        Self(format!("`{id}` is not a server id: expected a lower-case letter, then up to 15 of `a-z`, `0-9` and `-`"))
    }

    pub(super) fn name(name: &str) -> Self {
        let name = couplet_core::visible(name);
        Self(format!("`{name}` cannot be a name: expected up to 48 of `A-Z`, `a-z`, `0-9`, `_` and `-`"))
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NameError {}
