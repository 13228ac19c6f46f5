//! What one principal may cost.

use couplet_http::server::Endpoint;
use serde_json::{Value, json};

use crate::support::{POLLING, Reply, alone, by_user, call, endpoint, initialize, limits, request, send};

/// What somebody who wants too much gets.
async fn is_too_much(reply: Reply) {
    assert!(reply.header("retry-after").is_some());
    assert_eq!((reply.status.as_u16(), reply.code().await), (429, -32600));
}

async fn session(endpoint: &Endpoint, user: &str) -> String {
    let reply = send(endpoint, request("POST", &[("x-user", user)], initialize(POLLING).to_string())).await;
    reply.header("mcp-session-id").unwrap().to_owned()
}

async fn slow(endpoint: &Endpoint, user: &str) -> Reply {
    send(endpoint, alone("tools/call", json!({ "name": "slow" }), &[("x-user", user)])).await
}

#[tokio::test]
async fn requests_are_counted_until_they_are_answered() {
    let (endpoint, _) = endpoint();
    let endpoint = by_user(endpoint.limits(limits(|l| l.requests_per_principal = 2)));
    let first = slow(&endpoint, "alice").await;
    let second = slow(&endpoint, "alice").await;
    assert!(first.is_stream() && second.is_stream());
    is_too_much(slow(&endpoint, "alice").await).await;
    // Others are not concerned, and those whom nobody knows share only what there is in all.
    for user in ["bob", "", "", ""] {
        assert_eq!(send(&endpoint, alone("tools/list", json!({}), &[("x-user", user)])).await.status, 200);
    }
    let _bobs = slow(&endpoint, "bob").await;
    drop(first);
    assert_eq!(slow(&endpoint, "alice").await.status, 200, "one is over");
    let (_nobody, _else, third) = (slow(&endpoint, "").await, slow(&endpoint, "").await, slow(&endpoint, "").await);
    assert_eq!(third.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_session_does_not_hide_what_runs_in_it() {
    let (endpoint, seen) = endpoint();
    let endpoint = by_user(endpoint.limits(limits(|l| l.requests_per_principal = 2)));
    let id = session(&endpoint, "alice").await;
    let headers = [("x-user", "alice"), ("mcp-session-id", &*id)];
    for id in 1..=2 {
        let slow = call(id, "tools/call", &json!({ "name": "slow", "_meta": { "progressToken": id } }));
        // The client hangs up; the call goes on.
        assert!(send(&endpoint, request("POST", &headers, slow.to_string())).await.is_stream());
    }
    is_too_much(send(&endpoint, request("POST", &headers, call(3, "ping", &json!({})).to_string())).await).await;
    is_too_much(slow(&endpoint, "alice").await).await;
    crate::support::eventually(|| seen.finished() == 2).await;
    assert_eq!(slow(&endpoint, "alice").await.status, 200);
}

#[tokio::test]
async fn a_web_framework_can_name_the_address() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint
        .limits(limits(|l| l.requests_per_address = 1))
        .client_ip(|parts| parts.headers.get("x-ip")?.to_str().ok()?.parse().ok());
    let slow = async |address: &str| {
        send(&endpoint, alone("tools/call", json!({ "name": "slow" }), &[("x-ip", address)])).await
    };
    let _open = slow("192.0.2.1").await;
    is_too_much(slow("192.0.2.1").await).await;
    is_too_much(slow("::ffff:192.0.2.1").await).await;
    let others = [slow("192.0.2.2").await, slow("").await, slow("").await];
    assert!(others.iter().all(|reply| reply.status == 200));
}

#[tokio::test]
async fn subscriptions_are_counted() {
    let (endpoint, _) = endpoint();
    let endpoint = by_user(endpoint);
    let listen = async |user: &str| {
        let params = json!({ "notifications": { "toolsListChanged": true } });
        send(&endpoint, alone("subscriptions/listen", params, &[("x-user", user)])).await
    };
    let mut open = Vec::new();
    for _ in 0..16 {
        open.push(listen("alice").await);
    }
    assert!(open.iter().all(Reply::is_stream));
    is_too_much(listen("alice").await).await;
    assert!(listen("bob").await.is_stream());
    open.pop();
    assert!(listen("alice").await.is_stream());
    // They are not requests that are under way.
    assert_eq!(slow(&endpoint, "alice").await.status, 200);
}

#[tokio::test]
async fn streams_are_counted() {
    let (endpoint, _) = endpoint();
    let endpoint = by_user(endpoint.limits(limits(|l| l.streams_per_principal = 2)));
    let get = async |id: &str, user: &str| {
        send(&endpoint, request("GET", &[("x-user", user), ("mcp-session-id", id)], "")).await
    };
    let (alices, bobs) = (session(&endpoint, "alice").await, session(&endpoint, "bob").await);
    let one = get(&alices, "alice").await;
    let _two = slow(&endpoint, "alice").await;
    is_too_much(get(&alices, "alice").await).await;
    is_too_much(slow(&endpoint, "alice").await).await;
    assert!(get(&bobs, "bob").await.is_stream());
    drop(one);
    assert!(get(&alices, "alice").await.is_stream());
}

#[tokio::test]
async fn sessions_of_the_first_transport_are_counted() {
    let (endpoint, _) = endpoint();
    let endpoint = by_user(endpoint.http_sse().limits(limits(|l| l.sessions_per_principal = 1)));
    let open = async |user: &str| send(&endpoint, request("GET", &[("x-user", user)], "")).await;
    let alices = open("alice").await;
    is_too_much(open("alice").await).await;
    assert!(open("bob").await.is_stream());
    drop(alices);
    assert!(open("alice").await.is_stream());
}

#[tokio::test]
async fn a_batch_is_not_a_way_around() {
    let (endpoint, _) = endpoint();
    let endpoint = endpoint.limits(limits(|l| l.requests_per_session = 3));
    let session = crate::support::Session::open(&endpoint, "2025-03-26").await;
    let batch = |size: i64| Value::from_iter((1..=size).map(|id| call(id, "ping", &json!({}))));
    assert_eq!(session.post(&batch(3)).await.status, 200);
    is_too_much(session.post(&batch(4)).await).await;
}
