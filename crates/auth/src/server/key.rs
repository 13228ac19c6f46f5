//! Public keys, as JSON names them.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use hmac_sha256::Hash;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::{Deserialize, de::IgnoredAny};

use super::algorithm::Algorithm;

/// A key as it stands in a set of keys, or in a proof. What is not needed is not read.
#[derive(Deserialize)]
pub(crate) struct Jwk {
    kty: String,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    d: Option<IgnoredAny>,
}

/// A public key that signatures are checked with.
#[derive(Clone)]
pub(crate) struct Key {
    pub(crate) kid: Option<String>,
    /// The only algorithm that it is for, where it says so.
    alg: Option<String>,
    material: Material,
}

#[derive(Clone)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl Key {
    /// A key for signatures; nothing if it is for something else, or of a kind that is not known here. A shared secret
    /// is never one.
    pub(crate) fn new(jwk: &Jwk) -> Option<Self> {
        if jwk.usage.as_deref().is_some_and(|usage| usage != "sig") {
            return None;
        }
        let bytes = |text: &Option<String>| BASE64.decode(text.as_deref()?).ok();
        let point = |size| point(&bytes(&jwk.x)?, &bytes(&jwk.y)?, size);
        let material = match (&*jwk.kty, jwk.crv.as_deref()) {
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(&jwk.x).filter(|x| x.len() == 32)?),
            ("RSA", _) => Material::Rsa { n: trimmed(bytes(&jwk.n)?), e: trimmed(bytes(&jwk.e)?) },
            _ => return None,
        };
        Some(Self { kid: jwk.kid.clone(), alg: jwk.alg.clone(), material })
    }

    /// The key that a proof carries. One that carries its private part proves nothing.
    pub(crate) fn of_proof(jwk: &Jwk) -> Option<Self> {
        if jwk.d.is_some() { None } else { Self::new(jwk) }
    }

    /// Whether signatures of an algorithm could be by this key.
    pub(crate) fn fits(&self, algorithm: Algorithm) -> bool {
        let kind = match (&self.material, algorithm) {
            (Material::P256(_), Algorithm::Es256)
            | (Material::P384(_), Algorithm::Es384)
            | (Material::Ed25519(_), Algorithm::EdDsa) => true,
            (Material::Rsa { .. }, algorithm) => algorithm.as_str().starts_with(['R', 'P']),
            _ => false,
        };
        kind && self.alg.as_deref().is_none_or(|only| only == algorithm.as_str())
    }

    /// Whether the signature is by this key.
    pub(crate) fn verify(&self, algorithm: Algorithm, signed: &[u8], by: &[u8]) -> bool {
        if !self.fits(algorithm) {
            return false;
        }
        match &self.material {
            Material::P256(point) => plain(&signature::ECDSA_P256_SHA256_FIXED, point, signed, by),
            Material::P384(point) => plain(&signature::ECDSA_P384_SHA384_FIXED, point, signed, by),
            Material::Ed25519(point) => plain(&signature::ED25519, point, signed, by),
            Material::Rsa { n, e } => {
                let how = match algorithm {
                    Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
                    Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
                    Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
                    Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                    Algorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
                    Algorithm::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
                    _ => return false,
                };
                RsaPublicKeyComponents { n, e }.verify(how, signed, by).is_ok()
            }
        }
    }

    /// The key's own name, made from what it is (RFC 7638).
    pub(crate) fn thumbprint(&self) -> String {
        let text = match &self.material {
            Material::P256(point) => ec("P-256", point),
            Material::P384(point) => ec("P-384", point),
            Material::Ed25519(x) => format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, BASE64.encode(x)),
            Material::Rsa { n, e } => {
                format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, BASE64.encode(e), BASE64.encode(n))
            }
        };
        BASE64.encode(Hash::hash(text.as_bytes()))
    }
}

fn plain(how: &'static dyn signature::VerificationAlgorithm, key: &[u8], signed: &[u8], by: &[u8]) -> bool {
    UnparsedPublicKey::new(how, key).verify(signed, by).is_ok()
}

/// A point of a curve, as it is written without compression.
fn point(x: &[u8], y: &[u8], size: usize) -> Option<Vec<u8>> {
    (x.len() == size && y.len() == size).then(|| [&[4], x, y].concat())
}

fn trimmed(number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.into_iter().skip(zeros).collect()
}

fn ec(curve: &str, point: &[u8]) -> String {
    let (x, y) = point[1..].split_at(point.len() / 2);
    format!(r#"{{"crv":"{curve}","kty":"EC","x":"{}","y":"{}"}}"#, BASE64.encode(x), BASE64.encode(y))
}
