//! The duties of a server, line by line.

use std::sync::{Arc, Mutex};

use ::http::{header, request::Parts};
use couplet_auth::server::Tokens;
use couplet_client::Client;
use couplet_core::{BoxFuture, Caller};
use couplet_http::server::{Authorize, Challenge, Endpoint, HttpTransport};
use couplet_proxy::Proxy;
use couplet_server::{Ctx, Server, tool};
use couplet_testing::{Wire, auth::AuthServer, types::ProtocolVersion};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::{METADATA, RESOURCE, VERSIONS, ask, both, call, call_in, endpoint, open, request, send, verifier};

/// Over HTTP nobody gets in without a token; on a pipe there are none, and what needs one says so.
#[tokio::test]
async fn line_386_http_alone() {
    let (_auth, endpoint) = both().await;
    assert_eq!(send(&endpoint, call("whoami", &[])).await.status, 401);
    for &version in ProtocolVersion::ALL {
        let open: Server =
            Server::new("s", "1").tool(tool("open", || "open")).tool(tool("read", || "no").scopes(["a", "b"]));
        let mut wire = Wire::new(open.build(), version);
        wire.open().await;
        let answer = wire.request("tools/call", json!({ "name": "open" })).await;
        assert_eq!(answer["result"]["content"][0]["text"], "open", "{version}");
        let answer = wire.request("tools/call", json!({ "name": "read" })).await;
        assert_eq!(answer["error"]["code"], -32600, "{version}: {answer}");
        assert_eq!(answer["error"]["data"]["scopes"], json!(["a", "b"]), "{version}: {answer}");
    }
}

#[tokio::test]
async fn line_387_metadata_of_the_server() {
    let auth = AuthServer::start().await.unwrap();
    let verifier = verifier(&auth)
        .scopes(["mcp"])
        .scopes_supported(["mcp", "files:read", "files:write"])
        .name("Files")
        .documentation("https://mcp.example.com/docs");
    let endpoint = endpoint(verifier);
    let document = |path: &str| request("GET", path, &[("accept", "application/json")], &Value::Null);
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"] {
        let reply = send(&endpoint, document(path)).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")), "{path}");
        let want = json!({
            "resource": RESOURCE,
            "authorization_servers": [auth.issuer()],
            "scopes_supported": ["mcp", "files:read", "files:write"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Files",
            "resource_documentation": "https://mcp.example.com/docs",
            "dpop_signing_alg_values_supported": ["ES256", "ES384", "EdDSA", "PS256", "RS256"],
        });
        assert_eq!(reply.json(), want, "{path}");
    }
    for path in ["/.well-known/oauth-protected-resource/other", "/.well-known/oauth-protected-resource/"] {
        assert_eq!(send(&endpoint, document(path)).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn line_390_challenges_lead_to_the_metadata() {
    let (_auth, endpoint) = both().await;
    let reply = send(&endpoint, call("whoami", &[])).await;
    assert_eq!(reply.challenge(), format!("Bearer resource_metadata=\"{METADATA}\""));
    // The same path, on this server.
    let path = METADATA.strip_prefix("https://mcp.example.com").unwrap();
    assert_eq!(send(&endpoint, request("GET", path, &[], &Value::Null)).await.json()["resource"], RESOURCE);
}

#[tokio::test]
async fn line_412_challenges_name_scopes() {
    let auth = AuthServer::start().await.unwrap();
    let endpoint = endpoint(verifier(&auth).scopes(["mcp"]));
    let metadata = format!("resource_metadata=\"{METADATA}\"");
    let missing = send(&endpoint, call("whoami", &[])).await;
    assert_eq!((missing.status, missing.challenge()), (401, &*format!("Bearer scope=\"mcp\", {metadata}")));
    let wrong = ask(&endpoint, "whoami", "abc").await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.challenge().starts_with("Bearer error=\"invalid_token\", error_description=\""));
    assert!(wrong.challenge().ends_with(&format!(", scope=\"mcp\", {metadata}")), "{}", wrong.challenge());
    let why = "error=\"insufficient_scope\", error_description=\"the token lacks a required scope\"";
    for version in VERSIONS {
        let good = auth.token(RESOURCE, "mcp");
        let session = open(&endpoint, version, &good).await;
        for (scope, tool, want) in [
            ("", "whoami", Some("mcp")),
            ("mcp", "whoami", None),
            ("mcp", "read", Some("mcp files:read")),
            ("mcp files:read", "read", None),
            ("mcp files:read", "write", Some("mcp files:read files:write")),
            ("mcp files:read files:write", "write", None),
        ] {
            let reply = call_in(&endpoint, session.as_deref(), tool, &auth.token(RESOURCE, scope)).await;
            match want {
                None => assert_eq!(reply.status, 200, "{version}: {scope} {tool}"),
                Some(want) => {
                    let challenge = format!("Bearer {why}, scope=\"{want}\", {metadata}");
                    assert_eq!((reply.status, reply.challenge()), (403, &*challenge), "{version}: {scope} {tool}");
                }
            }
        }
    }
}

#[tokio::test]
async fn line_413_hierarchies() {
    let auth = AuthServer::start().await.unwrap();
    let verifier = verifier(&auth)
        .implies("admin", ["files:write", "admin"])
        .implies("files:write", ["files:read"])
        .implies("files:read", ["files:read"]);
    let endpoint = endpoint(verifier);
    for (scope, tool, status) in [
        ("admin", "write", 200),
        ("files:write", "write", 200),
        ("files:write", "read", 200),
        ("files:read", "write", 403),
        ("adminx", "read", 403),
    ] {
        assert_eq!(ask(&endpoint, tool, &auth.token(RESOURCE, scope)).await.status, status, "{scope} {tool}");
    }
    let refused = ask(&endpoint, "write", &auth.token(RESOURCE, "")).await;
    assert!(refused.challenge().contains("scope=\"files:read files:write\""), "all at once: {}", refused.challenge());
}

/// What is asked for depends on the operation, and not on what somebody has already.
#[tokio::test]
async fn line_416_challenges_are_consistent() {
    let (auth, endpoint) = both().await;
    let mut seen = std::collections::BTreeSet::new();
    for scope in ["", "files:read", "files:write", "other"] {
        for _ in 0..2 {
            seen.insert(ask(&endpoint, "write", &auth.token(RESOURCE, scope)).await.challenge().to_owned());
        }
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
}

/// A token anywhere but in its header is not looked at.
#[tokio::test]
async fn line_425_not_in_the_address() {
    let (auth, endpoint) = both().await;
    let token = auth.token(RESOURCE, "");
    for uri in [format!("/mcp?access_token={token}"), format!("/mcp?authorization=Bearer+{token}")] {
        let mut request = call("whoami", &[("cookie", &format!("access_token={token}")), ("x-access-token", &token)]);
        *request.uri_mut() = uri.parse().unwrap();
        let reply = send(&endpoint, request).await;
        assert_eq!((reply.status, reply.challenge().contains("error")), (401, false), "as if there were none");
    }
}

#[tokio::test]
async fn line_427_tokens_are_validated_at_every_request() {
    for version in VERSIONS {
        let (auth, endpoint) = both().await;
        let good = auth.token(RESOURCE, "");
        let session = open(&endpoint, version, &good).await;
        let expired = auth.token_with(json!({ "aud": RESOURCE, "exp": 1 }));
        for (token, status) in [(&*good, 200), (&expired, 401), ("abc", 401), (&good, 200)] {
            let reply = call_in(&endpoint, session.as_deref(), "whoami", token).await;
            assert_eq!(reply.status, status, "{version}: {}", reply.body);
        }
        let Some(session) = session else { continue };
        for method in ["GET", "DELETE", "POST"] {
            let headers = [("mcp-session-id", &*session), ("authorization", &format!("Bearer {expired}"))];
            assert_eq!(
                send(&endpoint, request(method, "/mcp", &headers, &Value::Null)).await.status,
                401,
                "{version}: {method}"
            );
        }
    }
}

#[tokio::test]
async fn line_428_tokens_of_others() {
    for version in VERSIONS {
        let (auth, endpoint) = both().await;
        let session = open(&endpoint, version, &auth.token(RESOURCE, "")).await;
        for audience in ["https://mcp.example.com", "https://mcp.example.com/mcp/", "https://other.example/mcp", ""] {
            let reply = call_in(&endpoint, session.as_deref(), "whoami", &auth.token(audience, "")).await;
            assert_eq!(reply.status, 401, "{version}: {audience}");
            assert!(reply.challenge().contains("the token is for another audience"), "{version}: {audience}");
        }
    }
}

/// Nothing that answers a call has the token, and a proxy has its own way to whom it asks.
#[tokio::test]
async fn line_429_tokens_are_not_passed_on() {
    /// Notes what everybody says.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<Vec<Option<String>>>>);
    impl Authorize for Notes {
        fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
            let said = request.headers.get(header::AUTHORIZATION).map(|said| said.to_str().unwrap().to_owned());
            self.0.lock().unwrap().push(said);
            Box::pin(std::future::ready(Ok(None)))
        }
    }
    let notes = Notes::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let upstream: Server =
        Server::new("s", "1").tool(tool("seen", |ctx: Ctx| format!("{:?} {:?}", ctx.call(), ctx.call().meta())));
    let transport = HttpTransport::from_listener(listener);
    let shutdown = transport.shutdown();
    let door = notes.clone();
    let serving = tokio::spawn(upstream.serve(transport.endpoint(|endpoint| endpoint.authorize(door))));
    let proxy = Proxy::connect(Client::new("proxy", "1"), couplet_http::connect(address)).await.unwrap();

    let auth = AuthServer::start().await.unwrap();
    let endpoint = Endpoint::new(proxy).authorize(verifier(&auth));
    let token = auth.token(RESOURCE, "");
    let reply = ask(&endpoint, "seen", &token).await;
    assert_eq!(reply.status, 200);
    assert!(!reply.body.contains(&token) && !reply.text().is_empty());
    let said = notes.0.lock().unwrap().clone();
    assert!(!said.is_empty() && said.iter().all(Option::is_none), "{said:?}");
    shutdown.trigger();
    serving.await.unwrap().unwrap();
    // Nor does a handler of the server itself see it.
    let here: Server = Server::new("s", "1").tool(tool("seen", |ctx: Ctx| format!("{:?}", ctx.call())));
    let reply = ask(&Endpoint::new(here.build()).authorize(verifier(&auth)), "seen", &token).await;
    assert!(reply.text().contains("alice") && !reply.body.contains(&token), "{}", reply.body);
}

#[tokio::test]
async fn line_430_statuses() {
    let (auth, endpoint) = both().await;
    let token = auth.token(RESOURCE, "");
    for (headers, status, error) in [
        (vec![], 401, None),
        (vec![format!("Basic {token}")], 401, None),
        (vec!["Bearer abc".to_owned()], 401, Some("invalid_token")),
        (vec!["Bearer a b".to_owned()], 400, Some("invalid_request")),
        (vec![format!("Bearer {token}"), format!("Bearer {token}")], 400, Some("invalid_request")),
        (vec![format!("Bearer {token}")], 403, Some("insufficient_scope")),
    ] {
        let headers: Vec<_> = headers.iter().map(|value| ("authorization", value.as_str())).collect();
        let reply = send(&endpoint, call("write", &headers)).await;
        assert_eq!(reply.status, status, "{headers:?}");
        let named = reply.challenge().split_once("error=\"").map(|(_, rest)| rest.split_once('"').unwrap().0);
        assert_eq!(named, error, "{headers:?}");
    }
}

/// That a client may renew its tokens is between it and the issuer.
#[tokio::test]
async fn line_433_offline_access_is_not_asked_for() {
    let auth = AuthServer::start().await.unwrap();
    let verifier = verifier(&auth).scopes(["mcp", "offline_access"]).scopes_supported(["mcp", "offline_access"]);
    assert!(!String::from_utf8(verifier.metadata().to_vec()).unwrap().contains("offline_access"));
    let endpoint = endpoint(verifier);
    assert!(!send(&endpoint, call("whoami", &[])).await.challenge().contains("offline_access"));
    assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "mcp")).await.status, 200);
}

/// A server on this machine that everybody on it could reach asks for a token.
#[tokio::test]
async fn line_442_local_servers() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let transport = HttpTransport::from_listener(listener)
        .endpoint(|endpoint| endpoint.authorize(Tokens::new().allow("only-for-me", Caller::new("me"))));
    let shutdown = transport.shutdown();
    let hello: Server = Server::new("s", "1").tool(tool("hello", || "hello"));
    let serving = tokio::spawn(hello.serve(transport));
    let error = Client::new("c", "1").connect(couplet_http::connect(&*address)).await.err().map(|error| error.kind());
    assert_eq!(error, Some(couplet_core::ErrorKind::Auth));
    let client = Client::new("c", "1").connect(couplet_http::connect(&*address).bearer("only-for-me")).await.unwrap();
    assert_eq!(client.call("hello", ()).await.unwrap().text(), "hello");
    shutdown.trigger();
    drop(client);
    serving.await.unwrap().unwrap();
}
