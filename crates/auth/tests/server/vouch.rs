//! People for whom an identity provider vouches, from the sign-on to a call.

use couplet_auth::{
    Secret,
    client::{Enterprise, OAuth},
};
use couplet_client::Client;
use couplet_http::server::HttpTransport;
use couplet_server::{Server, extract::Auth, tool};
use couplet_testing::auth::{AuthServer, fetch, post_form};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::RESOURCE;

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// A company's identity provider and an authorization server that believes it; both know the client.
async fn company() -> (AuthServer, AuthServer) {
    let (sso, auth) = (AuthServer::start().await.unwrap(), AuthServer::start().await.unwrap());
    sso.client("notes", None, &[]);
    auth.client("notes", Some("a secret of the client"), &[]);
    auth.trust(&sso);
    (sso, auth)
}

async fn ask(auth: &AuthServer, form: &[(&str, &str)]) -> (u16, Value) {
    let reply = post_form(&format!("{}/token", auth.issuer()), &[], form).await.unwrap();
    (reply.status.as_u16(), reply.json())
}

#[tokio::test]
async fn line_455_from_the_sign_on_to_a_call() {
    let (sso, auth) = company().await;
    sso.log_in("bob");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let verifier = couplet_auth::server::Verifier::new(&*address, auth.issuer()).unwrap().scopes(["files:read"]);
    let who = |claims: Auth<couplet_auth::server::Claims>| claims.subject.clone().unwrap_or_default();
    let server: Server = Server::new("files", "1").tool(tool("whoami", who));
    let transport = HttpTransport::from_listener(listener).endpoint(|endpoint| endpoint.authorize(verifier));
    let serving = tokio::spawn(server.serve(transport));
    let id_token = sso.id_token("notes");
    let provider = Enterprise::new(format!("{}/token", sso.issuer()), "notes", move |_| {
        let token = Secret::new(&*id_token);
        async { Ok(token) }
    });
    let login = OAuth::enterprise(provider, "notes", Secret::new("a secret of the client"));
    let client = Client::new("notes", "1").connect(couplet_http::connect(address).authorize(login)).await.unwrap();
    assert_eq!(client.call("whoami", ()).await.unwrap().text(), "bob");
    assert!(auth.requests("/authorize").is_empty() && auth.requests("/register").is_empty());
    serving.abort();
}

#[tokio::test]
async fn line_454_how_clients_show_themselves_is_published() {
    let auth = AuthServer::start().await.unwrap();
    let metadata = fetch(&format!("{}/.well-known/oauth-authorization-server", auth.issuer())).await.unwrap().json();
    let methods = metadata["token_endpoint_auth_methods_supported"].as_array().unwrap();
    for method in ["client_secret_basic", "client_secret_post", "private_key_jwt"] {
        assert!(methods.contains(&json!(method)), "{metadata}");
    }
    assert_eq!(metadata["token_endpoint_auth_signing_alg_values_supported"], json!(["ES256"]));
}

/// Everything that an assertion says is looked at.
#[tokio::test]
async fn line_456_what_is_believed_of_a_provider() {
    let (sso, auth) = company().await;
    let stranger = AuthServer::start().await.unwrap();
    let usual = json!({ "typ": "oauth-id-jag+jwt" });
    let with = |header: Value, claims: Value| {
        let all = json!({ "aud": auth.issuer(), "client_id": "notes", "scope": "x", "resource": RESOURCE });
        let mut all = all.as_object().unwrap().clone();
        all.extend(claims.as_object().unwrap().clone());
        (header, Value::Object(all))
    };
    let changes = [
        (with(usual.clone(), json!({})), 200),
        (with(json!({ "typ": "JWT" }), json!({})), 400),
        (with(json!({ "typ": "at+jwt" }), json!({})), 400),
        (with(usual.clone(), json!({ "aud": "https://another.example" })), 400),
        (with(usual.clone(), json!({ "client_id": "another" })), 400),
        (with(usual.clone(), json!({ "exp": 1 })), 400),
        (with(usual.clone(), json!({ "exp": null })), 400),
        (with(usual.clone(), json!({ "iss": stranger.issuer() })), 400),
        (with(json!({ "typ": "oauth-id-jag+jwt", "alg": "none" }), json!({})), 400),
    ];
    let form = |assertion: &str, secret: &str| {
        [("grant_type", JWT_BEARER), ("assertion", assertion), ("client_id", "notes"), ("client_secret", secret)]
            .map(|(name, value)| (name, value.to_owned()))
    };
    for ((header, claims), want) in changes {
        let assertion = sso.token_of(header.clone(), claims.clone());
        let fields = form(&assertion, "a secret of the client");
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, &**value)).collect();
        let (status, answer) = ask(&auth, &fields).await;
        assert_eq!(status, want, "{header} {claims}: {answer}");
    }
    // By somebody whom nobody trusts, or shown by somebody else than the client.
    let (header, claims) = with(usual, json!({}));
    for (assertion, secret, want) in [
        (stranger.token_of(header.clone(), claims.clone()), "a secret of the client", 400),
        (sso.token_of(header, claims), "guessed", 401),
    ] {
        let fields = form(&assertion, secret);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, &**value)).collect();
        assert_eq!(ask(&auth, &fields).await.0, want);
    }
}

/// A provider vouches for those who have signed on with this client.
#[tokio::test]
async fn line_456_for_whom_a_provider_vouches() {
    let (sso, auth) = company().await;
    let access = sso.token(auth.issuer(), "x");
    let over = sso.token_of(json!({ "typ": "JWT" }), json!({ "aud": "notes", "exp": 1 }));
    for (subject, want) in [
        (sso.id_token("notes"), 200),
        (sso.id_token("another"), 400),
        (auth.id_token("notes"), 400),
        (access, 400),
        (over, 400),
        (String::new(), 400),
    ] {
        let form = [
            ("grant_type", EXCHANGE),
            ("client_id", "notes"),
            ("subject_token", &*subject),
            ("subject_token_type", ID_TOKEN),
            ("requested_token_type", ID_JAG),
            ("audience", auth.issuer()),
            ("resource", RESOURCE),
        ];
        let (status, answer) = ask(&sso, &form).await;
        assert_eq!(status, want, "{answer}");
        if want == 200 {
            assert_eq!(answer["issued_token_type"], ID_JAG);
        }
    }
}
