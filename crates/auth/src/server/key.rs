//! Public keys (JWK).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use hmac_sha256::Hash;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::{Deserialize, de::IgnoredAny};

use super::algorithm::Algorithm;

/// A JSON Web Key, as far as it is needed.
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

/// A public key for signatures.
#[derive(Clone)]
pub(crate) struct Key {
    pub(crate) kid: Option<String>,
    /// The only algorithm that the key is for, if it declares one.
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
    /// Creates a key; `None` if it has another use or an unsupported type. Symmetric keys are never accepted.
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

    /// The key of a DPoP proof. A proof that contains the private key proves nothing.
    pub(crate) fn of_proof(jwk: &Jwk) -> Option<Self> {
        if jwk.d.is_some() { None } else { Self::new(jwk) }
    }

    /// Whether the key can have signatures of an algorithm.
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

    /// Verifies a signature.
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

    /// The JWK thumbprint (RFC 7638).
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

/// An uncompressed point of a curve.
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::server::jws::Jws;

    const CLAIMS: &str =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

    fn key(jwk: Value) -> Option<Key> {
        Key::new(&serde_json::from_value(jwk).expect("a key"))
    }

    /// The examples of RFC 7515, A.2 and A.3, and of RFC 8037, A.4.
    #[test]
    fn signatures_of_others() {
        let rsa = json!({ "kty": "RSA", "e": "AQAB", "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ" });
        let ec = json!({ "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" });
        let ed = json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
        let by_rsa = format!(
            "eyJhbGciOiJSUzI1NiJ9.{CLAIMS}.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
        );
        let by_ec = format!(
            "eyJhbGciOiJFUzI1NiJ9.{CLAIMS}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        );
        let by_ed = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg".to_owned();
        let keys = [rsa, ec, ed].map(|jwk| key(jwk).expect("a key for signatures"));
        for (at, text) in [by_rsa, by_ec, by_ed].iter().enumerate() {
            let jws = Jws::parse(text).expect("a signed text");
            let algorithm = jws.algorithm(Algorithm::ALL).expect("one of them");
            for (of, key) in keys.iter().enumerate() {
                assert_eq!(jws.is_by(key, algorithm), of == at, "{of} {at}");
                assert!(Algorithm::ALL.iter().all(|other| *other == algorithm || !jws.is_by(key, *other)));
            }
            let changed = text.replacen(".R", ".S", 1).replacen(".eyJp", ".eyJq", 1);
            assert!(!Jws::parse(&changed).expect("the same form").is_by(&keys[at], algorithm));
        }
    }

    /// The examples of RFC 7638, 3.1, and RFC 8037, A.3.
    #[test]
    fn thumbprints_of_others() {
        let rsa = json!({ "kty": "RSA", "e": "AQAB", "alg": "RS256", "kid": "2011-04-29", "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw" });
        let ed = json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
        let thumbprint = |jwk| key(jwk).map(|key| key.thumbprint());
        assert_eq!(thumbprint(rsa).as_deref(), Some("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"));
        assert_eq!(thumbprint(ed).as_deref(), Some("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"));
    }

    #[test]
    fn keys_that_are_none() {
        for jwk in [
            json!({ "kty": "oct", "k": "c2VjcmV0" }),
            json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA" }),
            json!({ "kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA" }),
            json!({ "kty": "OKP", "crv": "Ed25519" }),
            json!({ "kty": "OKP", "crv": "X25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }),
            json!({ "kty": "OKP", "crv": "Ed25519", "use": "enc", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }),
            json!({ "kty": "RSA" }),
        ] {
            assert!(key(jwk.clone()).is_none(), "{jwk}");
        }
    }

    /// A key that is for one algorithm is for no other.
    #[test]
    fn keys_say_what_they_are_for() {
        let of = |alg: Value| key(json!({ "kty": "RSA", "e": "AQAB", "n": "0vx7", "alg": alg })).expect("a key");
        let (any, one) = (of(Value::Null), of(json!("PS256")));
        assert!(any.fits(Algorithm::Rs256) && any.fits(Algorithm::Ps512) && !any.fits(Algorithm::Es256));
        assert!(one.fits(Algorithm::Ps256) && !one.fits(Algorithm::Rs256));
    }
}
