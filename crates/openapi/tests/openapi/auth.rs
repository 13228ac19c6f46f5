//! Credentials: every scheme, where they go, and where they do not.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use couplet_auth::Secret;
use couplet_core::{BoxFuture, Call, Error};
use couplet_openapi::{CallerCredentials, OpenApi};
use serde_json::{Value, json};

use crate::kit::{Answer, Api, call, client, document, echoed};

fn secured(token_url: &str) -> Value {
    let operation = |id: &str, security: Value| json!({ "get": { "operationId": id, "security": security } });
    json!({
        "openapi": "3.0.3",
        "info": { "title": "Secured", "version": "1.0" },
        "paths": {
            "/header": operation("byHeader", json!([{ "header": [] }])),
            "/query": operation("byQuery", json!([{ "query": [] }])),
            "/cookie": operation("byCookie", json!([{ "cookie": [] }])),
            "/basic": operation("byBasic", json!([{ "login": [] }])),
            "/bearer": operation("byBearer", json!([{ "token": [] }])),
            "/oauth": operation("byClient", json!([{ "oauth": ["read", "write"] }])),
            "/both": operation("byBoth", json!([{ "header": [], "token": [] }])),
            "/either": operation("byEither", json!([{ "unset": [] }, { "token": [] }])),
            "/unset": operation("byUnset", json!([{ "unset": [] }])),
            "/open": operation("byNothing", json!([])),
        },
        "components": { "securitySchemes": {
            "header": { "type": "apiKey", "in": "header", "name": "X-Key" },
            "query": { "type": "apiKey", "in": "query", "name": "key" },
            "cookie": { "type": "apiKey", "in": "cookie", "name": "session" },
            "login": { "type": "http", "scheme": "basic" },
            "token": { "type": "http", "scheme": "bearer" },
            "oauth": { "type": "oauth2", "flows": { "clientCredentials": { "tokenUrl": token_url, "scopes": {} } } },
            "unset": { "type": "http", "scheme": "bearer" },
        } },
    })
}

/// The API with a credential for each scheme.
fn with_credentials(api: &Api) -> OpenApi {
    OpenApi::new(document(secured(&format!("{}/token", api.url()))))
        .base_url(&api.url())
        .expect("it is a URL")
        .auth("header", "header-secret")
        .auth("query", "query secret")
        .auth("cookie", "cookie-secret")
        .auth("login", "ann:pass:word")
        .auth("token", "token-secret")
        .auth("oauth", "client:client-secret")
}

#[tokio::test]
async fn each_scheme_is_written_as_the_document_says() {
    let api = Api::start(|seen| {
        (seen.target == "/token").then(|| Answer::json(200, &json!({ "access_token": "granted", "expires_in": 3600 })))
    })
    .await;
    let client = client(with_credentials(&api)).await;
    for (tool, place, expected) in [
        ("byHeader", "x-key", "header-secret"),
        ("byQuery", "target", "/query?key=query%20secret"),
        ("byCookie", "cookie", "session=cookie-secret"),
        ("byBasic", "authorization", "Basic YW5uOnBhc3M6d29yZA=="),
        ("byBearer", "authorization", "Bearer token-secret"),
        ("byClient", "authorization", "Bearer granted"),
        ("byBoth", "x-key", "header-secret"),
        ("byBoth", "authorization", "Bearer token-secret"),
        ("byEither", "authorization", "Bearer token-secret"),
    ] {
        let _ = echoed(&client, tool, json!({})).await;
        let seen = api.last();
        let found = if place == "target" { Some(seen.target.as_str()) } else { seen.header(place) };
        assert_eq!(found, Some(expected), "{tool}");
    }
    for tool in ["byNothing", "byUnset"] {
        let seen = echoed(&client, tool, json!({})).await;
        let sent =
            ["authorization", "x-key", "cookie"].iter().filter(|name| seen["headers"].get(**name).is_some()).count();
        assert_eq!((sent, seen["target"].as_str().map(|target| target.contains("key="))), (0, Some(false)), "{tool}");
    }
    // No tool has a credential among its arguments.
    for tool in client.tools().await.expect("they are listed") {
        assert_eq!(tool.input_schema.parse::<Value>().expect("it is JSON")["properties"], json!({}), "{}", tool.name);
    }
}

#[tokio::test]
async fn tokens_are_shared_and_renewed() {
    let granted = Arc::new(AtomicUsize::new(0));
    let counter = granted.clone();
    let api = Api::start(move |seen| match seen.target.as_str() {
        "/token" => {
            assert!(seen.body.starts_with("grant_type=client_credentials&scope=read%20write"), "{}", seen.body);
            // This server wants the credentials in the body.
            if seen.header("authorization").is_some() {
                return Some(Answer::json(401, &json!({ "error": "invalid_client" })));
            }
            assert!(seen.body.ends_with("&client_id=client&client_secret=client-secret"), "{}", seen.body);
            let number = counter.fetch_add(1, Ordering::SeqCst);
            Some(Answer::json(200, &json!({ "access_token": format!("t{number}"), "expires_in": 3600 })))
        }
        _ if seen.header("authorization") == Some("Bearer t0") && counter.load(Ordering::SeqCst) > 9 => {
            Some(Answer::json(401, &json!({})))
        }
        _ => None,
    })
    .await;
    let client = client(with_credentials(&api)).await;
    for _ in 0..3 {
        assert_eq!(echoed(&client, "byClient", json!({})).await["headers"]["authorization"], "Bearer t0");
    }
    assert_eq!(granted.load(Ordering::SeqCst), 1);
    // From now on the first token is rejected.
    granted.store(10, Ordering::SeqCst);
    assert_eq!(echoed(&client, "byClient", json!({})).await["headers"]["authorization"], "Bearer t10");
}

struct Logins;

impl CallerCredentials for Logins {
    fn credential<'a>(&'a self, scheme: &'a str, call: &'a Call) -> BoxFuture<'a, Result<Option<Secret>, Error>> {
        assert_eq!(scheme, "token");
        let is_known = call.peer.info.as_ref().is_some_and(|info| info.name == "test");
        Box::pin(async move { Ok(is_known.then(|| Secret::new("of the caller"))) })
    }
}

#[tokio::test]
async fn callers_use_their_own_logins() {
    let api = Api::echo().await;
    let built = OpenApi::new(document(secured("https://login.example.com/token")))
        .base_url(&api.url())
        .expect("it is a URL")
        .auth_of_callers("token", Arc::new(Logins));
    let server = built.into_server().expect("it can be served").build();
    let known = couplet_client::Client::new("test", "1.0.0").connect(server.clone()).await.expect("it connects");
    assert_eq!(echoed(&known, "byBearer", json!({})).await["headers"]["authorization"], "Bearer of the caller");
    let other = couplet_client::Client::new("other", "1.0.0").connect(server).await.expect("it connects");
    assert!(echoed(&other, "byBearer", json!({})).await["headers"].get("authorization").is_none());
}

#[tokio::test]
async fn errors_name_missing_credentials_and_hide_secrets() {
    let api = Api::start(|seen| {
        let said = format!("{} {}", seen.header("authorization").unwrap_or_default(), seen.target);
        Some(Answer::json(401, &json!({ "you sent": said })))
    })
    .await;
    let client = client(with_credentials(&api)).await;
    let unset = call(&client, "byUnset", json!({})).await.all_text();
    assert!(unset.contains("no credentials for `unset`"), "{unset}");
    for (tool, secret) in
        [("byBearer", "token-secret"), ("byBasic", "YW5uOnBhc3M6d29yZA=="), ("byHeader", "header-secret")]
    {
        let said = call(&client, tool, json!({})).await.all_text();
        assert!(said.contains("you sent") && !said.contains(secret), "{said}");
    }
}

#[tokio::test]
async fn credentials_do_not_follow_to_another_origin() {
    let other = Api::echo().await;
    let elsewhere = format!("{}/elsewhere", other.url());
    let api = Api::start(move |seen| match seen.target.as_str() {
        "/bearer" => Some(Answer(302, vec![("location", elsewhere.clone())], vec![])),
        "/header" => Some(Answer(307, vec![("location", "/moved".to_owned())], vec![])),
        _ => None,
    })
    .await;
    let client = client(with_credentials(&api).allow_private()).await;
    let seen = echoed(&client, "byBearer", json!({})).await;
    assert_eq!(seen["target"], "/elsewhere");
    assert_eq!((other.last().header("authorization"), other.last().header("cookie")), (None, None));
    let seen = echoed(&client, "byHeader", json!({})).await;
    assert_eq!((seen["target"].as_str(), seen["headers"]["x-key"].as_str()), (Some("/moved"), Some("header-secret")));
}

#[test]
fn credentials_must_fit_the_document() {
    let built =
        || OpenApi::new(document(secured("https://a.example.com"))).base_url("https://b.example.com").expect("a URL");
    let fails = |api: OpenApi| api.into_server().expect_err("it does not fit").to_string();
    assert!(fails(built().auth("nothing", "x")).contains("it has `cookie`, `header`, `login`"));
    assert!(fails(built().auth("login", "x")).contains("user:password"));
    assert!(built().auth("bearer", "x").into_server().is_ok());
}

#[tokio::test]
async fn a_scheme_that_the_document_does_not_know_is_for_what_it_does_not_declare_open() {
    let api = Api::echo().await;
    let built = OpenApi::new(document(secured("https://login.example.com/token")));
    let built = built.base_url(&api.url()).expect("it is a URL").auth("header", "key").auth("bearer", "general");
    let client = client(built).await;
    for (tool, authorization, key) in [
        ("byBasic", Some("Bearer general"), None),
        ("byUnset", Some("Bearer general"), None),
        ("byHeader", None, Some("key")),
        ("byNothing", None, None),
    ] {
        let _ = echoed(&client, tool, json!({})).await;
        let seen = api.last();
        assert_eq!((seen.header("authorization"), seen.header("x-key")), (authorization, key), "{tool}");
    }
}

#[tokio::test]
async fn token_urls_may_be_relative_to_the_base_url() {
    let api = Api::start(|seen| {
        (seen.target == "/v1/oauth/token").then(|| Answer::json(200, &json!({ "access_token": "granted" })))
    })
    .await;
    let built = OpenApi::new(document(secured("oauth/token"))).base_url(&format!("{}/v1", api.url()));
    let client = client(built.expect("it is a URL").auth("oauth", "client:client-secret")).await;
    let _ = echoed(&client, "byClient", json!({})).await;
    assert_eq!(api.last().header("authorization"), Some("Bearer granted"));
}

#[tokio::test]
async fn responses_do_not_repeat_secrets() {
    let secret = "a-secret-of-the-operator";
    let api = Api::start(move |seen| match seen.target.as_str() {
        "/basic" => {
            Some(Answer(200, vec![("content-type", "text/plain".to_owned())], format!("you sent {secret}").into()))
        }
        // A secret across the place where an error is truncated.
        "/header" => Some(Answer(400, vec![], format!("{}{secret}", "x".repeat(3_990)).into())),
        _ => None,
    })
    .await;
    let built = OpenApi::new(document(secured("https://login.example.com/token"))).base_url(&api.url());
    let built = built.expect("it is a URL").auth("token", secret).auth("login", format!("ann:{secret}"));
    let client = client(built.auth("header", secret)).await;
    for (tool, is_json) in [("byBearer", true), ("byBasic", false), ("byHeader", false)] {
        let said = call(&client, tool, json!({})).await.all_text();
        assert!(said.contains("[redacted]") || said.ends_with("…"), "{tool}: {said}");
        assert!(!said.contains("a-secret"), "{tool}: {said}");
        assert_eq!(serde_json::from_str::<Value>(&said).is_ok(), is_json, "{tool}");
    }
}
