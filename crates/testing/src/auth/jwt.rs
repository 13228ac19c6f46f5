//! Signing keys and JSON Web Tokens.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use hmac_sha256::{HMAC, Hash};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey},
};
use serde_json::{Value, json};

/// A signing key for ES256.
pub(super) struct SigningKey {
    pair: EcdsaKeyPair,
    kid: String,
}

impl SigningKey {
    pub(super) fn new() -> Self {
        let (random, how) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let pair = EcdsaKeyPair::generate_pkcs8(how, &random).expect("the system gives random numbers");
        let pair = EcdsaKeyPair::from_pkcs8(how, pair.as_ref(), &random).expect("a key that was just made");
        Self { pair, kid: super::state::random() }
    }

    pub(super) fn jwk(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        let (x, y) = (BASE64.encode(x), BASE64.encode(y));
        json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": self.kid, "alg": "ES256", "use": "sig" })
    }

    /// Signs claims as the header says, even if that is insecure. Each header replaces the previous one.
    pub(super) fn sign(&self, headers: &[&Value], claims: &Value) -> String {
        let usual = json!({ "alg": "ES256", "typ": "at+jwt", "kid": self.kid });
        let header = headers.iter().fold(usual, |header, change| merged(header, change));
        let signed = format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
        let signature = match header["alg"].as_str() {
            Some("none") => Vec::new(),
            Some("HS256") => HMAC::mac(&signed, self.pair.public_key().as_ref()).to_vec(),
            _ => {
                let signed = self.pair.sign(&SystemRandom::new(), signed.as_bytes());
                signed.expect("the system gives random numbers").as_ref().to_vec()
            }
        };
        format!("{signed}.{}", BASE64.encode(signature))
    }
}

/// Merges the members of another object into one; `null` removes a member.
pub(super) fn merged(mut into: Value, from: &Value) -> Value {
    for (name, value) in from.as_object().into_iter().flatten() {
        match (value, into.as_object_mut()) {
            (Value::Null, Some(object)) => drop(object.remove(name)),
            _ => into[name] = value.clone(),
        }
    }
    into
}

/// Returns the header and the claims of a token, if it is signed with ES256 by that key, or by the one in its header.
pub(super) fn verified(text: &str, key: Option<&Value>) -> Option<(Value, Value)> {
    let (signed, signature) = text.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let read = |part: &str| serde_json::from_slice::<Value>(&BASE64.decode(part).ok()?).ok();
    let (header, claims) = (read(header)?, read(claims)?);
    let key = key.unwrap_or(&header["jwk"]);
    let coordinate = |name: &str| BASE64.decode(key[name].as_str()?).ok();
    let point = [vec![4], coordinate("x")?, coordinate("y")?].concat();
    let is_good = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
        .verify(signed.as_bytes(), &BASE64.decode(signature).ok()?)
        .is_ok();
    (is_good && header["alg"] == "ES256").then_some((header, claims))
}

/// Returns the thumbprint of a P-256 key (RFC 7638).
pub(super) fn thumbprint(jwk: &Value) -> String {
    let part = |name: &str| jwk[name].as_str().unwrap_or_default().to_owned();
    sha256(&format!(r#"{{"crv":"P-256","kty":"EC","x":"{}","y":"{}"}}"#, part("x"), part("y")))
}

/// Returns the SHA-256 hash of a string in base64url.
pub(super) fn sha256(text: &str) -> String {
    BASE64.encode(Hash::hash(text.as_bytes()))
}
