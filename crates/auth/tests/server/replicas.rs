//! Replicas behind a verifier: the owner of a session sees the caller that another replica has verified.

use std::sync::Arc;

use couplet_auth::server::{Claims, Tokens, Verifier};
use couplet_core::Caller;
use couplet_http::server::{Authorize, Endpoint, HttpTransport, MemorySessions, Replica};
use couplet_server::{Server, ServerHandle, extract::Auth, tool};
use couplet_testing::auth::AuthServer;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot};

use crate::support::{RESOURCE, call_in, open, verifier};

const KEY: [u8; 32] = [7; 32];
const REVISION: &str = "2025-11-25";

/// What a handler knows of its caller.
fn server() -> ServerHandle {
    let whoami = |claims: Auth<Claims>| {
        let department: Option<String> = claims.get("department");
        json!([claims.issuer, claims.subject, claims.scopes, claims.expires, department]).to_string()
    };
    let server: Server = Server::new("test", "1.0.0")
        .tool(tool("whoami", whoami))
        .tool(tool("write", || "written").scopes(["files:write"]));
    server.build()
}

/// A replica with a listener for the others.
async fn replica(store: &Arc<MemorySessions>, authorize: impl Authorize) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (store, (send, configured)) = (store.clone(), oneshot::channel());
    let transport = HttpTransport::from_listener(listener).endpoint(move |endpoint| {
        let replica = Replica::new(url, KEY).unwrap();
        let endpoint = endpoint.sessions(store).replica(replica).authorize(authorize);
        let _ = send.send(endpoint.clone());
        endpoint
    });
    tokio::spawn(server().serve(transport));
    configured.await.unwrap()
}

#[tokio::test]
async fn a_session_is_called_at_another_replica() {
    let auth = AuthServer::start().await.unwrap();
    let fixed = || Tokens::new().allow("build-machine-token", Caller::new("robot").with_scopes(["files:write"]));
    let store = Arc::new(MemorySessions::new());
    let here = replica(&store, verifier(&auth).or(fixed())).await;
    let there = replica(&store, verifier(&auth).or(fixed())).await;
    let expires = couplet_core::clock::unix_seconds() + 600;
    let token = |scope: &str| {
        auth.token_with(json!({
            "iss": auth.issuer(), "aud": RESOURCE, "sub": "alice", "client_id": "app", "exp": expires,
            "scope": scope, "department": "sales",
        }))
    };
    let session = open(&here, REVISION, &token("files:read")).await;
    let session = session.as_deref();
    for endpoint in [&here, &there] {
        let seen: Value =
            serde_json::from_str(&call_in(endpoint, session, "whoami", &token("files:read")).await.text()).unwrap();
        assert_eq!(seen, json!([auth.issuer(), "alice", ["files:read"], expires, "sales"]));
        assert_eq!(call_in(endpoint, session, "write", &token("files:read")).await.status, 403);
        assert_eq!(call_in(endpoint, session, "write", &token("files:write")).await.text(), "written");
        assert_eq!(call_in(endpoint, session, "write", "build-machine-token").await.status, 404, "it is of alice");
    }
    assert_eq!((here.session_count(), there.session_count()), (1, 0), "the session has one owner");
    let session = open(&there, REVISION, "build-machine-token").await;
    assert_eq!(call_in(&here, session.as_deref(), "write", "build-machine-token").await.text(), "written");
    let unknown = call_in(&here, session.as_deref(), "whoami", "build-machine-token").await.json();
    assert_eq!(unknown["error"]["code"], json!(-32603), "the caller has no claims: {unknown}");
}

#[derive(Serialize, Deserialize)]
struct Department(String);

fn mapped(auth: &AuthServer) -> Verifier {
    verifier(auth).map_claims(|claims| claims.get("department").map(Department))
}

#[tokio::test]
async fn claims_of_another_type_are_named_or_the_endpoint_is_not_built() {
    let auth = AuthServer::start().await.unwrap();
    let replica = || Replica::new("http://127.0.0.1:1/mcp", KEY).unwrap();
    let endpoint = || Endpoint::new(server());
    drop(endpoint().authorize(mapped(&auth)).replica(replica().claims::<Department>()));
    drop(endpoint().replica(replica().claims::<Department>()).authorize(mapped(&auth)));
    let attempts: [Box<dyn FnOnce() -> Endpoint>; 3] = [
        Box::new(|| endpoint().authorize(mapped(&auth)).replica(replica())),
        Box::new(|| endpoint().replica(replica()).authorize(mapped(&auth))),
        Box::new(|| endpoint().replica(replica()).authorize(Tokens::new().or(Arc::new(mapped(&auth))))),
    ];
    for attempt in attempts {
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt)).expect_err("it is refused");
        let what = panicked.downcast_ref::<String>().unwrap();
        assert!(
            what.contains("Department` of callers") && what.ends_with("name them with `Replica::claims`"),
            "{what}"
        );
    }
}
