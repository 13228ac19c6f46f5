//! The authorization server that the tests have: it does what one has to, so that what is tested with it means
//! something.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use couplet_testing::auth::{
    AuthServer, AuthSettings, Discovery, Misbehaviour, fetch, post_form, post_json, visit, visit_and_deny,
};
use hmac_sha256::Hash;
use serde_json::{Value, json};

use crate::support::{RESOURCE, ask, both, endpoint, verifier};

const REDIRECT: &str = "http://127.0.0.1:7777/callback";
const VERIFIER: &str = "a-verifier-that-is-long-enough-to-be-one-of-them";

fn query(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The address of the page, but for some parameters.
fn page(auth: &AuthServer, client: &str, change: &[(&str, &str)]) -> String {
    let challenge = BASE64.encode(Hash::hash(VERIFIER.as_bytes()));
    let usual = [
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", REDIRECT),
        ("scope", "files:read"),
        ("state", "xyz"),
        ("resource", RESOURCE),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ];
    let kept = usual.into_iter().filter(|(name, _)| !change.iter().any(|(other, _)| other == name));
    let pairs: Vec<_> = kept.chain(change.iter().copied().filter(|(_, value)| !value.is_empty())).collect();
    format!("{}/authorize?{}", auth.issuer(), query(&pairs))
}

/// What a redirect carries.
fn carried(location: &str, name: &str) -> Option<String> {
    let query = location.split_once('?')?.1;
    form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

async fn register(auth: &AuthServer) -> String {
    let wanted = json!({ "client_name": "Test <b>", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none", "application_type": "native" });
    let reply = post_json(&format!("{}/register", auth.issuer()), &wanted).await.unwrap();
    assert_eq!(reply.status, 201, "{}", reply.body);
    reply.json()["client_id"].as_str().unwrap().to_owned()
}

async fn exchange(auth: &AuthServer, form: &[(&str, &str)]) -> (u16, Value) {
    let reply = post_form(&format!("{}/token", auth.issuer()), &[], form).await.unwrap();
    (reply.status.as_u16(), reply.json())
}

/// From nothing to a token that the server believes.
async fn log_in(auth: &AuthServer, client: &str) -> Value {
    let back = visit(&page(auth, client, &[])).await.unwrap();
    assert!(back.starts_with(&format!("{REDIRECT}?")), "{back}");
    assert_eq!(carried(&back, "state").as_deref(), Some("xyz"));
    let code = carried(&back, "code").unwrap();
    let (status, tokens) = exchange(
        auth,
        &[
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("code", &code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
            ("resource", RESOURCE),
        ],
    )
    .await;
    assert_eq!(status, 200, "{tokens}");
    tokens
}

#[tokio::test]
async fn line_401_from_registration_to_a_call() {
    let (auth, endpoint) = both().await;
    let client = register(&auth).await;
    auth.log_in("bob");
    let tokens = log_in(&auth, &client).await;
    let token = tokens["access_token"].as_str().unwrap();
    assert_eq!(ask(&endpoint, "whoami", token).await.text(), format!("bob by {client}"));
    assert_eq!(ask(&endpoint, "read", token).await.text(), "read");
    assert_eq!(ask(&endpoint, "write", token).await.status, 403);
}

/// Clients of 2025-03-26 find everything at the root, without any metadata; tokens end, and are renewed.
#[tokio::test]
async fn line_388_default_endpoints() {
    let auth = AuthServer::start_with(AuthSettings::default().discovery(Discovery::Nowhere)).await.unwrap();
    for path in ["oauth-authorization-server", "openid-configuration"] {
        assert_eq!(fetch(&format!("{}/.well-known/{path}", auth.issuer())).await.unwrap().status, 404);
    }
    let client = register(&auth).await;
    let tokens = log_in(&auth, &client).await;
    assert!(tokens["expires_in"].is_u64() && tokens["refresh_token"].is_string(), "{tokens}");
}

#[tokio::test]
async fn line_389_metadata() {
    for (settings, path) in [
        (AuthSettings::default(), "/.well-known/oauth-authorization-server"),
        (AuthSettings::default().discovery(Discovery::OpenId), "/.well-known/openid-configuration"),
    ] {
        let auth = AuthServer::start_with(settings).await.unwrap();
        let document = fetch(&format!("{}{path}", auth.issuer())).await.unwrap().json();
        assert_eq!(document["issuer"], auth.issuer());
        assert_eq!(document["code_challenge_methods_supported"], json!(["S256"]));
        for name in ["authorization_endpoint", "token_endpoint", "jwks_uri", "registration_endpoint"] {
            assert!(document[name].as_str().unwrap().starts_with(auth.issuer()), "{name}");
        }
    }
}

#[tokio::test]
async fn line_403_documents_of_clients() {
    const ID: &str = "https://app.example.com/client.json";
    let good = json!({ "client_id": ID, "client_name": "App", "redirect_uris": [REDIRECT] });
    for (id, change, status) in [
        (ID, json!({}), 200),
        (ID, json!({ "client_id": "https://app.example.com/other.json" }), 400),
        (ID, json!({ "client_name": null }), 400),
        (ID, json!({ "redirect_uris": [] }), 400),
        (ID, json!({ "redirect_uris": ["https://other.example/callback"] }), 400),
        ("https://app.example.com", json!({ "client_id": "https://app.example.com" }), 400),
        ("http://app.example.com/client.json", json!({ "client_id": "http://app.example.com/client.json" }), 400),
    ] {
        let auth = AuthServer::start().await.unwrap();
        let mut document = good.clone();
        change.as_object().unwrap().iter().for_each(|(name, value)| document[name] = value.clone());
        auth.client_document(id, document);
        let reply = fetch(&page(&auth, id, &[])).await.unwrap();
        assert_eq!(reply.status, status, "{change}: {}", reply.body);
        if status == 200 {
            assert!(reply.body.contains("127.0.0.1:7777"), "the page says where the answer goes");
            assert_eq!(log_in(&auth, id).await["token_type"], "Bearer");
        }
    }
    let auth = AuthServer::start_with(AuthSettings::default().no_documents()).await.unwrap();
    auth.client_document(ID, good);
    assert_eq!(fetch(&page(&auth, ID, &[])).await.unwrap().status, 400);
}

#[tokio::test]
async fn line_421_the_issuer_is_named() {
    let auth = AuthServer::start().await.unwrap();
    let client = register(&auth).await;
    let document = fetch(&format!("{}/.well-known/oauth-authorization-server", auth.issuer())).await.unwrap().json();
    assert_eq!(document["authorization_response_iss_parameter_supported"], true);
    let back = visit(&page(&auth, &client, &[])).await.unwrap();
    assert_eq!(carried(&back, "iss").as_deref(), Some(auth.issuer()));
    let denied = visit_and_deny(&page(&auth, &client, &[])).await.unwrap();
    assert_eq!(carried(&denied, "iss").as_deref(), Some(auth.issuer()), "with errors as well");
    assert_eq!(carried(&denied, "error").as_deref(), Some("access_denied"));
    for (how, iss) in [
        (Misbehaviour::RedirectOfAnother, Some("https://another.example")),
        (Misbehaviour::RedirectWithoutIssuer, None),
    ] {
        auth.misbehave(how);
        let back = visit(&page(&auth, &client, &[])).await.unwrap();
        assert_eq!(carried(&back, "iss").as_deref(), iss, "{how:?}");
        auth.behave();
    }
}

/// Nobody is sent anywhere that the client did not name; what else is wrong is told there.
#[tokio::test]
async fn line_424_redirects_are_exact() {
    let auth = AuthServer::start().await.unwrap();
    auth.client("web", None, &["https://app.example.com/callback"]);
    let right = ("redirect_uri", "https://app.example.com/callback");
    for (client, change, status) in [
        ("web", vec![right], 200),
        ("stranger", vec![right], 400),
        ("web", vec![("redirect_uri", "https://app.example.com/callback/")], 400),
        ("web", vec![("redirect_uri", "https://app.example.com/callback?x=y")], 400),
        ("web", vec![("redirect_uri", "https://app.example.com.evil.example/callback")], 400),
        ("web", vec![("redirect_uri", "https://APP.example.com/callback")], 400),
        ("web", vec![("redirect_uri", "")], 400),
        ("web", vec![right, ("response_type", "token")], 302),
        ("web", vec![right, ("code_challenge", "")], 302),
        ("web", vec![right, ("code_challenge_method", "plain")], 302),
    ] {
        let reply = fetch(&page(&auth, client, &change)).await.unwrap();
        assert_eq!(reply.status, status, "{client} {change:?}");
        if status == 302 {
            let to = reply.headers["location"].to_str().unwrap();
            assert!(to.starts_with("https://app.example.com/callback?error="), "{to}");
        }
    }
}

/// Codes and ways to renew are good once, for whoever asked.
#[tokio::test]
async fn line_431_codes_and_renewals() {
    let auth = AuthServer::start().await.unwrap();
    for (uri, status) in [
        ("https://app.example.com/cb", 201),
        ("http://localhost:1/cb", 201),
        ("http://app.example.com/cb", 400),
        ("javascript:alert(1)", 400),
    ] {
        let wanted = json!({ "redirect_uris": [uri], "application_type": "native" });
        let reply = post_json(&format!("{}/register", auth.issuer()), &wanted).await.unwrap();
        assert_eq!(reply.status, status, "{uri}");
    }
    let web = json!({ "redirect_uris": ["http://localhost:1/cb"], "application_type": "web" });
    assert_eq!(post_json(&format!("{}/register", auth.issuer()), &web).await.unwrap().status, 400);

    let (client, other) = (register(&auth).await, register(&auth).await);
    for (change, error) in [
        (("", ""), None),
        (("code_verifier", "another"), Some("invalid_grant")),
        (("redirect_uri", "http://127.0.0.1:7777/other"), Some("invalid_grant")),
        (("client_id", &*other), Some("invalid_grant")),
        (("client_id", "stranger"), Some("invalid_client")),
        (("resource", "https://other.example"), Some("invalid_target")),
    ] {
        let back = visit(&page(&auth, &client, &[])).await.unwrap();
        let code = carried(&back, "code").unwrap();
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("client_id", &*client),
            ("code", &code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
            ("resource", RESOURCE),
        ];
        form.iter_mut().filter(|(name, _)| *name == change.0).for_each(|pair| pair.1 = change.1);
        let (_, answer) = exchange(&auth, &form).await;
        assert_eq!(answer["error"].as_str(), error, "{change:?}: {answer}");
        if error.is_none() {
            assert_eq!(exchange(&auth, &form).await.1["error"], "invalid_grant", "a code is good once");
        }
    }
    let tokens = log_in(&auth, &client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let renew = |token: String| {
        let (auth, client) = (&auth, client.clone());
        async move {
            exchange(auth, &[("grant_type", "refresh_token"), ("client_id", &client), ("refresh_token", &token)])
                .await
                .1
        }
    };
    let renewed = renew(refresh.to_owned()).await;
    assert!(renewed["access_token"].is_string() && renewed["refresh_token"] != *refresh, "{renewed}");
    assert_eq!(renew(refresh.to_owned()).await["error"], "invalid_grant");
    auth.revoke_all();
    assert_eq!(renew(renewed["refresh_token"].as_str().unwrap().to_owned()).await["error"], "invalid_grant");
}

/// Machines that have a secret get tokens for themselves; and what is revoked by its client is gone.
#[tokio::test]
async fn machines() {
    let (auth, endpoint) = both().await;
    auth.client("robot", Some("s3cret"), &[]);
    let form = |secret| {
        [
            ("grant_type", "client_credentials"),
            ("client_id", "robot"),
            ("client_secret", secret),
            ("resource", RESOURCE),
            ("scope", "files:read"),
        ]
    };
    assert_eq!(exchange(&auth, &form("guess")).await.0, 401);
    let (status, tokens) = exchange(&auth, &form("s3cret")).await;
    assert_eq!((status, &tokens["refresh_token"]), (200, &Value::Null));
    let token = tokens["access_token"].as_str().unwrap();
    assert_eq!(ask(&endpoint, "whoami", token).await.text(), "robot by robot");
    let introspect = async || {
        let form = [("token", token), ("client_id", "robot"), ("client_secret", "s3cret")];
        post_form(&format!("{}/introspect", auth.issuer()), &[], &form).await.unwrap().json()
    };
    assert_eq!(introspect().await["active"], true);
    let form = [("token", token), ("client_id", "robot"), ("client_secret", "s3cret")];
    assert_eq!(post_form(&format!("{}/revoke", auth.issuer()), &[], &form).await.unwrap().status, 200);
    assert_eq!(introspect().await, json!({ "active": false }));
}

/// Each way to misbehave is seen from outside; what a server makes of it, its own tests say.
#[tokio::test]
async fn misbehaviours_of_tokens() {
    let auth = AuthServer::start().await.unwrap();
    let endpoint = endpoint(verifier(&auth));
    assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await.status, 200);
    for how in [Misbehaviour::Unsigned, Misbehaviour::SharedSecret, Misbehaviour::Expired, Misbehaviour::AnotherIssuer]
    {
        auth.misbehave(how);
        let reply = ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await;
        assert_eq!((reply.status, reply.challenge().contains("invalid_token")), (401, true), "{how:?}");
        auth.behave();
    }
    let client = register(&auth).await;
    auth.misbehave(Misbehaviour::AnotherAudience);
    let tokens = log_in(&auth, &client).await;
    assert_eq!(ask(&endpoint, "whoami", tokens["access_token"].as_str().unwrap()).await.status, 401);
}

/// The page asks for each client anew, says who asks and for what, cannot be framed, and is good once.
#[tokio::test]
async fn line_436_the_page() {
    let auth = AuthServer::start().await.unwrap();
    for _ in 0..2 {
        let client = register(&auth).await;
        let url = page(&auth, &client, &[("scope", "files:read \"<script>")]);
        let shown = fetch(&url).await.unwrap();
        assert_eq!(shown.status, 200, "nobody is sent on without having been asked");
        assert!(shown.headers["content-security-policy"].to_str().unwrap().contains("frame-ancestors 'none'"));
        for part in ["Test &lt;b>", "127.0.0.1:7777", "files:read &quot;&lt;script>"] {
            assert!(shown.body.contains(part), "{part}: {}", shown.body);
        }
        let ticket = shown.body.split_once("value=\"").unwrap().1.split_once('"').unwrap().0;
        let decide = async || {
            let form = [("ticket", ticket), ("decision", "approve")];
            post_form(&format!("{}/decide", auth.issuer()), &[], &form).await.unwrap().status
        };
        assert_eq!((decide().await.as_u16(), decide().await.as_u16()), (302, 400));
    }
}
