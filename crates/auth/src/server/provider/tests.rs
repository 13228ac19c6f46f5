//! Tokens with the claims that each provider writes, and near misses.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use couplet_core::Caller;
use http::{Request, request::Parts};
use ring::hmac;
use serde_json::{Value, json};

use super::*;
use crate::server::{Claims, published::Known, refusal::Refusal};

const RESOURCE: &str = "https://mcp.example.com/mcp";
const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
const NOW: u64 = 1_800_000_000;

/// The same verifier with a key that tests have, instead of those that the provider publishes.
fn with_key(made: Result<Verifier, Error>) -> Verifier {
    let mut verifier = made.expect("the URLs are valid");
    let issuers = std::mem::take(&mut verifier.issuers);
    verifier.issuers =
        issuers.into_iter().map(|known| Known::new(known.issuer.hs256(SECRET)).expect("it is an issuer")).collect();
    verifier
}

fn request(claims: &Value) -> Parts {
    let mut claims = claims.clone();
    claims["exp"] = (NOW + 600).into();
    let part = |value: &Value| BASE64.encode(value.to_string());
    let signed = format!("{}.{}", part(&json!({ "alg": "HS256", "typ": "JWT" })), part(&claims));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET), signed.as_bytes());
    let bearer = format!("Bearer {signed}.{}", BASE64.encode(tag));
    let request = Request::builder().uri("/mcp").header("authorization", bearer);
    request.body(()).expect("it is a request").into_parts().0
}

async fn admitted(verifier: &Verifier, claims: &Value) -> Option<std::sync::Arc<Caller>> {
    verifier.admit(&request(claims), NOW).await.ok()
}

/// A token is accepted, with these claims; and no longer after each of the changes.
async fn check(made: Result<Verifier, Error>, token: Value, client: Option<&str>, scopes: &[&str], wrong: &[Value]) {
    let verifier = with_key(made);
    let caller = admitted(&verifier, &token).await.unwrap_or_else(|| panic!("refused: {token}"));
    let claims = caller.claims::<Claims>().expect("they are claims");
    assert_eq!(
        (claims.client.as_deref(), &claims.scopes[..]),
        (client, &scopes.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()[..])
    );
    for change in wrong {
        let mut other = token.clone();
        for (name, value) in change.as_object().expect("it is a change") {
            other[name] = value.clone();
        }
        assert!(admitted(&verifier, &other).await.is_none(), "accepted: {other}");
    }
}

/// What each of them must refuse.
fn always() -> [Value; 2] {
    [json!({ "aud": "https://other.example.com/mcp" }), json!({ "iss": "https://other.example.com" })]
}

#[tokio::test]
async fn auth0_names_its_issuer_with_a_slash() {
    let token = json!({
        "iss": "https://acme.eu.auth0.com/",
        "sub": "auth0|64a1",
        "aud": [RESOURCE, "https://acme.eu.auth0.com/userinfo"],
        "azp": "tpc_11",
        "scope": "openid notes:read",
        "permissions": ["notes:read"],
    });
    let [audience, issuer] = always();
    let wrong = [audience, issuer, json!({ "iss": "https://acme.eu.auth0.com" }), json!({ "aud": [] })];
    for domain in ["acme.eu.auth0.com", "https://acme.eu.auth0.com/"] {
        check(auth0(RESOURCE, domain), token.clone(), Some("tpc_11"), &["openid", "notes:read"], &wrong).await;
    }
}

#[tokio::test]
async fn authkit_tokens_name_the_resource() {
    let issuer = "https://acme-12345.authkit.app";
    let token = json!({ "iss": issuer, "sub": "user_01", "aud": RESOURCE, "scope": "openid email", "sid": "app_1" });
    check(authkit(RESOURCE, "acme-12345.authkit.app"), token, None, &["openid", "email"], &always()).await;
}

#[tokio::test]
async fn cognito_accepts_access_tokens_only() {
    let token = json!({
        "iss": "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbC",
        "sub": "a1b2",
        "aud": RESOURCE,
        "client_id": "3n4b5",
        "token_use": "access",
        "scope": "https://mcp.example.com/mcp/read openid",
        "username": "alice",
    });
    let [audience, issuer] = always();
    let wrong = [audience, issuer, json!({ "token_use": "id" }), json!({ "token_use": null }), json!({ "aud": null })];
    let made = cognito(RESOURCE, "eu-central-1", "eu-central-1_AbC");
    check(made, token, Some("3n4b5"), &["https://mcp.example.com/mcp/read", "openid"], &wrong).await;
}

#[tokio::test]
async fn descope_has_an_issuer_for_each_server() {
    let issuer = "https://api.descope.com/v1/apps/agentic/P2abc/MS3def";
    let token = json!({ "iss": issuer, "sub": "U2x", "aud": [RESOURCE], "azp": "TPA9", "scope": "notes:read" });
    let [audience, other] = always();
    let wrong = [audience, other, json!({ "iss": "https://api.descope.com/v1/apps/agentic/P2abc/MS9" })];
    for url in [issuer.to_owned(), format!("{issuer}/.well-known/openid-configuration")] {
        check(descope(RESOURCE, &url), token.clone(), Some("TPA9"), &["notes:read"], &wrong).await;
    }
}

#[tokio::test]
async fn entra_has_short_names_of_scopes_in_tokens() {
    let (tenant, application) = ("aaaabbbb-0000-cccc-1111-dddd2222eeee", "00001111-aaaa-2222-bbbb-3333cccc4444");
    let token = json!({
        "iss": "https://login.microsoftonline.com/aaaabbbb-0000-cccc-1111-dddd2222eeee/v2.0",
        "sub": "AbC",
        "aud": application,
        "azp": "client",
        "scp": "Notes.Read Notes.Write",
        "tid": tenant,
        "ver": "2.0",
    });
    let [audience, issuer] = always();
    let v1 = "https://sts.windows.net/aaaabbbb-0000-cccc-1111-dddd2222eeee/";
    let of_app = json!({ "scp": null, "roles": ["Notes.Read"] });
    let wrong = [audience, issuer, json!({ "iss": v1 }), json!({ "scp": "Notes.Write" }), of_app];
    let made = || entra(RESOURCE, tenant, application, ["Notes.Read"]);
    check(made(), token.clone(), Some("client"), &["Notes.Read", "Notes.Write"], &wrong).await;
    // Clients request the full name; tools may ask for both.
    let verifier = with_key(made());
    let metadata: Value = serde_json::from_slice(&verifier.metadata()).expect("it is JSON");
    assert_eq!(metadata["scopes_supported"], json!(["https://mcp.example.com/mcp/Notes.Read"]));
    let caller = admitted(&verifier, &token).await.expect("it is valid");
    assert!(caller.has_scopes(&["Notes.Read".to_owned(), "https://mcp.example.com/mcp/Notes.Read".to_owned()]));
}

#[tokio::test]
async fn workflows_of_other_owners_are_refused() {
    let token = json!({
        "iss": "https://token.actions.githubusercontent.com",
        "sub": "repo:acme/website:ref:refs/heads/main",
        "aud": RESOURCE,
        "repository": "acme/website",
        "repository_owner": "acme",
        "ref": "refs/heads/main",
    });
    let [audience, issuer] = always();
    let wrong = [audience, issuer, json!({ "repository_owner": "mallory" }), json!({ "repository_owner": null })];
    check(github_actions(RESOURCE, ["acme", "acme-labs"]), token.clone(), None, &[], &wrong).await;
    let only = github_actions(RESOURCE, ["acme"]).map(|verifier| verifier.require_claim("ref", ["refs/heads/main"]));
    check(only, token.clone(), None, &[], &[json!({ "ref": "refs/heads/attack" })]).await;
    // A type of one's own does not replace the requirement.
    let mapped = github_actions(RESOURCE, ["acme"]).map(|verifier| verifier.map_claims(Some));
    check(mapped, token.clone(), None, &[], &wrong).await;
    check(github_actions(RESOURCE, ["acme"]), token, None, &[], &wrong).await;
}

#[tokio::test]
async fn other_service_accounts_are_refused() {
    let token = json!({
        "iss": "https://accounts.google.com",
        "sub": "1170",
        "azp": "1170",
        "aud": RESOURCE,
        "email": "reports@acme.iam.gserviceaccount.com",
        "email_verified": true,
    });
    let [audience, issuer] = always();
    let wrong = [
        audience,
        issuer,
        json!({ "email": "mallory@evil.iam.gserviceaccount.com" }),
        json!({ "email": null }),
        json!({ "email_verified": false }),
    ];
    let made = google_service_accounts(RESOURCE, ["reports@acme.iam.gserviceaccount.com"]);
    check(made, token, Some("1170"), &[], &wrong).await;
}

/// Clients cannot log in at these.
#[test]
fn issuers_of_workloads_are_not_listed() {
    let verifiers = [
        (github_actions(RESOURCE, ["acme"]), json!(null)),
        (google_service_accounts(RESOURCE, ["a@example.com"]), json!(null)),
        (authkit(RESOURCE, "acme.authkit.app"), json!(["https://acme.authkit.app"])),
    ];
    for (made, expected) in verifiers {
        let metadata: Value = serde_json::from_slice(&made.expect("it is valid").metadata()).expect("it is JSON");
        assert_eq!(metadata["authorization_servers"], expected);
    }
}

#[tokio::test]
async fn keycloak_names_the_realm_and_the_party() {
    let token = json!({
        "iss": "https://login.example.com/realms/acme",
        "sub": "f:1",
        "aud": [RESOURCE, "account"],
        "azp": "desktop",
        "typ": "Bearer",
        "scope": "notes:read profile",
    });
    let [audience, issuer] = always();
    let wrong =
        [audience, issuer, json!({ "iss": "https://login.example.com/realms/other" }), json!({ "aud": "account" })];
    let made = keycloak(RESOURCE, "https://login.example.com/", "acme");
    check(made, token, Some("desktop"), &["notes:read", "profile"], &wrong).await;
}

#[tokio::test]
async fn okta_has_lists_of_scopes_and_a_name_of_its_own_for_the_client() {
    let token = json!({
        "ver": 1,
        "iss": "https://acme.okta.com/oauth2/default",
        "sub": "alice@example.com",
        "aud": "api://default",
        "cid": "0oa1",
        "uid": "00u1",
        "scp": ["openid", "notes:read"],
    });
    let [audience, issuer] = always();
    let wrong = [audience, issuer, json!({ "iss": "https://acme.okta.com" })];
    let made = okta(RESOURCE, "acme.okta.com", "default", "api://default");
    check(made, token, Some("0oa1"), &["openid", "notes:read"], &wrong).await;
}

#[tokio::test]
async fn stytch_tokens_are_for_the_project() {
    let token = json!({
        "iss": "https://login.example.com",
        "sub": "user-live-1",
        "aud": ["project-live-1234"],
        "client_id": "connected-app-live-1",
        "scope": "openid notes:read",
    });
    let made = stytch(RESOURCE, "login.example.com", "project-live-1234");
    check(made, token, Some("connected-app-live-1"), &["openid", "notes:read"], &always()).await;
}

#[tokio::test]
async fn supabase_tokens_are_for_signed_in_users() {
    let token = json!({
        "iss": "https://abcdefgh.supabase.co/auth/v1",
        "sub": "8ccaa7af",
        "aud": "authenticated",
        "role": "authenticated",
        "client_id": "9a8b7c6d",
        "is_anonymous": false,
    });
    let [audience, issuer] = always();
    let wrong = [audience, issuer, json!({ "aud": "anon" })];
    check(supabase(RESOURCE, "https://abcdefgh.supabase.co"), token.clone(), Some("9a8b7c6d"), &[], &wrong).await;
    let known = supabase(RESOURCE, "abcdefgh.supabase.co").map(|v| v.require_claim("is_anonymous", ["false"]));
    check(known, token, Some("9a8b7c6d"), &[], &[json!({ "is_anonymous": true })]).await;
}

/// A claim that is a list needs one of the values; no value is accepted if there is none to compare with.
#[tokio::test]
async fn required_claims_may_be_lists() {
    let token = json!({ "iss": "https://login.example.com", "sub": "a", "aud": RESOURCE, "groups": ["staff", "ops"] });
    let made = |values: &'static [&str]| {
        Verifier::new(RESOURCE, "https://login.example.com").map(|v| v.require_claim("groups", values.iter().copied()))
    };
    check(
        made(&["ops", "board"]),
        token.clone(),
        None,
        &[],
        &[json!({ "groups": [] }), json!({ "groups": ["sales"] })],
    )
    .await;
    let refused = with_key(made(&[])).admit(&request(&token), NOW).await.map(drop);
    assert!(matches!(refused, Err(Refusal::Invalid(_))));
}
