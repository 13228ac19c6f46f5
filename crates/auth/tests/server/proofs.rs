//! Tokens that are bound to a key.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use couplet_http::server::Endpoint;
use couplet_testing::auth::AuthServer;
use hmac_sha256::Hash;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::{Value, json};

use crate::support::{RESOURCE, Reply, both, call, endpoint, send, verifier};

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

/// A client's key.
struct Key(EcdsaKeyPair);

impl Key {
    fn new() -> Self {
        let (random, how) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let made = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(how, made.as_ref(), &random).unwrap())
    }

    fn jwk(&self) -> Value {
        let (x, y) = self.0.public_key().as_ref()[1..].split_at(32);
        json!({ "kty": "EC", "crv": "P-256", "x": BASE64.encode(x), "y": BASE64.encode(y) })
    }

    fn thumbprint(&self) -> String {
        let jwk = self.jwk();
        let text = format!(r#"{{"crv":"P-256","kty":"EC","x":{},"y":{}}}"#, jwk["x"], jwk["y"]);
        BASE64.encode(Hash::hash(text.as_bytes()))
    }

    /// A proof for the call of a tool, but for some members.
    fn proof(&self, token: &str, header: Value, claims: Value) -> String {
        let ath = BASE64.encode(Hash::hash(token.as_bytes()));
        let jti = BASE64
            .encode(EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap());
        let header = merged(json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": self.jwk() }), header);
        let usual = json!({ "jti": jti, "htm": "POST", "htu": RESOURCE, "iat": now(), "ath": ath });
        let (header, claims) = (header.to_string(), merged(usual, claims).to_string());
        let signed = format!("{}.{}", BASE64.encode(header), BASE64.encode(claims));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", BASE64.encode(signature.as_ref()))
    }
}

fn merged(mut into: Value, from: Value) -> Value {
    for (name, value) in from.as_object().unwrap() {
        match value {
            Value::Null => drop(into.as_object_mut().unwrap().remove(name)),
            _ => into[name] = value.clone(),
        }
    }
    into
}

fn bound(auth: &AuthServer, key: &Key) -> String {
    auth.token_with(json!({ "aud": RESOURCE, "cnf": { "jkt": key.thumbprint() } }))
}

async fn ask(endpoint: &Endpoint, token: &str, proof: &str) -> Reply {
    send(endpoint, call("whoami", &[("authorization", &format!("DPoP {token}")), ("dpop", proof)])).await
}

#[tokio::test]
async fn proofs_are_checked() {
    let (auth, endpoint) = both().await;
    let key = Key::new();
    let token = bound(&auth, &key);
    let with_private = merged(key.jwk(), json!({ "d": "c2VjcmV0" }));
    for (header, claims, good) in [
        (json!({}), json!({}), true),
        (json!({ "typ": "DPoP+JWT" }), json!({}), true),
        (json!({}), json!({ "htu": "https://MCP.example.com:443/mcp?query#fragment" }), true),
        (json!({}), json!({ "iat": now() - 30 }), true),
        (json!({}), json!({ "iat": now() + 30 }), true),
        (json!({ "typ": "jwt" }), json!({}), false),
        (json!({ "typ": null }), json!({}), false),
        (json!({ "alg": "none" }), json!({}), false),
        (json!({ "alg": "HS256" }), json!({}), false),
        (json!({ "alg": "ES384" }), json!({}), false),
        (json!({ "jwk": null }), json!({}), false),
        (json!({ "jwk": with_private }), json!({}), false),
        (json!({ "jwk": Key::new().jwk() }), json!({}), false),
        (json!({ "crit": ["b64"] }), json!({}), false),
        (json!({}), json!({ "htm": "GET" }), false),
        (json!({}), json!({ "htm": "post" }), false),
        (json!({}), json!({ "htm": null }), false),
        (json!({}), json!({ "htu": "https://other.example/mcp" }), false),
        (json!({}), json!({ "htu": "http://mcp.example.com/mcp" }), false),
        (json!({}), json!({ "htu": "https://mcp.example.com:8443/mcp" }), false),
        (json!({}), json!({ "htu": "https://mcp.example.com/other" }), false),
        (json!({}), json!({ "htu": "https://mcp.example.com@evil.example/mcp" }), false),
        (json!({}), json!({ "htu": null }), false),
        (json!({}), json!({ "ath": "abc" }), false),
        (json!({}), json!({ "ath": null }), false),
        (json!({}), json!({ "iat": now() - 3600 }), false),
        (json!({}), json!({ "iat": now() + 3600 }), false),
        (json!({}), json!({ "iat": null }), false),
        (json!({}), json!({ "jti": null }), false),
    ] {
        let reply = ask(&endpoint, &token, &key.proof(&token, header.clone(), claims.clone())).await;
        assert_eq!(reply.status, if good { 200 } else { 401 }, "{header} {claims}: {}", reply.body);
        if !good {
            let challenge = reply.challenge();
            assert!(challenge.starts_with("DPoP error=\"invalid_dpop_proof\""), "{header} {claims}: {challenge}");
            assert!(challenge.contains("algs=\"ES256 "), "{challenge}");
        }
    }
}

/// A token that was taken from its owner is of no use.
#[tokio::test]
async fn attack_stolen_tokens() {
    let (auth, endpoint) = both().await;
    let (key, thief) = (Key::new(), Key::new());
    let token = bound(&auth, &key);
    let proof = key.proof(&token, json!({}), json!({}));
    // Without a proof, as if it were not bound.
    let plain = send(&endpoint, call("whoami", &[("authorization", &format!("Bearer {token}"))])).await;
    assert_eq!(plain.status, 401);
    let plain =
        send(&endpoint, call("whoami", &[("authorization", &format!("Bearer {token}")), ("dpop", &proof)])).await;
    assert_eq!(plain.status, 401);
    let missing = send(&endpoint, call("whoami", &[("authorization", &format!("DPoP {token}"))])).await;
    assert_eq!(missing.status, 401);
    // With a proof of another key.
    assert_eq!(ask(&endpoint, &token, &thief.proof(&token, json!({}), json!({}))).await.status, 401);
    // With the proof of its owner, once more.
    assert_eq!(ask(&endpoint, &token, &proof).await.status, 200);
    let again = ask(&endpoint, &token, &proof).await;
    assert_eq!(again.status, 401);
    assert!(again.challenge().contains("used before"), "{}", again.challenge());
    // With a proof for another token of the same owner.
    let other = auth.token_with(json!({ "aud": RESOURCE, "cnf": { "jkt": key.thumbprint() }, "jti": "2" }));
    assert_eq!(ask(&endpoint, &other, &key.proof(&token, json!({}), json!({}))).await.status, 401);
    // With two proofs, of which one is good.
    let two = [key.proof(&token, json!({}), json!({})), thief.proof(&token, json!({}), json!({}))];
    let header = format!("DPoP {token}");
    let reply =
        send(&endpoint, call("whoami", &[("authorization", &header), ("dpop", &two[0]), ("dpop", &two[1])])).await;
    assert_eq!(reply.status, 401);
}

/// A token that is bound to nothing is not made better by a proof.
#[tokio::test]
async fn a_proof_needs_a_bound_token() {
    let (auth, endpoint) = both().await;
    let (key, token) = (Key::new(), auth.token(RESOURCE, ""));
    let reply = ask(&endpoint, &token, &key.proof(&token, json!({}), json!({}))).await;
    assert_eq!(reply.status, 401);
}

#[tokio::test]
async fn tokens_may_have_to_be_bound() {
    let auth = AuthServer::start().await.unwrap();
    let verifier = verifier(&auth).require_dpop();
    let document: Value = serde_json::from_slice(&verifier.metadata()).unwrap();
    assert_eq!(document["dpop_bound_access_tokens_required"], true);
    let endpoint = endpoint(verifier);
    let key = Key::new();
    let (free, token) = (auth.token(RESOURCE, ""), bound(&auth, &key));
    let reply = crate::support::ask(&endpoint, "whoami", &free).await;
    assert_eq!(reply.status, 401);
    assert!(reply.challenge().starts_with("DPoP error=\"invalid_token\""), "{}", reply.challenge());
    assert!(send(&endpoint, call("whoami", &[])).await.challenge().starts_with("DPoP resource_metadata="));
    assert_eq!(ask(&endpoint, &token, &key.proof(&token, json!({}), json!({}))).await.status, 200);
}

#[tokio::test]
async fn numbers_from_the_server() {
    let auth = AuthServer::start().await.unwrap();
    let endpoint = endpoint(verifier(&auth).dpop_nonces([7; 32]));
    let key = Key::new();
    let token = bound(&auth, &key);
    for claims in [json!({}), json!({ "nonce": "made up" }), json!({ "nonce": "" })] {
        let reply = ask(&endpoint, &token, &key.proof(&token, json!({}), claims.clone())).await;
        assert_eq!(reply.status, 401);
        assert!(reply.challenge().starts_with("DPoP error=\"use_dpop_nonce\""), "{claims}: {}", reply.challenge());
        let nonce = reply.header("dpop-nonce").unwrap().to_owned();
        let proof = key.proof(&token, json!({}), json!({ "nonce": nonce }));
        assert_eq!(ask(&endpoint, &token, &proof).await.status, 200);
    }
    // A number of another server.
    let other = crate::support::endpoint(verifier(&auth).dpop_nonces([8; 32]));
    let nonce = ask(&other, &token, &key.proof(&token, json!({}), json!({}))).await;
    let proof = key.proof(&token, json!({}), json!({ "nonce": nonce.header("dpop-nonce").unwrap() }));
    assert_eq!(ask(&endpoint, &token, &proof).await.status, 401);
}
