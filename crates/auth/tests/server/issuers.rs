//! Keys: read, kept, read again, and not too often.

use std::time::Duration;

use couplet_auth::server::{Algorithm, Verifier};
use couplet_auth::{fetch::Reach, server::Issuer};
use couplet_testing::auth::{AuthServer, AuthSettings, Discovery, Misbehaviour};
use serde_json::json;

use crate::support::{RESOURCE, ask, both, endpoint, verifier};

#[tokio::test]
async fn keys_are_read_once() {
    let (auth, endpoint) = both().await;
    assert!(auth.requests("/jwks").is_empty(), "nobody has asked for anything yet");
    for _ in 0..3 {
        assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await.text(), "alice by test");
    }
    assert_eq!(auth.requests("/jwks").len(), 1);
}

#[tokio::test]
async fn those_who_come_at_once_wait_for_one() {
    let (auth, endpoint) = both().await;
    let asking: Vec<_> = (0..20)
        .map(|_| {
            let (endpoint, token) = (endpoint.clone(), auth.token(RESOURCE, ""));
            tokio::spawn(async move { ask(&endpoint, "whoami", &token).await.status })
        })
        .collect();
    for asked in asking {
        assert_eq!(asked.await.unwrap(), 200);
    }
    assert_eq!(auth.requests("/jwks").len(), 1);
}

#[tokio::test]
async fn wherever_the_metadata_is() {
    for path in ["", "/tenant/one"] {
        for discovery in [Discovery::Anywhere, Discovery::OAuth, Discovery::OpenId, Discovery::OpenIdAfterPath] {
            let settings = AuthSettings::default().path(path).discovery(discovery);
            let auth = AuthServer::start_with(settings).await.unwrap();
            let endpoint = endpoint(verifier(&auth));
            let reply = ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await;
            assert_eq!(reply.status, 200, "{path} {discovery:?}: {}", reply.body);
        }
    }
}

#[tokio::test]
async fn keys_can_be_named() {
    let auth = AuthServer::start_with(AuthSettings::default().discovery(Discovery::Nowhere)).await.unwrap();
    let token = auth.token(RESOURCE, "");
    assert_eq!(ask(&endpoint(verifier(&auth)), "whoami", &token).await.status, 503, "there is no metadata");
    let issuer = Issuer::new(auth.issuer()).jwks_uri(format!("{}/jwks", auth.issuer()));
    assert_eq!(ask(&endpoint(Verifier::new(RESOURCE, issuer).unwrap()), "whoami", &token).await.status, 200);
}

#[tokio::test]
async fn a_new_key_is_found() {
    let auth = AuthServer::start().await.unwrap();
    let issuer = Issuer::new(auth.issuer()).min_refresh_interval(Duration::ZERO);
    let endpoint = endpoint(Verifier::new(RESOURCE, issuer).unwrap().cache_ttl(Duration::ZERO));
    let before = auth.token(RESOURCE, "");
    assert_eq!(ask(&endpoint, "whoami", &before).await.status, 200);
    auth.rotate_keys();
    let after = auth.token(RESOURCE, "");
    assert_eq!(ask(&endpoint, "whoami", &after).await.status, 200);
    assert_eq!(ask(&endpoint, "whoami", &before).await.status, 200, "the old key is still there");
    assert_eq!(auth.requests("/jwks").len(), 2);
    // A key that is taken back is gone as soon as the keys are read again.
    auth.rotate_keys();
    auth.forget_old_keys();
    assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await.status, 200);
    for old in [&before, &after] {
        assert_eq!(ask(&endpoint, "whoami", old).await.status, 401);
    }
}

/// Whoever names keys that do not exist cannot make the server ask for them each time.
#[tokio::test]
async fn attack_unknown_keys() {
    let (auth, endpoint) = both().await;
    assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await.status, 200);
    for n in 0..50 {
        let token = auth.token_of(json!({ "kid": format!("key {n}") }), json!({ "aud": RESOURCE }));
        assert_eq!(ask(&endpoint, "whoami", &token).await.status, 401);
    }
    assert!(auth.requests("/jwks").len() <= 2, "{}", auth.requests("/jwks").len());
    assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await.status, 200);
}

/// What cannot be found out is not good; and a client that may have a good token is not told that it is bad.
#[tokio::test]
async fn an_issuer_that_says_nothing() {
    let hows = [
        Misbehaviour::NoKeys,
        Misbehaviour::EndlessKeys,
        Misbehaviour::EndlessMetadata,
        Misbehaviour::MetadataOfAnother,
    ];
    for how in hows {
        let (auth, endpoint) = both().await;
        let token = auth.token(RESOURCE, "");
        auth.misbehave(how);
        let reply = ask(&endpoint, "whoami", &token).await;
        assert_eq!((reply.status, reply.header("retry-after")), (503, Some("5")), "{how:?}");
        assert_eq!(reply.header("www-authenticate"), None, "{how:?}");
        // It is not asked again at once.
        let asked = auth.requests("/.well-known/oauth-authorization-server").len();
        assert_eq!(ask(&endpoint, "whoami", &token).await.status, 503, "{how:?}");
        assert_eq!(auth.requests("/.well-known/oauth-authorization-server").len(), asked, "{how:?}");
    }
}

/// Keys that are there are used when they cannot be read once more.
#[tokio::test]
async fn an_issuer_that_says_nothing_any_more() {
    let auth = AuthServer::start().await.unwrap();
    let issuer = Issuer::new(auth.issuer()).min_refresh_interval(Duration::ZERO);
    let endpoint = endpoint(Verifier::new(RESOURCE, issuer).unwrap());
    assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await.status, 200);
    auth.misbehave(Misbehaviour::NoKeys);
    let unknown = auth.token_of(json!({ "kid": "x" }), json!({ "aud": RESOURCE }));
    assert_eq!(ask(&endpoint, "whoami", &unknown).await.status, 401);
    assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await.status, 200);
}

/// Metadata cannot send the server to places that it would not ask by itself.
#[tokio::test]
async fn attack_metadata_elsewhere() {
    let (auth, endpoint) = both().await;
    auth.misbehave(Misbehaviour::PrivateMetadata);
    assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await.status, 503);
    // Nor can an issuer of the internet be on this machine.
    let auth = AuthServer::start().await.unwrap();
    let issuer = Issuer::new(auth.issuer()).reach(Reach::Public);
    let endpoint = crate::support::endpoint(Verifier::new(RESOURCE, issuer).unwrap());
    assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await.status, 503);
    assert!(auth.requests("/jwks").is_empty());
}

#[tokio::test]
async fn only_some_algorithms() {
    let auth = AuthServer::start().await.unwrap();
    for (algorithms, status) in
        [(&[Algorithm::Es256][..], 200), (&[Algorithm::Rs256, Algorithm::EdDsa], 401), (&[], 401)]
    {
        let issuer = Issuer::new(auth.issuer()).algorithms(algorithms.iter().copied());
        let endpoint = endpoint(Verifier::new(RESOURCE, issuer).unwrap());
        assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await.status, status, "{algorithms:?}");
    }
}

/// One server, two issuers: each signs for itself alone, and people of the same name are not the same.
#[tokio::test]
async fn two_issuers() {
    let (one, two) = (AuthServer::start().await.unwrap(), AuthServer::start().await.unwrap());
    let verifier = verifier(&one).add_issuer(two.issuer()).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&verifier.metadata()).unwrap();
    assert_eq!(document["authorization_servers"], json!([one.issuer(), two.issuer()]));
    let endpoint = endpoint(verifier);
    let [first, second] = [&one, &two].map(|auth| auth.token(RESOURCE, ""));
    for token in [&first, &second] {
        assert_eq!(ask(&endpoint, "whoami", token).await.text(), "alice by test");
    }
    let forged = one.token_with(json!({ "iss": two.issuer(), "aud": RESOURCE }));
    assert_eq!(ask(&endpoint, "whoami", &forged).await.status, 401);
    let session = crate::support::open(&endpoint, "2025-11-25", &first).await;
    let status = async |token| crate::support::call_in(&endpoint, session.as_deref(), "whoami", token).await.status;
    assert_eq!((status(&first).await, status(&second).await), (200, 404));
}
