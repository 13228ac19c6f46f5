//! Signed texts: three parts, of which the first says how the last was made.

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

/// A signed text whose signature may or may not be good.
pub(crate) struct Jws<'t> {
    pub(crate) header: Header,
    payload: Vec<u8>,
    signed: &'t [u8],
    signature: Vec<u8>,
}

/// What it says about itself. Addresses of keys are not read: whoever made the text could name any.
#[derive(Deserialize)]
pub(crate) struct Header {
    alg: String,
    pub(crate) kid: Option<String>,
    typ: Option<String>,
    crit: Option<IgnoredAny>,
    pub(crate) jwk: Option<Jwk>,
}

impl<'t> Jws<'t> {
    /// Takes a text apart; nothing if it has not the form, or if it asks to be understood in a way that is not known.
    pub(crate) fn parse(text: &'t str) -> Option<Self> {
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        let header: Header = serde_json::from_slice(&BASE64.decode(header).ok()?).ok()?;
        let (payload, signature) = (BASE64.decode(payload).ok()?, BASE64.decode(signature).ok()?);
        header.crit.is_none().then_some(Self { header, payload, signed: signed.as_bytes(), signature })
    }

    /// How it was signed, if that is one of the ways that are allowed.
    pub(crate) fn algorithm(&self, allowed: &[Algorithm]) -> Option<Algorithm> {
        Algorithm::named(&self.header.alg).filter(|algorithm| allowed.contains(algorithm))
    }

    /// Whether it was signed with this secret; nothing if it does not say that it was signed with one.
    pub(crate) fn is_by_secret(&self, secret: &SharedSecret) -> Option<bool> {
        (self.header.alg == "HS256").then(|| secret.verify(self.signed, &self.signature))
    }

    /// Whether it is of one of these types; in lower case, without the part that all of them may have in front.
    pub(crate) fn is_of_type(&self, wanted: &[&str]) -> bool {
        let typ = self.header.typ.as_deref().unwrap_or_default().to_ascii_lowercase();
        wanted.contains(&typ.strip_prefix("application/").unwrap_or(&typ))
    }

    /// Whether it was signed with this key.
    pub(crate) fn is_by(&self, key: &Key, algorithm: Algorithm) -> bool {
        key.verify(algorithm, self.signed, &self.signature)
    }

    /// What it says, whether it is true or not.
    pub(crate) fn claims<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.payload).ok()
    }
}
