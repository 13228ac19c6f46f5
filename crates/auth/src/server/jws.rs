//! JSON Web Signatures.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

use super::{
    algorithm::Algorithm,
    issuer::SharedSecret,
    key::{Jwk, Key},
};

/// A JWS whose signature is not verified yet.
pub(crate) struct Jws<'t> {
    pub(crate) header: Header,
    payload: Vec<u8>,
    signed: &'t [u8],
    signature: Vec<u8>,
}

/// The header. URLs of keys are ignored: an attacker could name any.
#[derive(Deserialize)]
pub(crate) struct Header {
    alg: String,
    pub(crate) kid: Option<String>,
    typ: Option<String>,
    crit: Option<IgnoredAny>,
    pub(crate) jwk: Option<Jwk>,
}

impl<'t> Jws<'t> {
    /// Parses the compact serialization; `None` if it is malformed, or has critical extensions.
    pub(crate) fn parse(text: &'t str) -> Option<Self> {
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        let header: Header = serde_json::from_slice(&BASE64.decode(header).ok()?).ok()?;
        let (payload, signature) = (BASE64.decode(payload).ok()?, BASE64.decode(signature).ok()?);
        header.crit.is_none().then_some(Self { header, payload, signed: signed.as_bytes(), signature })
    }

    /// The algorithm, if it is allowed.
    pub(crate) fn algorithm(&self, allowed: &[Algorithm]) -> Option<Algorithm> {
        Algorithm::named(&self.header.alg).filter(|algorithm| allowed.contains(algorithm))
    }

    /// Verifies an HS256 signature; `None` if the algorithm is another one.
    pub(crate) fn is_by_secret(&self, secret: &SharedSecret) -> Option<bool> {
        (self.header.alg == "HS256").then(|| secret.verify(self.signed, &self.signature))
    }

    /// Whether `typ` is one of these, in lower case and without `application/`.
    pub(crate) fn is_of_type(&self, wanted: &[&str]) -> bool {
        let typ = self.header.typ.as_deref().unwrap_or_default().to_ascii_lowercase();
        wanted.contains(&typ.strip_prefix("application/").unwrap_or(&typ))
    }

    /// Verifies the signature with a key.
    pub(crate) fn is_by(&self, key: &Key, algorithm: Algorithm) -> bool {
        key.verify(algorithm, self.signed, &self.signature)
    }

    /// The unverified claims.
    pub(crate) fn claims<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.payload).ok()
    }
}
