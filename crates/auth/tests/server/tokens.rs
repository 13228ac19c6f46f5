//! Tokens that are good, and those that are not; and tokens that the program gives out.

use couplet_auth::server::{Claims, Tokens, Verifier};
use couplet_core::Caller;
use couplet_http::server::Endpoint;
use couplet_server::{Ctx, Server, extract::Auth, tool};
use couplet_testing::auth::AuthServer;
use serde_json::{Value, json};

use crate::support::{RESOURCE, ask, both, call, endpoint, send, verifier};

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

/// What a token says, and whether it is good.
#[tokio::test]
async fn claims_are_checked() {
    let (auth, endpoint) = both().await;
    let (issuer, far) = (auth.issuer(), now() + 3600);
    let slash = |text: &str| format!("{text}/");
    let cases = [
        (json!({}), true),
        (json!({ "aud": ["https://other.example", RESOURCE] }), true),
        (json!({ "aud": null }), false),
        (json!({ "aud": [] }), false),
        (json!({ "aud": "https://other.example" }), false),
        (json!({ "aud": slash(RESOURCE) }), false),
        (json!({ "aud": RESOURCE.to_uppercase() }), false),
        (json!({ "aud": "https://mcp.example.com" }), false),
        (json!({ "aud": 7 }), false),
        (json!({ "iss": null }), false),
        (json!({ "iss": slash(issuer) }), false),
        (json!({ "iss": issuer.to_uppercase() }), false),
        (json!({ "iss": "https://other.example" }), false),
        (json!({ "exp": null }), false),
        (json!({ "exp": now() - 3600 }), false),
        (json!({ "exp": now() - 10 }), true),
        (json!({ "exp": 0 }), false),
        (json!({ "exp": -1 }), false),
        (json!({ "exp": far.to_string() }), false),
        (json!({ "exp": 1e300 }), true),
        (json!({ "nbf": now() + 10 }), true),
        (json!({ "nbf": far }), false),
        (json!({ "iat": 0 }), true),
        (json!({ "sub": null }), true),
        (json!({ "client_id": null }), true),
        (json!({ "sub": null, "client_id": null }), false),
        (json!({ "sub": null, "client_id": null, "azp": "app" }), true),
        // Bound to a certificate, which nobody looks at here; or to something that is not even known.
        (json!({ "cnf": { "x5t#S256": "abc" } }), false),
        (json!({ "cnf": {} }), false),
    ];
    for (claims, good) in cases {
        let token = auth.token_with(merged(json!({ "aud": RESOURCE }), &claims));
        let reply = ask(&endpoint, "whoami", &token).await;
        assert_eq!(reply.status, if good { 200 } else { 401 }, "{claims}: {}", reply.body);
        if !good {
            assert!(reply.challenge().contains("error=\"invalid_token\""), "{claims}: {:?}", reply.headers);
        }
    }
}

fn merged(mut into: Value, from: &Value) -> Value {
    from.as_object().unwrap().iter().for_each(|(name, value)| into[name] = value.clone());
    into
}

#[tokio::test]
async fn headers_are_checked() {
    let (auth, endpoint) = both().await;
    for (header, good) in [
        (json!({}), true),
        (json!({ "typ": "JWT" }), true),
        (json!({ "typ": null }), true),
        (json!({ "typ": "application/at+jwt" }), true),
        // One key fits, so it need not be named.
        (json!({ "kid": null }), true),
        (json!({ "kid": "another" }), false),
        (json!({ "typ": "dpop+jwt" }), false),
        (json!({ "typ": "oauth-id-jag+jwt" }), false),
        (json!({ "typ": "logout+jwt" }), false),
        (json!({ "crit": ["exp"] }), false),
        (json!({ "alg": "ES384" }), false),
        (json!({ "alg": "RS256" }), false),
        (json!({ "alg": "none" }), false),
        (json!({ "alg": "None" }), false),
        (json!({ "alg": "" }), false),
        (json!({ "alg": "HS256" }), false),
        (json!({ "alg": null }), false),
    ] {
        let token = auth.token_of(header.clone(), json!({ "aud": RESOURCE }));
        let reply = ask(&endpoint, "whoami", &token).await;
        assert_eq!(reply.status, if good { 200 } else { 401 }, "{header}: {}", reply.body);
    }
}

/// A token of which one letter is another is no token.
#[tokio::test]
async fn signatures_are_checked() {
    let (auth, endpoint) = both().await;
    let token = auth.token(RESOURCE, "");
    assert_eq!(ask(&endpoint, "whoami", &token).await.status, 200);
    for at in (0..token.len()).step_by(7) {
        let letter = if token.as_bytes()[at] == b'A' { "B" } else { "A" };
        let mut changed = token.clone();
        changed.replace_range(at..=at, letter);
        assert_eq!(ask(&endpoint, "whoami", &changed).await.status, 401, "{at}");
    }
    for cut in
        [token.rsplit_once('.').unwrap().0, &token[1..], &format!("{token}A"), &format!("{token}."), "a.b.c", ".."]
    {
        assert_eq!(ask(&endpoint, "whoami", cut).await.status, 401, "{cut}");
    }
}

#[tokio::test]
async fn another_name_of_the_server() {
    let auth = AuthServer::start().await.unwrap();
    let endpoint = endpoint(verifier(&auth).audience("urn:example:mcp"));
    for (audience, status) in [(RESOURCE, 200), ("urn:example:mcp", 200), ("urn:example:other", 401)] {
        assert_eq!(ask(&endpoint, "whoami", &auth.token(audience, "")).await.status, status, "{audience}");
    }
}

#[tokio::test]
async fn scopes_in_every_form() {
    let (auth, endpoint) = both().await;
    for (claims, read, write) in [
        (json!({ "scope": "files:read files:write" }), 200, 200),
        (json!({ "scope": "files:read" }), 200, 403),
        (json!({ "scp": ["files:read", "files:write"] }), 200, 200),
        (json!({ "scp": "files:read" }), 200, 403),
        (json!({ "scope": "files:readx FILES:READ" }), 403, 403),
        (json!({}), 403, 403),
    ] {
        let token = auth.token_with(merged(json!({ "aud": RESOURCE }), &claims));
        let statuses = (ask(&endpoint, "read", &token).await.status, ask(&endpoint, "write", &token).await.status);
        assert_eq!(statuses, (read, write), "{claims}");
    }
}

/// What handlers take can be a type of the program's own; whoever it makes nothing of is not let in.
#[tokio::test]
async fn claims_of_ones_own() {
    struct Tenant(u32);
    let auth = AuthServer::start().await.unwrap();
    let server: Server =
        Server::new("s", "1").tool(tool("whoami", |tenant: Auth<Tenant>| format!("tenant {}", tenant.0.0)));
    let verifier = verifier(&auth).map_claims(|claims: Claims| claims.get("tenant").map(Tenant));
    let endpoint = Endpoint::new(server.build()).authorize(verifier);
    let with = |tenant: Value| auth.token_with(json!({ "aud": RESOURCE, "tenant": tenant }));
    assert_eq!(ask(&endpoint, "whoami", &with(json!(7))).await.text(), "tenant 7");
    assert_eq!(ask(&endpoint, "whoami", &with(json!("seven"))).await.status, 401);
    assert_eq!(ask(&endpoint, "whoami", &with(Value::Null)).await.status, 401);
}

#[tokio::test]
async fn tokens_of_the_programs_own() {
    let tokens = Tokens::new()
        .allow("alices-token", Caller::new("alice").with_scopes(["files:read"]).with_claims("Alice"))
        .allow("bobs-token", Caller::new("bob"));
    assert!(!format!("{tokens:?}").contains("token"));
    let server: Server = Server::new("s", "1")
        .tool(tool("whoami", |ctx: Ctx| ctx.call().principal().unwrap_or_default().to_owned()))
        .tool(tool("name", |name: Auth<&'static str>| name.to_string()))
        .tool(tool("read", || "read").scopes(["files:read"]));
    let endpoint = Endpoint::new(server.build()).authorize(tokens);
    assert_eq!(ask(&endpoint, "whoami", "alices-token").await.text(), "alice");
    assert_eq!(ask(&endpoint, "name", "alices-token").await.text(), "Alice");
    assert_eq!(ask(&endpoint, "read", "alices-token").await.text(), "read");
    assert_eq!(ask(&endpoint, "whoami", "bobs-token").await.text(), "bob");
    let refused = ask(&endpoint, "read", "bobs-token").await;
    assert_eq!(refused.status, 403);
    assert!(refused.challenge().starts_with("Bearer error=\"insufficient_scope\""), "{}", refused.challenge());
    for wrong in ["alices-tokem", "alices-toke", "alices-token1", "bobs-tokem"] {
        let unknown = ask(&endpoint, "whoami", wrong).await;
        assert_eq!((unknown.status, unknown.challenge().contains("invalid_token")), (401, true));
    }
    let nobody = send(&endpoint, call("whoami", &[])).await;
    assert_eq!((nobody.status, nobody.challenge()), (401, "Bearer"));
    let proof = send(&endpoint, call("whoami", &[("authorization", "DPoP alices-token")])).await;
    assert_eq!(proof.status, 401);
}

#[test]
#[should_panic(expected = "at least 8 random characters")]
fn tokens_that_can_be_guessed() {
    let _ = Tokens::new().allow("secret", Caller::new("alice"));
}

#[test]
#[should_panic(expected = "may contain only")]
fn tokens_that_cannot_be_sent() {
    let _ = Tokens::new().allow("a secret text", Caller::new("alice"));
}

#[test]
fn servers_that_cannot_be_protected() {
    for (resource, issuer) in [
        ("http://mcp.example.com/mcp", "https://login.example.com"),
        ("https://mcp.example.com/mcp#x", "https://login.example.com"),
        ("mcp", "https://login.example.com"),
        ("https://mcp.example.com/mcp", "login"),
    ] {
        let error = Verifier::new(resource, issuer).err().map(|error| error.kind());
        assert_eq!(error, Some(couplet_core::ErrorKind::Config), "{resource} {issuer}");
    }
}
