//! Subscriptions that the service confirms before they are acknowledged.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Call, Change, Description, Hub, Refusals, Reply, Service};
use couplet_http::server::Endpoint;
use couplet_server::ServerHandle;
use couplet_types::RpcError;
use serde_json::json;

use crate::support::{Seen, Session, alone, call, send, server};

/// The time that a confirmation takes.
const TAKES: Duration = Duration::from_secs(20);

/// A service that confirms subscriptions late, and none to `test://refused`.
struct Late(ServerHandle);

impl Service for Late {
    fn describe(&self) -> Arc<Description> {
        self.0.describe()
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        self.0.call(call)
    }

    fn hub(&self) -> &Hub {
        self.0.hub()
    }

    fn subscribing(&self, uris: &BTreeSet<String>) -> Option<BoxFuture<'static, Refusals>> {
        let refused = uris.iter().filter(|uri| *uri == "test://refused").cloned();
        let refused: Refusals = refused.map(|uri| (uri, RpcError::invalid_params("not this one"))).collect();
        Some(Box::pin(async move {
            tokio::time::sleep(TAKES).await;
            refused
        }))
    }
}

fn endpoint() -> (Endpoint, Hub) {
    let server = server(&Seen::default());
    let hub = server.hub().clone();
    (Endpoint::new(Late(server)), hub)
}

#[tokio::test(start_paused = true)]
async fn a_stateless_subscription_is_acknowledged_when_it_is_confirmed() {
    let (endpoint, hub) = endpoint();
    let began = tokio::time::Instant::now();
    let filter = json!({ "notifications": { "resourceSubscriptions": ["test://a", "test://refused"] } });
    let listening = tokio::spawn(async move {
        let mut reply = send(&endpoint, alone("subscriptions/listen", filter, &[])).await;
        let first = reply.body.message().await.unwrap();
        (reply, first, began.elapsed())
    });
    // A change before the acknowledgement is sent after it.
    tokio::time::sleep(TAKES / 2).await;
    hub.send(Change::Updated("test://a".into()));
    let (mut reply, first, took) = listening.await.unwrap();
    assert!(took >= TAKES, "{took:?}");
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"]["resourceSubscriptions"], json!(["test://a"]));
    assert_eq!(reply.body.message().await.unwrap()["params"]["uri"], "test://a");
}

#[tokio::test(start_paused = true)]
async fn a_stateless_subscription_of_which_nothing_is_left_is_an_error() {
    let (endpoint, hub) = endpoint();
    let filter = json!({ "notifications": { "resourceSubscriptions": ["test://refused"] } });
    let mut reply = send(&endpoint, alone("subscriptions/listen", filter, &[])).await;
    let answer = if reply.is_stream() { reply.body.message().await.unwrap() } else { reply.json().await };
    assert_eq!((&answer["id"], &answer["error"]["message"]), (&json!(1), &json!("not this one")));
    assert!(hub.interest().uris.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_session_waits_for_the_confirmation() {
    let (endpoint, hub) = endpoint();
    let session = Session::open(&endpoint, "2025-11-25").await;
    let began = tokio::time::Instant::now();
    for (uri, error) in [("test://a", None), ("test://refused", Some("not this one"))] {
        let reply = session.post(&call(7, "resources/subscribe", &json!({ "uri": uri }))).await;
        let mut reply = reply;
        let answer = if reply.is_stream() { reply.body.message().await.unwrap() } else { reply.json().await };
        assert_eq!(answer["error"]["message"].as_str(), error, "{answer}");
    }
    assert!(began.elapsed() >= 2 * TAKES, "{:?}", began.elapsed());
    assert_eq!(hub.interest().uris, BTreeSet::from(["test://a".to_owned()]));
}
