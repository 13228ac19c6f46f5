//! Small things that the whole client needs: random words, the time, comparisons that tell nothing.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use couplet_core::{Error, ErrorKind};
use subtle::ConstantTimeEq;

/// A word that nobody can guess: 256 bits.
pub(crate) fn random() -> Result<String, Error> {
    let mut bytes = [0; 32];
    let failed = |_| Error::new(ErrorKind::Config, "the system's random source fails");
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(BASE64.encode(bytes))
}

/// The SHA-256 of a text, as JOSE and PKCE write it.
pub(crate) fn digest(text: &str) -> String {
    BASE64.encode(hmac_sha256::Hash::hash(text.as_bytes()))
}

/// Whether two words are the same; how long it takes does not tell where they differ.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// What a peer says, short enough and plain enough to be shown.
pub(crate) fn shown(text: &str) -> String {
    text.chars().filter(|c| matches!(c, ' '..='~')).take(200).collect()
}
