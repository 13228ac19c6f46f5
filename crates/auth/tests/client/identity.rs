//! Who a client is.

use couplet_auth::{Secret, client::Credential};
use serde_json::json;

use crate::world::{ISSUER, World, reply, server_metadata};

const DOCUMENT: &str = "https://app.example/client.json";
const SECOND: &str = "https://second.example";

#[tokio::test]
async fn line_399_400_what_was_agreed_comes_before_a_document_and_that_before_registration() {
    for (agreed, documents, expected) in
        [(true, true, "me"), (true, false, "me"), (false, true, DOCUMENT), (false, false, "client-of-as.example")]
    {
        let world = World::new();
        world.server_says("client_id_metadata_document_supported", json!(documents));
        let mut oauth = world.person().metadata_document(DOCUMENT, Credential::Public);
        if agreed {
            oauth = oauth.registered("me", Credential::Public);
        }
        assert_eq!(world.once(&oauth).await.unwrap(), 200);
        assert_eq!(world.on_page("client_id").as_deref(), Some(expected));
        assert_eq!(world.seen("/token")[0].field("client_id").as_deref(), Some(expected));
        assert_eq!(world.seen("/register").len(), usize::from(!agreed && !documents));
        // The document is for the authorization server to read.
        assert!(world.seen(DOCUMENT).is_empty());
    }
}

#[tokio::test]
async fn line_404_a_registration_says_what_kind_of_program_it_is_for() {
    for (redirect, kind) in [
        ("http://127.0.0.1:1/callback", "native"),
        ("http://localhost:1/callback", "native"),
        ("com.example.app:/callback", "native"),
        ("https://app.example/callback", "web"),
    ] {
        let world = World::new();
        let visitor = world.clone();
        let oauth = world.person().handle_redirect(redirect, move |page| {
            let back = visitor.visit(&page);
            async move { Ok(back) }
        });
        assert_eq!(world.once(&oauth).await.unwrap(), 200);
        let wanted: serde_json::Value = serde_json::from_str(&world.seen("/register")[0].body).unwrap();
        assert_eq!(wanted["application_type"], kind, "{redirect}");
        assert_eq!(wanted["redirect_uris"], json!([redirect]));
        assert_eq!(wanted["client_name"], "Test");
        assert_eq!(wanted["grant_types"], json!(["authorization_code", "refresh_token"]));
    }
}

#[tokio::test]
async fn line_405_why_a_registration_is_refused_is_told() {
    let world = World::new();
    world.rule(|seen| {
        let why = json!({ "error": "invalid_redirect_uri", "error_description": "no loopback here" });
        seen.url.ends_with("/register").then(|| reply(400, &why))
    });
    let error = world.once(&world.person()).await.unwrap_err().to_string();
    assert!(error.contains("no loopback here") && error.contains("register it there by hand"), "{error}");
    let world = World::new();
    world.server_says("registration_endpoint", json!(null));
    let error = world.once(&world.person()).await.unwrap_err().to_string();
    assert!(error.contains("does not support dynamic registration"), "{error}");
}

fn migrate(world: &World) {
    let mut metadata = server_metadata(SECOND);
    metadata["client_id_metadata_document_supported"] = json!(true);
    world.inner().documents.insert(format!("{SECOND}/.well-known/oauth-authorization-server"), metadata);
    world.resource_says("authorization_servers", json!([SECOND]));
    world.inner().iss = Some(SECOND.to_owned());
    world.revoke();
}

/// Nothing that the first one gave is shown to the second one, and nothing is lost for when the first is back.
#[tokio::test]
async fn line_396_397_each_authorization_server_knows_its_own() {
    let world = World::new();
    world.inner().refreshes = true;
    let client = world.client(&world.person());
    assert_eq!(world.call(&client).await.unwrap(), 200);
    let before = world.inner().log.len();
    migrate(&world);
    assert_eq!(world.call(&client).await.unwrap(), 200);
    assert_eq!(world.on_page("client_id").as_deref(), Some("client-of-second.example"));
    for seen in &world.inner().log[before..] {
        assert!(!seen.body.contains("client-of-as") && !seen.body.contains("refresh-1"), "{seen:?}");
    }
    world.resource_says("authorization_servers", json!([ISSUER]));
    world.inner().iss = Some(ISSUER.to_owned());
    world.revoke();
    assert_eq!(world.call(&client).await.unwrap(), 200);
    assert_eq!(world.on_page("client_id").as_deref(), Some("client-of-as.example"));
    assert_eq!(world.seen("https://as.example/register").len(), 1);
}

#[tokio::test]
async fn line_398_credentials_that_do_not_fit_any_more_are_told_of() {
    for named in [true, false] {
        let world = World::new();
        let mut oauth = world.person().registered("me", Secret::new("hunter2"));
        if named {
            oauth = oauth.issuer(ISSUER);
        }
        let client = world.client(&oauth);
        assert_eq!(world.call(&client).await.unwrap(), 200);
        migrate(&world);
        let before = world.inner().log.len();
        let error = world.call(&client).await.unwrap_err().to_string();
        assert!(error.contains(ISSUER) && error.contains(SECOND), "{error}");
        assert!(world.inner().log[before..].iter().all(|seen| seen.method == "GET" || seen.url.contains("/mcp")));
    }
}

/// A document is not given by anybody, so it is the same everywhere.
#[tokio::test]
async fn line_402_a_document_goes_along_to_another_authorization_server() {
    let world = World::new();
    world.server_says("client_id_metadata_document_supported", json!(true));
    let client = world.client(&world.person().metadata_document(DOCUMENT, Credential::Public));
    assert_eq!(world.call(&client).await.unwrap(), 200);
    migrate(&world);
    assert_eq!(world.call(&client).await.unwrap(), 200);
    assert_eq!(world.on_page("client_id").as_deref(), Some(DOCUMENT));
    assert!(world.seen("/register").is_empty());
}

#[tokio::test]
async fn a_client_that_was_forgotten_registers_again() {
    let world = World::new();
    let client = world.client(&world.person());
    assert_eq!(world.call(&client).await.unwrap(), 200);
    world.revoke();
    let forgotten = std::sync::atomic::AtomicBool::new(true);
    world.rule(move |seen| {
        let first = seen.url.ends_with("/token") && forgotten.swap(false, std::sync::atomic::Ordering::Relaxed);
        first.then(|| reply(401, &json!({ "error": "invalid_client" })))
    });
    let error = world.call(&client).await.unwrap_err();
    assert!(error.to_string().contains("invalid_client"), "{error}");
    assert_eq!(world.call(&client).await.unwrap(), 200);
    assert_eq!(world.seen("/register").len(), 2);
}
