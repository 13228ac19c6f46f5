//! DPoP-bound tokens (RFC 9449).

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
};

use couplet_core::{Error, ErrorKind, clock::unix_seconds, sync::lock};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use serde_json::{Map, json};

use super::{
    key::SigningKey,
    words::{digest, random},
};
use crate::places::origin;

pub(crate) const PROOF: HeaderName = HeaderName::from_static("dpop");
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// The nonces that servers require in the next proof, by origin.
#[derive(Debug, Default)]
pub(crate) struct Nonces(Mutex<HashMap<String, String>>);

impl Nonces {
    /// A server and its authorization server need two; the limit bounds memory.
    const MOST: usize = 16;

    /// Stores the nonce of a response; `false` if there is none, or it is unchanged.
    pub(crate) fn note(&self, server: &Uri, headers: &HeaderMap) -> bool {
        let Some(nonce) = headers.get(NONCE).and_then(|n| n.to_str().ok()).filter(|n| n.len() <= 1024) else {
            return false;
        };
        let (mut known, server) = (self.known(), origin(server));
        if known.len() >= Self::MOST && !known.contains_key(&server) {
            known.clear();
        }
        known.insert(server, nonce.to_owned()).as_deref() != Some(nonce)
    }

    fn of(&self, server: &Uri) -> Option<String> {
        self.known().get(&origin(server)).cloned()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, String>> {
        lock(&self.0)
    }

    /// Creates the proof of possession for a request; `token` is the access token that it is sent with, if any.
    pub(crate) fn proof(
        &self,
        key: &SigningKey,
        method: &Method,
        uri: &Uri,
        token: Option<&str>,
    ) -> Result<HeaderValue, Error> {
        let mut claims = json!({
            "jti": random()?, "iat": unix_seconds(), "htm": method.as_str(), "htu": format!("{}{}", origin(uri), uri.path()),
        });
        if let Some(token) = token {
            claims["ath"] = digest(token).into();
        }
        if let Some(nonce) = self.of(uri) {
            claims["nonce"] = nonce.into();
        }
        let public = key.public_jwk().ok_or_else(|| Error::new(ErrorKind::Config, "a DPoP key must be P-256"))?;
        let header = Map::from_iter([("typ".to_owned(), "dpop+jwt".into()), ("jwk".to_owned(), public)]);
        let proof = key.sign(header, &claims)?;
        HeaderValue::try_from(proof)
            .map_err(|_| Error::new(ErrorKind::Config, "the DPoP proof cannot be sent as a header"))
    }
}
