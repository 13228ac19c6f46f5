//! Signature algorithms of tokens.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An asymmetric signature algorithm. `none` and algorithms with a shared secret are not representable, so a token
/// cannot select them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[non_exhaustive]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    #[serde(rename = "ES256")]
    Es256,
    /// ECDSA on P-384 with SHA-384.
    #[serde(rename = "ES384")]
    Es384,
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    EdDsa,
    /// RSA, PKCS#1 v1.5, with SHA-256.
    #[serde(rename = "RS256")]
    Rs256,
    /// RSA, PKCS#1 v1.5, with SHA-384.
    #[serde(rename = "RS384")]
    Rs384,
    /// RSA, PKCS#1 v1.5, with SHA-512.
    #[serde(rename = "RS512")]
    Rs512,
    /// RSA, PSS, with SHA-256.
    #[serde(rename = "PS256")]
    Ps256,
    /// RSA, PSS, with SHA-384.
    #[serde(rename = "PS384")]
    Ps384,
    /// RSA, PSS, with SHA-512.
    #[serde(rename = "PS512")]
    Ps512,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: &'static [Self] = &[
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
    ];

    /// The algorithm with a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.as_str() == name)
    }

    /// Returns the name in the JOSE registry.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
