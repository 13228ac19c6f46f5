//! Authorizers that are made of others.

use couplet_auth::server::Tokens;
use couplet_core::Caller;
use couplet_http::server::{Authorize, Challenge, Endpoint};
use couplet_server::{Server, tool};
use couplet_testing::auth::AuthServer;
use http::{StatusCode, request::Parts};
use serde_json::Value;

use crate::support::{METADATA, RESOURCE, ask, call, request, send, verifier};

fn endpoint(authorize: impl Authorize) -> Endpoint {
    let server: Server = Server::new("test", "1.0.0").tool(tool("write", || "written").scopes(["files:write"]));
    Endpoint::new(server.build()).authorize(authorize)
}

#[tokio::test]
async fn a_fixed_token_or_one_of_an_authorization_server() {
    let auth = AuthServer::start().await.unwrap();
    let tokens = || Tokens::new().allow("build-machine-token", Caller::new("robot"));
    for endpoint in [endpoint(tokens().or(verifier(&auth))), endpoint(verifier(&auth).or(tokens()))] {
        assert_eq!(ask(&endpoint, "write", "build-machine-token").await.status, 403);
        assert_eq!(ask(&endpoint, "write", &auth.token(RESOURCE, "files:write")).await.text(), "written");
        let refused = ask(&endpoint, "write", "somebody-elses").await;
        assert_eq!(refused.status, 401);
        let asked: Vec<_> = refused.headers.get_all("www-authenticate").iter().map(|h| h.to_str().unwrap()).collect();
        assert!(asked.iter().any(|challenge| challenge.contains(METADATA)), "{asked:?}");
        let document = request("GET", "/.well-known/oauth-protected-resource/mcp", &[], &Value::Null);
        assert_eq!(send(&endpoint, document).await.status, 200);
    }
}

#[tokio::test]
#[allow(clippy::result_large_err, reason = "a function that decides returns what the trait does")]
async fn a_function_decides() {
    let gateway = |request: &Parts| match request.headers.get("x-user").and_then(|user| user.to_str().ok()) {
        Some("mallory") => Err(Challenge::new(StatusCode::FORBIDDEN, "not you")),
        Some(user) => Ok(Some(Caller::new(user).with_scopes(["files:write"]))),
        None => Ok(None),
    };
    let alone = endpoint(gateway);
    for (user, expected) in [("alice", 200), ("mallory", 403)] {
        assert_eq!(send(&alone, call("write", &[("x-user", user)])).await.status, expected, "{user}");
    }
    assert_eq!(send(&alone, call("write", &[])).await.status, 401);
    // Whom the first one lets in without a name is not turned away by the second one.
    let tokens = Tokens::new().allow("build-machine-token", Caller::new("robot").with_scopes(["files:write"]));
    let both = endpoint(gateway.or(tokens));
    assert_eq!(ask(&both, "write", "build-machine-token").await.text(), "written");
    assert_eq!(send(&both, call("write", &[("x-user", "alice")])).await.text(), "written");
    assert_eq!(send(&both, call("write", &[])).await.status, 401);
}
