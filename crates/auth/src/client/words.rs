//! Small helpers: random strings, constant-time comparison.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use couplet_core::{Error, ErrorKind};
use subtle::ConstantTimeEq;

/// A random string with 256 bits of entropy.
pub(crate) fn random() -> Result<String, Error> {
    let mut bytes = [0; 32];
    let failed = |_| Error::new(ErrorKind::Config, "the system's random source failed");
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(BASE64.encode(bytes))
}

/// The SHA-256 of a string in base64url, as in JOSE and PKCE.
pub(crate) fn digest(text: &str) -> String {
    BASE64.encode(hmac_sha256::Hash::hash(text.as_bytes()))
}

/// Compares two strings in constant time.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

/// Sanitizes a peer's text for messages: printable ASCII, limited in length.
pub(crate) fn shown(text: &str) -> String {
    text.chars().filter(|c| matches!(c, ' '..='~')).take(200).collect()
}
