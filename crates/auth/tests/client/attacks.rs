//! What others have fallen for, and what happens here.

use serde_json::{Value, json};

use crate::world::{ISSUER, REDIRECT, SERVER, World, refuse};

/// Whether somebody was asked for a token, a registration or a login.
fn went_on(world: &World) -> bool {
    !world.inner().pages.is_empty() || !world.seen("/token").is_empty() || !world.seen("/register").is_empty()
}

#[tokio::test]
async fn a_resource_that_is_another_one_gets_no_token() {
    for resource in ["https://evil.example/mcp", "https://mcp.example/mcp/admin", "http://mcp.example/mcp", "mcp", ""] {
        let world = World::new();
        world.resource_says("resource", json!(resource));
        let error = world.once(&world.person()).await.unwrap_err();
        assert!(error.to_string().contains("for another resource"), "{error}");
        assert!(!went_on(&world), "{resource}");
    }
}

#[tokio::test]
async fn line_409_410_the_resource_is_sent_as_it_is_written() {
    for resource in [SERVER, "https://mcp.example", "https://mcp.example/", "HTTPS://mcp.Example/mcp"] {
        let world = World::new();
        world.inner().refreshes = true;
        world.resource_says("resource", json!(resource));
        let client = world.client(&world.person());
        assert_eq!(world.call(&client).await.unwrap(), 200);
        world.revoke();
        assert_eq!(world.call(&client).await.unwrap(), 200);
        assert_eq!(world.on_page("resource").as_deref(), Some(resource));
        let tokens = world.seen("/token");
        assert_eq!(tokens.len(), 2);
        assert!(tokens.iter().all(|seen| seen.field("resource").as_deref() == Some(resource)));
    }
}

#[tokio::test]
async fn line_417_418_419_an_answer_of_another_authorization_server_is_not_used() {
    for (advertised, iss, fine) in [
        (true, Some(ISSUER), true),
        (true, None, false),
        (true, Some("https://evil.example"), false),
        (true, Some("https://as.example/"), false),
        (false, None, true),
        (false, Some(ISSUER), true),
        (false, Some("https://evil.example"), false),
    ] {
        let world = World::new();
        world.server_says("authorization_response_iss_parameter_supported", json!(advertised));
        world.inner().iss = iss.map(str::to_owned);
        let outcome = world.once(&world.person()).await;
        assert_eq!(outcome.is_ok(), fine, "{advertised} {iss:?}");
        assert_eq!(world.inner().pages.len(), 1);
        assert_eq!(world.seen("/token").len(), usize::from(fine), "{advertised} {iss:?}");
    }
}

#[tokio::test]
async fn line_420_what_another_authorization_server_says_is_not_shown() {
    let world = World::new();
    let oauth = world.at_home(couplet_auth::client::OAuth::new("Test").handle_redirect(REDIRECT, |page| async move {
        let state = crate::world::field(page.split_once('?').unwrap().1, "state").unwrap();
        Ok(format!("{REDIRECT}?error=call_me&error_description=555&state={state}&iss=https%3A%2F%2Fevil.example"))
    }));
    let error = world.once(&oauth).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("call_me") && !format!("{error:?}").contains("555"), "{error:?}");
}

#[tokio::test]
async fn line_422_an_answer_to_another_login_is_not_used() {
    for back in [
        format!("{REDIRECT}?code=c&state=wrong"),
        format!("{REDIRECT}?code=c"),
        "http://127.0.0.1:2/callback?code=c".to_owned(),
        "https://evil.example/?code=c".to_owned(),
    ] {
        let world = World::new();
        let oauth = couplet_auth::client::OAuth::new("Test").handle_redirect(REDIRECT, move |_| {
            let back = back.clone();
            async move { Ok(back) }
        });
        world.once(&world.at_home(oauth)).await.unwrap_err();
        assert!(world.seen("/token").is_empty());
    }
}

#[tokio::test]
async fn line_406_407_408_without_pkce_there_is_no_login() {
    for methods in [None, Some(json!([])), Some(json!(["plain"]))] {
        let world = World::new();
        world.server_says("code_challenge_methods_supported", methods.unwrap_or_default());
        let error = world.once(&world.person()).await.unwrap_err();
        assert!(error.to_string().contains("PKCE"), "{error}");
        assert!(!went_on(&world));
    }
    // Only silence is trusted, and only that of the named server.
    for (issuer, methods, is_trusted) in
        [(ISSUER, Value::Null, true), (ISSUER, json!(["plain"]), false), ("https://evil.example", Value::Null, false)]
    {
        let world = World::new();
        world.server_says("code_challenge_methods_supported", methods.clone());
        let login = world.once(&world.person().trust_pkce(issuer)).await;
        assert_eq!(login.is_ok(), is_trusted, "{issuer} {methods}");
        assert_eq!(went_on(&world), is_trusted, "{issuer} {methods}");
        assert!(!is_trusted || world.on_page("code_challenge_method").as_deref() == Some("S256"));
    }
    let world = World::new();
    world.once(&world.person()).await.unwrap();
    let verifier = world.seen("/token")[0].field("code_verifier").unwrap();
    assert!(verifier.len() >= 43);
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let digest = URL_SAFE_NO_PAD.encode(hmac_sha256::Hash::hash(verifier.as_bytes()));
    assert_eq!(world.on_page("code_challenge"), Some(digest));
    assert_eq!(world.on_page("code_challenge_method").as_deref(), Some("S256"));
}

/// Whoever is named by a server is asked only if it is on the internet, and over https.
#[tokio::test]
async fn line_438_nobody_is_asked_where_others_must_not_look() {
    let places = [
        "http://169.254.169.254/latest/meta-data",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/x",
        "https://[::1]/x",
        "https://[fd00::1]/x",
        "https://[fe80::1]/x",
        "https://[::ffff:192.168.0.1]/x",
        "https://[64:ff9b::a9fe:a9fe]/x",
        "https://[2002:7f00:1::]/x",
        "https://localhost/x",
        "http://localhost:1/x",
        "https://127.0.0.1/x",
        "https://0.0.0.0/x",
        "http://plain.example/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://user:pass@plain.example/x",
    ];
    for place in places {
        for how in ["challenge", "issuer", "token", "register", "redirect"] {
            let world = World::new();
            match how {
                "challenge" => world.inner().challenge = format!("Bearer resource_metadata=\"{place}\""),
                "issuer" => world.resource_says("authorization_servers", json!([place])),
                "token" => world.server_says("token_endpoint", json!(place)),
                "register" => world.server_says("registration_endpoint", json!(place)),
                _ => world.rule(move |seen| {
                    let answer = http::Response::builder().status(302).header("location", place);
                    seen.url.contains("oauth-authorization-server").then(|| answer.body(bytes::Bytes::new()).unwrap())
                }),
            }
            world.once(&world.person()).await.unwrap_err();
            let known = ["https://mcp.example", "https://as.example"];
            let stray: Vec<_> = world
                .inner()
                .log
                .iter()
                .map(|s| s.url.clone())
                .filter(|u| !known.iter().any(|k| u.starts_with(k)))
                .collect();
            assert!(stray.is_empty(), "{how} {place}: {stray:?}");
        }
    }
}

#[tokio::test]
async fn line_441_444_only_pages_are_opened() {
    for page in [
        "javascript:alert(1)",
        "file:///bin/sh",
        "data:text/html,x",
        "vbscript:x",
        "http://plain.example/authorize",
        "https://as.example/\"; calc; \"",
        "https://as.example/$(calc)`id`",
        "https://as.example/authorize#x",
        "-x",
        "",
    ] {
        let world = World::new();
        world.server_says("authorization_endpoint", json!(page));
        world.once(&world.person()).await.unwrap_err();
        assert!(world.inner().pages.is_empty(), "{page}");
    }
}

#[tokio::test]
async fn line_426_a_token_is_for_one_server() {
    let world = World::new();
    let client = world.client(&world.person());
    assert_eq!(world.call(&client).await.unwrap(), 200);
    for other in ["https://mcp.example.evil/mcp", "http://mcp.example/mcp", "https://mcp.example:444/mcp"] {
        let request = http::Request::post(other).body(bytes::Bytes::new()).unwrap();
        client.send(request).await.unwrap();
        let seen = world.inner().log.last().unwrap().clone();
        assert_eq!((seen.url.as_str(), seen.header("authorization")), (other, None));
    }
    // Another server that refuses does not start a login, either.
    world.rule(|seen| seen.url.starts_with("https://other").then(|| refuse(401, "Bearer")));
    let request = http::Request::post("https://other.example/mcp").body(bytes::Bytes::new()).unwrap();
    assert_eq!(client.send(request).await.unwrap().status(), 401);
    assert_eq!(world.inner().pages.len(), 1);
}

#[tokio::test]
async fn line_425_the_token_is_in_the_header_of_every_request() {
    let world = World::new();
    let client = world.client(&world.person());
    for _ in 0..3 {
        assert_eq!(world.call(&client).await.unwrap(), 200);
    }
    let calls: Vec<_> = world.seen("/mcp").into_iter().filter(|seen| seen.url == SERVER).collect();
    let shown: Vec<_> = calls.iter().map(|seen| seen.header("authorization")).collect();
    assert_eq!(shown, [None, Some("Bearer token-1"), Some("Bearer token-1"), Some("Bearer token-1")]);
    assert!(world.inner().log.iter().all(|seen| !seen.url.contains("token-1")));
    assert!(calls[1].headers["authorization"].is_sensitive());
}

/// What must not be seen is in no error and in nothing that can be printed.
#[tokio::test]
async fn line_432_secrets_are_not_shown() {
    let world = World::new();
    let secret = "hunter2";
    let oauth = world.person().registered("me", couplet_auth::Secret::new(secret));
    world.server_says("token_endpoint_auth_methods_supported", json!(["client_secret_post"]));
    let client = world.client(&oauth);
    assert_eq!(world.call(&client).await.unwrap(), 200);
    assert!(!format!("{oauth:?}").contains(secret));
    // An answer that cannot be read, with the secret and a token in it.
    world.rule(|seen| {
        let garbage = format!("{{\"access_token\": \"stolen\", {}", seen.body);
        seen.url.ends_with("/token").then(|| http::Response::new(garbage.into()))
    });
    world.revoke();
    let error = world.call(&client).await.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(secret) && !shown.contains("stolen") && !shown.contains("code"), "{shown}");
}

#[tokio::test]
async fn a_token_that_is_none_is_refused() {
    for (answer, expected) in [
        (json!({ "access_token": "a", "token_type": "mac" }), "type `mac`"),
        (json!({ "access_token": "a" }), "type ``"),
        (json!({ "access_token": "a\r\nx: y", "token_type": "Bearer" }), "no valid token"),
        (json!({ "access_token": "", "token_type": "Bearer" }), "no valid token"),
        (json!({ "token_type": "Bearer" }), "no valid token"),
        (json!([]), "cannot be parsed"),
    ] {
        let world = World::new();
        world.rule(move |seen| seen.url.ends_with("/token").then(|| crate::world::reply(200, &answer)));
        let error = world.once(&world.person()).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// A secret is sent where it is meant to go, and nowhere else.
#[tokio::test]
async fn redirects_are_not_followed_with_secrets() {
    for place in ["/token", "/register"] {
        let world = World::new();
        world.rule(move |seen| {
            let answer = http::Response::builder().status(307).header("location", "https://evil.example/token");
            seen.url.ends_with(place).then(|| answer.body(bytes::Bytes::new()).unwrap())
        });
        world.once(&world.person()).await.unwrap_err();
        assert!(world.inner().log.iter().all(|seen| !seen.url.contains("evil")));
    }
}
