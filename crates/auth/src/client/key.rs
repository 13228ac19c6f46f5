//! Signing keys and JWTs.

use std::{fmt, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use couplet_core::{Error, ErrorKind};
use ring::{
    rand::SystemRandom,
    rsa,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
        RSA_PKCS1_SHA256,
    },
};
use rustls_pki_types::{PrivateKeyDer, pem::PemObject};
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

/// A private key for client authentication: P-256, P-384, Ed25519 or RSA.
///
/// ```no_run
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use couplet_auth::client::{OAuth, SigningKey};
///
/// let key = SigningKey::from_pem(&std::fs::read_to_string("key.pem")?)?.id("2026-01");
/// let oauth = OAuth::client_credentials("nightly-report", key);
/// # drop(oauth);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SigningKey {
    pair: Arc<Pair>,
    id: Option<String>,
}

enum Pair {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(rsa::KeyPair),
}

impl SigningKey {
    /// Parses a key from PEM: PKCS #8, or PKCS #1 for RSA.
    ///
    /// # Errors
    /// Fails if the text is not such a key.
    pub fn from_pem(pem: &str) -> Result<Self, Error> {
        let wrong = || Error::new(ErrorKind::Config, "expected a private key in PEM (PKCS #8, or PKCS #1 for RSA)");
        match PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| wrong())? {
            PrivateKeyDer::Pkcs8(key) => Self::from_pkcs8(key.secret_pkcs8_der()).ok_or_else(wrong),
            PrivateKeyDer::Pkcs1(key) => {
                rsa::KeyPair::from_der(key.secret_pkcs1_der()).map(Pair::Rsa).map(Self::of).map_err(|_| wrong())
            }
            _ => Err(wrong()),
        }
    }

    /// Sets the key id: the `kid` of signatures.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Generates a P-256 key. Returns it with its PKCS #8 encoding.
    pub(crate) fn generate() -> Result<(Self, Zeroizing<Vec<u8>>), Error> {
        let failed = || Error::new(ErrorKind::Config, "cannot generate a key: the system's random source failed");
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let kept = Zeroizing::new(made.map_err(|_| failed())?.as_ref().to_vec());
        Ok((Self::from_pkcs8(&kept).ok_or_else(failed)?, kept))
    }

    pub(crate) fn from_pkcs8(key: &[u8]) -> Option<Self> {
        let random = SystemRandom::new();
        let p256 = || EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key, &random).map(Pair::P256);
        let p384 = || EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, key, &random).map(Pair::P384);
        let ed25519 = || Ed25519KeyPair::from_pkcs8_maybe_unchecked(key).map(Pair::Ed25519);
        let rsa = || rsa::KeyPair::from_pkcs8(key).map(Pair::Rsa);
        let pair = p256().or_else(|_| p384()).or_else(|_| ed25519()).or_else(|_| rsa());
        pair.ok().map(Self::of)
    }

    fn of(pair: Pair) -> Self {
        Self { pair: Arc::new(pair), id: None }
    }

    /// The name of the signature algorithm in JOSE.
    pub(crate) fn algorithm(&self) -> &'static str {
        match &*self.pair {
            Pair::P256(_) => "ES256",
            Pair::P384(_) => "ES384",
            Pair::Ed25519(_) => "EdDSA",
            Pair::Rsa(_) => "RS256",
        }
    }

    /// The public key of a P-256 key, as a JWK.
    pub(crate) fn public_jwk(&self) -> Option<Value> {
        let Pair::P256(pair) = &*self.pair else { return None };
        // One byte for the format of the point, then its two coordinates.
        let (x, y) = pair.public_key().as_ref().get(1..65)?.split_at(32);
        Some(json!({ "kty": "EC", "crv": "P-256", "x": BASE64.encode(x), "y": BASE64.encode(y) }))
    }

    /// Creates a signed JWT.
    pub(crate) fn sign(&self, mut header: Map<String, Value>, claims: &Value) -> Result<String, Error> {
        header.insert("alg".into(), self.algorithm().into());
        if let Some(id) = &self.id {
            header.insert("kid".into(), id.as_str().into());
        }
        let part = |value: &Value| BASE64.encode(value.to_string());
        let text = format!("{}.{}", part(&Value::Object(header)), part(claims));
        let signature = self.signature(text.as_bytes());
        let signature = signature.ok_or_else(|| Error::new(ErrorKind::Config, "the key cannot sign"))?;
        Ok(format!("{text}.{}", BASE64.encode(signature)))
    }

    fn signature(&self, text: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match &*self.pair {
            Pair::P256(pair) | Pair::P384(pair) => pair.sign(&random, text).ok().map(|s| s.as_ref().to_vec()),
            Pair::Ed25519(pair) => Some(pair.sign(text).as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature).ok()?;
                Some(signature)
            }
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("algorithm", &self.algorithm()).field("id", &self.id).finish()
    }
}
