//! Keys that the program gives: nothing is read over the network.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use couplet_auth::server::{Issuer, Verifier};
use couplet_testing::auth::{AuthServer, fetch};
use ring::hmac;
use serde_json::{Value, json};

use crate::support::{RESOURCE, ask, endpoint};

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

/// A token as our company makes it, with some claims changed.
fn token(alg: &str, secret: &[u8], change: Value) -> String {
    let mut claims =
        json!({ "iss": "our company", "sub": "alice", "client_id": "test", "aud": RESOURCE, "exp": 4_000_000_000_u64 });
    for (name, value) in change.as_object().unwrap() {
        claims[name] = value.clone();
    }
    let part = |value: &Value| BASE64.encode(value.to_string());
    let signed = format!("{}.{}", part(&json!({ "alg": alg, "typ": "JWT" })), part(&claims));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
    format!("{signed}.{}", BASE64.encode(tag))
}

#[tokio::test]
async fn a_shared_secret_signs_tokens() {
    let endpoint = endpoint(Verifier::new(RESOURCE, Issuer::new("our company").hs256(SECRET)).unwrap());
    assert_eq!(ask(&endpoint, "whoami", &token("HS256", SECRET, json!({}))).await.text(), "alice by test");
    let mut other = SECRET.to_vec();
    other[0] ^= 1;
    for bad in [
        token("HS256", &other, json!({})),
        token("HS256", &[], json!({})),
        token("none", SECRET, json!({})),
        token("HS384", SECRET, json!({})),
        token("RS256", SECRET, json!({})),
        token("HS256", SECRET, json!({ "aud": "https://other.example" })),
        token("HS256", SECRET, json!({ "iss": "another company" })),
        token("HS256", SECRET, json!({ "exp": 1 })),
        token("HS256", SECRET, json!({ "exp": null })),
    ] {
        assert_eq!(ask(&endpoint, "whoami", &bad).await.status, 401, "{bad}");
    }
}

#[tokio::test]
async fn keys_are_given_and_not_read() {
    let auth = AuthServer::start().await.unwrap();
    let keys = fetch(&format!("{}/jwks", auth.issuer())).await.unwrap().body;
    let endpoint = endpoint(Verifier::new(RESOURCE, Issuer::new(auth.issuer()).jwks(&keys)).unwrap());
    assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await.text(), "alice by test");
    // A public key is not a secret that signs.
    for secret in [keys.as_bytes(), SECRET] {
        let forged = token("HS256", secret, json!({ "iss": auth.issuer() }));
        assert_eq!(ask(&endpoint, "whoami", &forged).await.status, 401);
    }
    auth.rotate_keys();
    assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await.status, 401);
    assert_eq!(auth.requests("/jwks").len(), 1);
}

#[test]
fn keys_that_are_none_are_reported() {
    let private = r#"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#;
    for (issuer, expected) in [
        (Issuer::new("our company"), "is not the URL of an issuer"),
        (Issuer::new("our company").hs256("short"), "shorter than 32 bytes"),
        (Issuer::new("our company").jwks("no"), "not a set of keys"),
        (Issuer::new("our company").jwks(r#"{"keys":[]}"#), "no key"),
        (Issuer::new("our company").jwks(private), "no key"),
    ] {
        assert!(!format!("{issuer:?}").contains("short"), "a secret is not shown");
        let error = Verifier::new(RESOURCE, issuer).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("c2VjcmV0"), "{error}");
    }
}
