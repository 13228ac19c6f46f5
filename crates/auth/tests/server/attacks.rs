//! What was done to other implementations.

use couplet_auth::server::Issuer;
use couplet_core::ErrorKind;
use couplet_http::server::Endpoint;
use couplet_server::{Server, tool};
use couplet_tasks::{Task, TaskTool, Tasks};
use couplet_testing::auth::AuthServer;
use serde_json::{Value, json};

use crate::support::{
    RESOURCE, STATELESS, VERSIONS, ask, both, call, call_in, endpoint, open, request, send, verifier,
};

/// Whoever knows a session's id and is somebody else finds nothing there.
#[tokio::test]
async fn line_439_a_session_is_no_proof() {
    for version in &VERSIONS[..3] {
        let (auth, endpoint) = both().await;
        let alices = auth.token(RESOURCE, "files:read");
        let session = open(&endpoint, version, &alices).await.unwrap();
        auth.log_in("eve");
        let eves = auth.token(RESOURCE, "files:read files:write");
        // The same person with another client is somebody else as well.
        let other_client = auth.token_with(json!({ "sub": "alice", "client_id": "evil", "aud": RESOURCE }));
        for (token, status) in [(Some(&eves), 404), (Some(&other_client), 404), (None, 401)] {
            let bearer = token.map(|token| format!("Bearer {token}"));
            let mut headers = vec![("mcp-session-id", &*session)];
            headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
            let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
            for (method, body) in [("POST", &ping), ("GET", &Value::Null), ("DELETE", &Value::Null)] {
                assert_eq!(
                    send(&endpoint, request(method, "/mcp", &headers, body)).await.status,
                    status,
                    "{version}: {method}"
                );
            }
        }
        assert_eq!(
            call_in(&endpoint, Some(&session), "read", &alices).await.status,
            200,
            "{version}: it is still hers"
        );
    }
}

/// A token that may do less does not do more because the session was opened with one that may.
#[tokio::test]
async fn attack_weaker_token_of_the_same_person() {
    for version in VERSIONS {
        let (auth, endpoint) = both().await;
        let [strong, weak] = ["files:read files:write", "files:read"].map(|scope| auth.token(RESOURCE, scope));
        let session = open(&endpoint, version, &strong).await;
        for (token, status) in [(&strong, 200), (&weak, 403), (&strong, 200)] {
            assert_eq!(call_in(&endpoint, session.as_deref(), "write", token).await.status, status, "{version}");
        }
    }
}

/// A task is there for whoever began it.
#[tokio::test]
async fn line_384_tasks_of_others() {
    let auth = AuthServer::start().await.unwrap();
    let server: Server =
        Server::new("s", "1").extension(Tasks::in_memory()).tool(tool("work", || "done").task(Task::required()));
    let endpoint = Endpoint::new(server.build()).authorize(verifier(&auth));
    let alices = auth.token(RESOURCE, "");
    auth.log_in("eve");
    let eves = auth.token(RESOURCE, "");
    let ask = async |token: &str, method: &str, params: Value, name: &str| {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientCapabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } },
        });
        let bearer = format!("Bearer {token}");
        let headers = [
            ("mcp-protocol-version", STATELESS),
            ("mcp-method", method),
            ("mcp-name", name),
            ("authorization", &bearer),
        ];
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        send(&endpoint, request("POST", "/mcp", &headers, &message)).await.json()
    };
    let made = ask(&alices, "tools/call", json!({ "name": "work" }), "work").await;
    let id = made["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let params = json!({ "taskId": id, "inputResponses": {} });
        let answer = ask(&eves, method, params.clone(), &id).await;
        let unknown = ask(&eves, method, json!({ "taskId": "unknown", "inputResponses": {} }), "unknown").await;
        assert_eq!(answer["error"]["code"], unknown["error"]["code"], "{method}: {answer}");
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
    }
    let hers = ask(&alices, "tasks/get", json!({ "taskId": id }), &id).await;
    assert_eq!(hers["result"]["taskId"], *id, "{hers}");
}

/// Whoever signs with a key of their own, and says where it is, is not believed, nor is anybody asked.
#[tokio::test]
async fn attack_keys_in_the_header() {
    let (auth, endpoint) = both().await;
    assert_eq!(ask(&endpoint, "whoami", &auth.token(RESOURCE, "")).await.status, 200);
    let evil = AuthServer::start().await.unwrap();
    let keys = format!("{}/jwks", evil.issuer());
    let set = couplet_testing::auth::fetch(&keys).await.unwrap().json();
    let real = couplet_testing::auth::fetch(&format!("{}/jwks", auth.issuer())).await.unwrap().json();
    let claims = json!({ "iss": auth.issuer(), "aud": RESOURCE });
    let before = evil.requests("/jwks").len();
    for header in [
        json!({ "jku": keys }),
        json!({ "x5u": keys }),
        json!({ "jwk": set["keys"][0] }),
        json!({ "kid": real["keys"][0]["kid"] }),
        json!({ "kid": real["keys"][0]["kid"], "jku": keys, "jwk": set["keys"][0] }),
        json!({ "kid": null, "jwk": set["keys"][0] }),
        json!({ "kid": "../../../../dev/null" }),
        json!({ "kid": "' OR 1=1 --" }),
    ] {
        assert_eq!(
            ask(&endpoint, "whoami", &evil.token_of(header.clone(), claims.clone())).await.status,
            401,
            "{header}"
        );
    }
    assert_eq!(evil.requests("/jwks").len(), before, "nobody asks the attacker");
    // A token of the attacker's own issuer, however good it is there.
    assert_eq!(ask(&endpoint, "whoami", &evil.token(RESOURCE, "")).await.status, 401);
    assert_eq!(evil.requests("/jwks").len(), before);
}

/// The public key is no shared secret.
#[tokio::test]
async fn attack_confused_algorithms() {
    let (auth, endpoint) = both().await;
    for alg in ["HS256", "HS384", "HS512", "none", "NONE", "nOnE", "ES256K", "A128KW"] {
        let token = auth.token_of(json!({ "alg": alg }), json!({ "aud": RESOURCE }));
        let unsigned = format!("{}.", token.rsplit_once('.').unwrap().0);
        for token in [token, unsigned] {
            assert_eq!(ask(&endpoint, "whoami", &token).await.status, 401, "{alg}");
        }
    }
}

/// Nothing that somebody puts into a request lets them in, but the one header that does.
#[tokio::test]
async fn attack_headers_of_gateways() {
    let (_auth, endpoint) = both().await;
    for header in ["x-forwarded-user", "x-user", "x-authenticated", "remote-user", "x-internal", "proxy-authorization"]
    {
        assert_eq!(send(&endpoint, call("whoami", &[(header, "alice")])).await.status, 401, "{header}");
    }
}

/// Two who ask at the same time each hear what is theirs.
#[tokio::test]
async fn attack_answers_of_others() {
    for version in VERSIONS {
        let (auth, endpoint) = both().await;
        let mut people = Vec::new();
        for name in ["alice", "bob", "carol"] {
            auth.log_in(name);
            let token = auth.token(RESOURCE, "");
            people.push((name, open(&endpoint, version, &token).await, token));
        }
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..30 {
            for (name, session, token) in people.clone() {
                let endpoint = endpoint.clone();
                asking.spawn(
                    async move { (name, call_in(&endpoint, session.as_deref(), "whoami", &token).await.text()) },
                );
            }
        }
        while let Some(asked) = asking.join_next().await {
            let (name, heard) = asked.unwrap();
            assert_eq!(heard, format!("{name} by test"), "{version}");
        }
    }
}

/// Nothing that somebody sends comes back in a header, or in what is said about it.
#[tokio::test]
async fn line_432_secrets_are_not_shown() {
    let (auth, endpoint) = both().await;
    for token in [auth.token_with(json!({ "aud": "https://SECRET.example" })), "SECRET-SECRET".to_owned()] {
        let reply = ask(&endpoint, "whoami", &token).await;
        let shown = format!("{:?} {}", reply.headers, reply.body);
        assert_eq!(reply.status, 401);
        assert!(!shown.contains("SECRET") && !shown.contains(&token), "{shown}");
    }
    let issuer = Issuer::new("https://login.example.com").introspect("client", "SECRET");
    assert!(!format!("{issuer:?}").contains("SECRET"));
    assert!(!format!("{:?}", verifier(&auth)).contains("SECRET"));
    let error =
        couplet_auth::server::Verifier::new("https://user:SECRET@mcp.example.com", "https://a.example").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

/// A token for one server is of no use at another that believes the same issuer.
#[tokio::test]
async fn line_437_tokens_of_other_servers() {
    let auth = AuthServer::start().await.unwrap();
    let here = endpoint(verifier(&auth));
    let there = couplet_auth::server::Verifier::new("https://other.example/mcp", auth.issuer()).unwrap();
    let there = endpoint(there);
    let [ours, theirs] = [RESOURCE, "https://other.example/mcp"].map(|resource| auth.token(resource, ""));
    for (endpoint, token, status) in
        [(&here, &ours, 200), (&here, &theirs, 401), (&there, &theirs, 200), (&there, &ours, 401)]
    {
        assert_eq!(ask(endpoint, "whoami", token).await.status, status);
    }
}
