//! SHA-256 digests.

use std::fmt;

use hmac_sha256::Hash;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::names::hex;

/// A SHA-256 digest. Its text is `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Hash::hash(bytes.as_ref()))
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses the text of a digest; `None` if it has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:").filter(|digits| digits.len() == 64)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            // `from_str_radix` accepts a sign.
            let pair = std::str::from_utf8(pair).ok().filter(|pair| !pair.contains('+'))?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || de::Error::custom("a digest is not `sha256:` and 64 hexadecimal digits");
        Self::parse(&text).ok_or_else(wrong)
    }
}
