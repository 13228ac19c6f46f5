//! The callers of forwarded requests.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use couplet_core::{BoxFuture, Caller};
use couplet_http::server::{Authorize, Challenge, Endpoint, Replica};
use http::{StatusCode, request::Parts};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    member::{KEY, Member, store},
    support::{POLLING, Reply, call, initialize, request, send},
};

#[derive(Serialize, Deserialize)]
struct Person {
    name: String,
}

/// Knows users by their tokens, and counts how often it is asked.
struct Tokens(Arc<AtomicUsize>);

impl Authorize for Tokens {
    fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let token = request.headers.get("authorization").and_then(|token| token.to_str().ok());
        let caller = match token.and_then(|token| token.strip_prefix("Bearer ")) {
            Some(name) => Ok(Some(Arc::new(Caller::new(name).with_claims(Person { name: name.to_owned() })))),
            None => Err(Challenge::new(StatusCode::UNAUTHORIZED, "log in")),
        };
        Box::pin(std::future::ready(caller))
    }
}

fn with_tokens(asked: &Arc<AtomicUsize>, claims: bool) -> impl Fn(Endpoint, String) -> Endpoint + use<> {
    let asked = asked.clone();
    move |endpoint, url| {
        let replica = Replica::new(url, KEY).unwrap();
        let replica = if claims { replica.claims::<Person>() } else { replica };
        endpoint.authorize(Tokens(asked.clone())).replica(replica)
    }
}

async fn by(user: &str, endpoint: &Endpoint, session: Option<&str>, message: &Value) -> Reply {
    let token = format!("Bearer {user}");
    let mut headers = vec![("authorization", &*token)];
    headers.extend(session.map(|id| ("mcp-session-id", id)));
    send(endpoint, request("POST", &headers, message.to_string())).await
}

#[tokio::test]
async fn the_owner_trusts_the_replica_that_has_authorized() {
    let store = store();
    let asked = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    let one = Member::with(&store, with_tokens(&asked[0], true)).await;
    let two = Member::with(&store, with_tokens(&asked[1], true)).await;
    let opened = by("alice", &one.endpoint, None, &initialize(POLLING)).await;
    let id = opened.header("mcp-session-id").unwrap().to_owned();
    let ping = call(1, "ping", &json!({}));
    assert_eq!(by("alice", &two.endpoint, Some(&id), &ping).await.json().await["result"], json!({}));
    let sent = one.wire.last();
    assert!(sent.headers().get("authorization").is_none(), "the token stays where it was checked");
    assert!(sent.headers().get("mcp-session-id").is_some());
    // Another user does not get as far as the owner.
    assert_eq!(by("bob", &two.endpoint, Some(&id), &ping).await.status, 404);
    let anonymous = request("POST", &[("mcp-session-id", &*id)], ping.to_string());
    assert_eq!(send(&two.endpoint, anonymous).await.status, 401);
    let asked = asked.map(|asked| asked.load(Ordering::SeqCst));
    assert_eq!((one.wire.count(), asked), (1, [1, 3]), "the owner's authorizer saw only what came to it first");
}

#[tokio::test]
async fn claims_that_cannot_be_forwarded_are_not_dropped() {
    let store = store();
    let asked = Arc::new(AtomicUsize::new(0));
    let one = Member::with(&store, with_tokens(&asked, true)).await;
    let two = Member::with(&store, with_tokens(&asked, false)).await;
    let opened = by("alice", &one.endpoint, None, &initialize(POLLING)).await;
    let id = opened.header("mcp-session-id").unwrap().to_owned();
    assert_eq!(by("alice", &two.endpoint, Some(&id), &call(1, "ping", &json!({}))).await.status, 500);
    assert_eq!(one.wire.count(), 0);
    // The receiver does not drop them either.
    let opened = by("alice", &two.endpoint, None, &initialize(POLLING)).await;
    let id = opened.header("mcp-session-id").unwrap().to_owned();
    assert_eq!(by("alice", &one.endpoint, Some(&id), &call(1, "ping", &json!({}))).await.status, 500);
    assert_eq!(two.wire.count(), 1);
}
