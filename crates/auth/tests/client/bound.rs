//! Tokens that are bound to a key.

use std::collections::HashSet;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_auth::client::MemoryStore;
use http::Response;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};

use crate::world::{ABOUT, SERVER, Seen, World, claims, reply};

fn world() -> World {
    let world = World::new();
    world.server_says("dpop_signing_alg_values_supported", json!(["RS256", "ES256"]));
    world.inner().challenge = format!("DPoP resource_metadata=\"{ABOUT}\"");
    world
}

/// The claims of a proof that holds, and whose key it is.
fn proof(seen: &Seen) -> (Value, Value) {
    assert_eq!(seen.headers.get_all("dpop").iter().count(), 1);
    let jwt = seen.header("dpop").unwrap();
    let (header, claims) = claims(jwt);
    assert_eq!((&header["typ"], &header["alg"]), (&json!("dpop+jwt"), &json!("ES256")));
    assert_eq!(header["jwk"].as_object().unwrap().len(), 4);
    let coordinate = |name: &str| URL_SAFE_NO_PAD.decode(header["jwk"][name].as_str().unwrap()).unwrap();
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let (text, signature) = jwt.rsplit_once('.').unwrap();
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
    key.verify(text.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    (claims, header["jwk"].clone())
}

#[tokio::test]
async fn every_request_proves_that_the_client_has_the_key() {
    let world = world();
    let client = world.client(&world.person());
    for _ in 0..3 {
        assert_eq!(world.call(&client).await.unwrap(), 200);
    }
    let (asked, key) = proof(&world.seen("/token")[0]);
    assert_eq!((&asked["htm"], &asked["htu"]), (&json!("POST"), &json!("https://as.example/token")));
    assert_eq!((&asked["ath"], &asked["nonce"]), (&Value::Null, &Value::Null));
    let mut ids = HashSet::from([asked["jti"].to_string()]);
    let calls: Vec<_> = world.seen("/mcp").into_iter().filter(|s| s.headers.contains_key("dpop")).collect();
    assert_eq!(calls.len(), 3);
    for call in calls {
        assert_eq!(call.header("authorization"), Some("DPoP token-1"));
        let (shown, same) = proof(&call);
        assert_eq!(same, key);
        assert_eq!((&shown["htm"], &shown["htu"]), (&json!("POST"), &json!(SERVER)));
        assert_eq!(shown["ath"], URL_SAFE_NO_PAD.encode(hmac_sha256::Hash::hash(b"token-1")));
        assert!(ids.insert(shown["jti"].to_string()));
    }
}

#[tokio::test]
async fn what_a_server_wants_to_see_in_a_proof_is_in_the_next_one() {
    let world = world();
    world.rule(|seen| {
        let (place, status) = match (seen.url.as_str(), seen.headers.contains_key("dpop")) {
            ("https://as.example/token", true) => ("as-nonce", 400),
            (SERVER, true) => ("rs-nonce", 401),
            _ => return None,
        };
        if claims(seen.header("dpop").unwrap()).1["nonce"] == place {
            return None;
        }
        let answer = Response::builder().status(status).header("dpop-nonce", place);
        let answer = answer.header("www-authenticate", "DPoP error=\"use_dpop_nonce\"");
        Some(answer.body(json!({ "error": "use_dpop_nonce" }).to_string().into()).unwrap())
    });
    let client = world.client(&world.person());
    for _ in 0..2 {
        assert_eq!(world.call(&client).await.unwrap(), 200);
    }
    assert_eq!(world.seen("/token").len(), 2);
    assert_eq!(world.inner().pages.len(), 1);
    // Only the first proof lacked it.
    let calls: Vec<_> = world.seen("/mcp").into_iter().filter(|s| s.headers.contains_key("dpop")).collect();
    let nonces: Vec<_> = calls.iter().map(|call| proof(call).0["nonce"].clone()).collect();
    assert_eq!(nonces, [Value::Null, json!("rs-nonce"), json!("rs-nonce")]);
    let ids: HashSet<_> = calls.iter().map(|call| proof(call).0["jti"].to_string()).collect();
    assert_eq!(ids.len(), 3);
}

/// A server that wants another word each time is given up.
#[tokio::test]
async fn words_are_not_exchanged_for_ever() {
    let world = world();
    let count = std::sync::atomic::AtomicUsize::new(0);
    world.rule(move |seen| {
        let nonce = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string();
        let answer = Response::builder().status(401).header("dpop-nonce", nonce);
        let answer = answer.header("www-authenticate", "DPoP error=\"use_dpop_nonce\"");
        (seen.url == SERVER).then(|| answer.body(bytes::Bytes::new()).unwrap())
    });
    assert_eq!(world.once(&world.person()).await.unwrap(), 401);
    assert!(world.seen("/mcp").len() < 12);
}

#[tokio::test]
async fn a_token_that_has_to_be_bound_is_not_taken_unbound() {
    let world = world();
    world.rule(|seen| {
        let answer = json!({ "access_token": "a", "token_type": "Bearer" });
        seen.url.ends_with("/token").then(|| reply(200, &answer))
    });
    let error = world.once(&world.person()).await.unwrap_err();
    assert!(error.to_string().contains("expected `DPoP`"), "{error}");
    for must in ["program", "resource"] {
        let world = World::new();
        let mut oauth = world.person();
        match must {
            "program" => oauth = oauth.require_dpop(),
            _ => world.resource_says("dpop_bound_access_tokens_required", json!(true)),
        }
        let error = world.once(&oauth).await.unwrap_err();
        assert!(error.to_string().contains("DPoP-bound"), "{error}");
        world.server_says("dpop_signing_alg_values_supported", json!(["ES256"]));
        assert_eq!(world.once(&oauth).await.unwrap(), 200);
        assert!(world.seen("/mcp").last().unwrap().header("authorization").unwrap().starts_with("DPoP "));
    }
}

/// The key is kept with the token: without it the token is worth nothing.
#[tokio::test]
async fn a_key_outlives_the_connection() {
    let world = world();
    world.inner().refreshes = true;
    let oauth = world.person().store(MemoryStore::new());
    assert_eq!(world.once(&oauth).await.unwrap(), 200);
    assert_eq!(world.once(&oauth).await.unwrap(), 200);
    world.revoke();
    assert_eq!(world.once(&oauth).await.unwrap(), 200);
    assert_eq!(world.inner().pages.len(), 1);
    let log = world.inner().log.clone();
    let keys: HashSet<_> =
        log.iter().filter(|s| s.headers.contains_key("dpop")).map(|s| proof(s).1.to_string()).collect();
    assert_eq!(keys.len(), 1);
}
