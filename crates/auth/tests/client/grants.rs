//! Logins without a page.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_auth::{
    Secret,
    client::{Enterprise, OAuth, SigningKey},
};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey},
};
use serde_json::json;

use crate::world::{ISSUER, SERVER, World, claims, reply};

#[tokio::test]
async fn line_453_a_secret_is_shown_as_the_authorization_server_takes_it() {
    let (id, secret) = ("a:b c", "p%w&d+");
    for (methods, header, fields) in [
        (json!(["client_secret_basic", "client_secret_post"]), true, false),
        (json!(["client_secret_post"]), false, true),
        (json!(null), true, false),
        (json!(["none"]), false, false),
    ] {
        let world = World::new();
        world.server_says("token_endpoint_auth_methods_supported", methods.clone());
        let oauth = world.at_home(OAuth::client_credentials(id, Secret::new(secret))).scopes(["x"]);
        assert_eq!(world.once(&oauth).await.unwrap(), 200);
        let seen = &world.seen("/token")[0];
        // Both halves are encoded like fields of a form before they are put together.
        let basic = "Basic YSUzQWIrYzpwJTI1dyUyNmQlMkI=";
        assert_eq!(seen.header("authorization"), header.then_some(basic), "{methods}");
        assert_eq!(seen.field("client_secret").as_deref(), fields.then_some(secret), "{methods}");
        assert_eq!(seen.field("client_id").as_deref(), (!header).then_some(id), "{methods}");
        assert_eq!(seen.field("grant_type").as_deref(), Some("client_credentials"));
        assert_eq!(seen.field("resource").as_deref(), Some(SERVER));
        assert_eq!(seen.field("scope").as_deref(), Some("x"));
        assert!(world.seen("/register").is_empty());
    }
}

fn pem(der: &[u8]) -> String {
    use base64::engine::general_purpose::STANDARD;
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der))
}

#[tokio::test]
async fn line_453_a_key_signs_who_the_client_is_for_one_authorization_server() {
    let random = SystemRandom::new();
    let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let public = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.as_ref(), &random).unwrap();
    let world = World::new();
    let key = SigningKey::from_pem(&pem(der.as_ref())).unwrap().id("k1");
    let client = world.client(&world.at_home(OAuth::client_credentials("me", key)));
    // A token that is refused is got again, with another assertion.
    for _ in 0..2 {
        assert_eq!(world.call(&client).await.unwrap(), 200);
        world.revoke();
    }
    let mut ids = Vec::new();
    for seen in world.seen("/token") {
        let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        assert_eq!(seen.field("client_assertion_type").as_deref(), Some(kind));
        let jwt = seen.field("client_assertion").unwrap();
        let (header, claims) = claims(&jwt);
        assert_eq!((&header["alg"], &header["kid"]), (&json!("ES256"), &json!("k1")));
        assert_eq!((&claims["iss"], &claims["sub"], &claims["aud"]), (&json!("me"), &json!("me"), &json!(ISSUER)));
        assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 60);
        let (text, signature) = jwt.rsplit_once('.').unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public.public_key().as_ref());
        public.verify(text.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        ids.push(claims["jti"].clone());
    }
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn what_is_no_key_is_refused_and_not_shown() {
    for text in ["", "hello", "-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----"] {
        let error = SigningKey::from_pem(text).unwrap_err();
        assert!(!error.to_string().contains("aGVsbG8"), "{error}");
    }
}

#[tokio::test]
async fn line_455_an_identity_provider_vouches_for_a_person() {
    let world = World::new();
    world.server_says("token_endpoint_auth_methods_supported", json!(["client_secret_basic"]));
    world.rule(|seen| {
        let answer = json!({
            "access_token": "the-id-jag", "token_type": "N_A",
            "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        });
        (seen.url == "https://sso.example/oauth").then(|| reply(200, &answer))
    });
    let provider = Enterprise::new("https://sso.example/oauth", "me-at-sso", |_| async { Ok(Secret::new("id-token")) });
    let oauth = world.at_home(OAuth::enterprise(provider, "me", Secret::new("hunter2"))).scopes(["x"]);
    assert_eq!(world.once(&oauth).await.unwrap(), 200);
    let exchange = &world.seen("/oauth")[0];
    for (name, value) in [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
        ("audience", ISSUER),
        ("resource", SERVER),
        ("scope", "x"),
        ("subject_token", "id-token"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ("client_id", "me-at-sso"),
    ] {
        assert_eq!(exchange.field(name).as_deref(), Some(value), "{name}");
    }
    let grant = &world.seen("/token")[0];
    assert_eq!(grant.field("grant_type").as_deref(), Some("urn:ietf:params:oauth:grant-type:jwt-bearer"));
    assert_eq!(grant.field("assertion").as_deref(), Some("the-id-jag"));
    assert_eq!(grant.header("authorization"), Some("Basic bWU6aHVudGVyMg=="));
    // The secret for one is not shown to the other, and nobody is sent to a page.
    assert_eq!(exchange.header("authorization"), None);
    assert!(world.inner().pages.is_empty());
}

#[tokio::test]
async fn what_an_identity_provider_issues_has_to_be_what_was_asked_for() {
    let world = World::new();
    world.rule(|seen| {
        let answer = json!({ "access_token": "a", "token_type": "Bearer" });
        (seen.url == "https://sso.example/oauth").then(|| reply(200, &answer))
    });
    let provider = Enterprise::new("https://sso.example/oauth", "x", |_| async { Ok(Secret::new("id-token")) });
    let error = world.once(&world.at_home(OAuth::enterprise(provider, "me", Secret::new("s")))).await.unwrap_err();
    assert!(error.to_string().contains("id-jag"), "{error}");
    assert!(world.seen("/token").is_empty());
}

#[tokio::test]
async fn a_platform_vouches_for_a_program_once() {
    for refused in [None, Some("invalid_grant"), Some("invalid_scope"), Some("unauthorized_client")] {
        let world = World::new();
        if let Some(error) = refused {
            world.rule(move |seen| seen.url.ends_with("/token").then(|| reply(400, &json!({ "error": error }))));
        }
        let oauth = OAuth::workload("me", |audience| async move { Ok(Secret::new(format!("jwt-for-{audience}"))) });
        let outcome = world.once(&world.at_home(oauth)).await;
        assert_eq!(outcome.is_ok(), refused.is_none());
        let asked = world.seen("/token");
        assert_eq!(asked.len(), 1, "{refused:?}");
        assert_eq!(asked[0].field("assertion"), Some(format!("jwt-for-{ISSUER}")));
        assert_eq!(asked[0].field("client_id").as_deref(), Some("me"));
    }
}
