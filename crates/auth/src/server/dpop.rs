//! Verification of DPoP proofs (RFC 9449).

use std::{collections::HashSet, sync::Mutex};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use couplet_core::sync::lock;
use hmac_sha256::{HMAC, Hash};
use http::{Uri, request::Parts};
use serde::Deserialize;
use subtle::ConstantTimeEq;

use super::{algorithm::Algorithm, jws::Jws, key::Key, memo::Digest, refusal::Refusal};
use crate::fetch::same_origin;

/// The header of a proof.
const HEADER: &str = "dpop";

/// The verifier of proofs.
pub(crate) struct Proofs {
    /// Whether every token must be DPoP-bound.
    pub(crate) required: bool,
    /// The key of the nonces that proofs must contain, if they must.
    pub(crate) nonces: Option<[u8; 32]>,
    /// The maximum clock skew of a proof in seconds.
    pub(crate) window: u64,
    pub(crate) algorithms: Vec<Algorithm>,
    seen: Mutex<Seen>,
}

/// Proofs of the recent past, each valid once. Both halves together cover the lifetime of a proof.
#[derive(Default)]
struct Seen {
    halves: [HashSet<Digest>; 2],
    since: u64,
}

#[derive(Deserialize)]
struct Proof {
    jti: String,
    htm: String,
    htu: String,
    iat: f64,
    ath: Option<String>,
    nonce: Option<String>,
}

impl Proofs {
    /// The maximum number of proofs per half.
    const MOST: usize = 1 << 16;

    pub(crate) fn new() -> Self {
        let algorithms = vec![Algorithm::Es256, Algorithm::Es384, Algorithm::EdDsa, Algorithm::Ps256, Algorithm::Rs256];
        Self { required: false, nonces: None, window: 60, algorithms, seen: Mutex::default() }
    }

    /// Verifies the proof of a request: for its token, by the key that the token is bound to.
    pub(crate) fn check(&self, request: &Parts, at: &Uri, token: &str, key: &str, now: u64) -> Result<(), Refusal> {
        let no = |why| Err(Refusal::Proof(why));
        let mut all = request.headers.get_all(HEADER).iter();
        let (Some(text), None) = (all.next(), all.next()) else { return no("expected exactly one `dpop` header") };
        let Some(jws) = text.to_str().ok().and_then(Jws::parse) else { return no("the proof cannot be parsed") };
        let Some(algorithm) = jws.algorithm(&self.algorithms).filter(|_| jws.is_of_type(&["dpop+jwt"])) else {
            return no("the proof's type or algorithm is not supported");
        };
        let Some(by) = jws.header.jwk.as_ref().and_then(Key::of_proof) else {
            return no("the proof has no public key");
        };
        if !jws.is_by(&by, algorithm) {
            return no("the signature of the proof is invalid");
        }
        let Some(proof) = jws.claims::<Proof>() else { return no("the proof lacks a required claim") };
        if !equal(&by.thumbprint(), key) {
            return no("the proof is signed with another key than the token's");
        }
        if !equal(proof.ath.as_deref().unwrap_or_default(), &BASE64.encode(Hash::hash(token.as_bytes()))) {
            return no("the proof is for another token");
        }
        if proof.htm != request.method.as_str() || !is_for(&proof.htu, at, request) {
            return no("the proof is for another request");
        }
        // A nonce of this server proves the age of a proof better than the client's clock.
        match &self.nonces {
            Some(nonces) if !proof.nonce.as_deref().is_some_and(|nonce| is_recent(nonces, nonce, now)) => {
                return Err(Refusal::Nonce);
            }
            _ => {}
        }
        let window = self.window as f64;
        if !((now as f64 - window)..=(now as f64 + window)).contains(&proof.iat) {
            return no("the proof is too old, or from the future");
        }
        self.once(Hash::hash(format!("{key} {}", proof.jti).as_bytes()), now)
    }

    /// The nonce for the next proof.
    pub(crate) fn nonce(&self, now: u64) -> Option<String> {
        self.nonces.as_ref().map(|nonces| nonce(nonces, now / NONCE))
    }

    /// Accepts a proof once. If there are more than can be stored, the proof is rejected.
    fn once(&self, proof: Digest, now: u64) -> Result<(), Refusal> {
        let mut seen = lock(&self.seen);
        // A stored proof is valid until twice the window has passed: from a clock ahead to one behind.
        let half = 2 * self.window + 1;
        if now >= seen.since.saturating_add(half) {
            let over = now >= seen.since.saturating_add(2 * half);
            let last = std::mem::take(&mut seen.halves[0]);
            seen.halves[1] = if over { HashSet::new() } else { last };
            seen.since = now;
        }
        if seen.halves.iter().any(|half| half.contains(&proof)) {
            return Err(Refusal::Proof("the proof was used before"));
        }
        if seen.halves[0].len() >= Self::MOST {
            return Err(Refusal::Unavailable("too many proofs at the same time"));
        }
        seen.halves[0].insert(proof);
        Ok(())
    }
}

/// The number of seconds for which a nonce is current; the previous one is accepted, too.
const NONCE: u64 = 60;

fn nonce(key: &[u8; 32], period: u64) -> String {
    BASE64.encode(&HMAC::mac(period.to_be_bytes(), key)[..16])
}

fn is_recent(key: &[u8; 32], text: &str, now: u64) -> bool {
    let period = now / NONCE;
    equal(text, &nonce(key, period)) || equal(text, &nonce(key, period.saturating_sub(1)))
}

fn equal(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

/// Whether a proof is for this server: for its canonical URL or, on the same origin, for the requested path. Query and
/// fragment are ignored.
fn is_for(named: &str, at: &Uri, request: &Parts) -> bool {
    let Some(named) = crate::fetch::parse(named) else { return false };
    same_origin(&named, at) && [at.path(), request.uri.path()].contains(&named.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_remembered_for_as_long_as_it_is_good() {
        let proofs = Proofs::new();
        let (start, proof) = (1_000_000, [1; 32]);
        assert_eq!(proofs.once(proof, start), Ok(()));
        for later in [0, 1, 60, 119, 120] {
            assert!(proofs.once(proof, start + later).is_err(), "{later}");
        }
        // It may have been seen at the very end of a half.
        assert_eq!(proofs.once([2; 32], start + 120), Ok(()));
        assert_eq!(proofs.once([3; 32], start + 121), Ok(()));
        assert!(proofs.once([2; 32], start + 240).is_err());
        assert_eq!(proofs.once(proof, start + 1000), Ok(()), "too old to be taken anyway");
    }

    #[test]
    fn numbers_are_good_for_two_periods() {
        let key = [7; 32];
        let given = nonce(&key, 600 / NONCE);
        for (now, good) in [(600, true), (659, true), (719, true), (720, false), (599, false)] {
            assert_eq!(is_recent(&key, &given, now), good, "{now}");
        }
        assert!(!is_recent(&[8; 32], &given, 600));
    }
}
