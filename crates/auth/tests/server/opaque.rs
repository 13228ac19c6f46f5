//! Tokens that only their issuer understands.

use std::time::Duration;

use couplet_auth::server::{Issuer, Verifier};
use couplet_http::server::Endpoint;
use couplet_testing::auth::{AuthServer, AuthSettings, Misbehaviour};
use serde_json::json;

use crate::support::{RESOURCE, ask, both, endpoint};

async fn asked() -> (AuthServer, Verifier) {
    let auth = AuthServer::start_with(AuthSettings::default().opaque()).await.unwrap();
    auth.client("mcp server", Some("a secret: with & marks"), &[]);
    let issuer = Issuer::new(auth.issuer()).introspect("mcp server", "a secret: with & marks");
    let verifier = Verifier::new(RESOURCE, issuer).unwrap();
    (auth, verifier)
}

/// The same, with a memory of nothing.
async fn asked_each_time() -> (AuthServer, Endpoint) {
    let (auth, verifier) = asked().await;
    (auth, endpoint(verifier.cache_ttl(Duration::ZERO)))
}

#[tokio::test]
async fn the_issuer_is_asked() {
    let (auth, endpoint) = asked_each_time().await;
    for (claims, status) in [
        (json!({ "aud": RESOURCE }), 200),
        (json!({ "aud": ["https://other.example", RESOURCE] }), 200),
        (json!({ "aud": RESOURCE, "iss": null }), 200),
        (json!({ "aud": RESOURCE, "exp": null }), 200),
        (json!({ "aud": RESOURCE, "iss": "https://other.example" }), 401),
        (json!({ "aud": RESOURCE, "exp": 1 }), 401),
        (json!({ "aud": RESOURCE, "sub": null, "client_id": null }), 401),
        (json!({ "aud": "https://other.example" }), 401),
        (json!({}), 401),
    ] {
        let token = auth.opaque_token(claims.clone());
        assert_eq!(ask(&endpoint, "whoami", &token).await.status, status, "{claims}");
    }
    assert_eq!(ask(&endpoint, "whoami", "made-up").await.status, 401);
    let scoped = auth.opaque_token(json!({ "aud": RESOURCE, "scope": "files:read" }));
    assert_eq!(ask(&endpoint, "read", &scoped).await.text(), "read");
    assert_eq!(ask(&endpoint, "write", &scoped).await.status, 403);
}

/// Signed tokens of an issuer that can be asked are asked about as well: only it knows which were taken back.
#[tokio::test]
async fn what_is_taken_back_is_not_good() {
    let (auth, endpoint) = asked_each_time().await;
    for token in [auth.token(RESOURCE, ""), auth.opaque_token(json!({ "aud": RESOURCE }))] {
        assert_eq!(ask(&endpoint, "whoami", &token).await.status, 200);
        auth.revoke(&token);
        let reply = ask(&endpoint, "whoami", &token).await;
        assert_eq!((reply.status, reply.challenge().contains("invalid_token")), (401, true));
    }
}

#[tokio::test]
async fn answers_are_kept_for_a_moment() {
    let (auth, verifier) = asked().await;
    let endpoint = endpoint(verifier);
    let (good, bad) = (auth.opaque_token(json!({ "aud": RESOURCE })), "made-up");
    for _ in 0..5 {
        assert_eq!(ask(&endpoint, "whoami", &good).await.status, 200);
        assert_eq!(ask(&endpoint, "whoami", bad).await.status, 401);
    }
    assert_eq!(auth.requests("/introspect").len(), 2);
}

/// Not beyond the end of the token itself.
#[tokio::test]
async fn answers_end_with_the_token() {
    let (auth, verifier) = asked().await;
    let endpoint = endpoint(verifier.leeway(Duration::ZERO).cache_ttl(Duration::from_secs(3600)));
    auth.lifetime(Duration::from_secs(2));
    let token = auth.opaque_token(json!({ "aud": RESOURCE }));
    assert_eq!(ask(&endpoint, "whoami", &token).await.status, 200);
    let mut patience = 600;
    while ask(&endpoint, "whoami", &token).await.status == 200 {
        patience -= 1;
        assert!(patience > 0, "it never ends");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A token that nobody can be asked about is not good, and no issuer gets to see it.
#[tokio::test]
async fn attack_opaque_tokens_where_nobody_asks() {
    let (auth, endpoint) = both().await;
    let token = auth.opaque_token(json!({ "aud": RESOURCE }));
    assert_eq!(ask(&endpoint, "whoami", &token).await.status, 401);
    assert!(auth.requests("/introspect").is_empty());
}

/// An answer that does not say whom and what for the token is, is not enough.
#[tokio::test]
async fn attack_answers_that_say_nothing() {
    let (auth, endpoint) = asked_each_time().await;
    let token = auth.opaque_token(json!({ "aud": RESOURCE }));
    auth.misbehave(Misbehaviour::SilentIntrospection);
    assert_eq!(ask(&endpoint, "whoami", &token).await.status, 401);
}

#[tokio::test]
async fn an_issuer_that_does_not_answer() {
    let (auth, endpoint) = asked_each_time().await;
    let token = auth.opaque_token(json!({ "aud": RESOURCE }));
    auth.misbehave(Misbehaviour::NoIntrospection);
    assert_eq!(ask(&endpoint, "whoami", &token).await.status, 503);
    auth.behave();
    assert_eq!(ask(&endpoint, "whoami", &token).await.status, 200, "that it was silent is not remembered");
    // One that does not know who asks.
    let issuer = Issuer::new(auth.issuer()).introspect("mcp server", "another secret");
    let stranger = crate::support::endpoint(Verifier::new(RESOURCE, issuer).unwrap());
    assert_eq!(ask(&stranger, "whoami", &token).await.status, 503);
}

/// Which of two to ask could not be told; and none should see the tokens of the other.
#[tokio::test]
async fn only_one_can_be_asked() {
    let (auth, verifier) = asked().await;
    let second = Issuer::new("https://login.example.com").introspect("a", "b");
    assert!(verifier.add_issuer(second).is_err());
    let named = format!("{}/introspect", auth.issuer());
    let issuer = Issuer::new(auth.issuer()).introspect_at(named, "mcp server", "a secret: with & marks");
    assert!(!format!("{issuer:?}").contains("marks"), "a secret is not shown");
    let endpoint = endpoint(Verifier::new(RESOURCE, issuer).unwrap().add_issuer("https://login.example.com").unwrap());
    assert_eq!(ask(&endpoint, "whoami", &auth.opaque_token(json!({ "aud": RESOURCE }))).await.status, 200);
    assert!(auth.requests("/.well-known/oauth-authorization-server").is_empty());
}
