//! Requests that are not wanted any more.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::Filter;
use serde_json::json;
use tokio::time::timeout;

use crate::mock::{Mock, Step, empty, event, send, stream, watched};

const SOON: Duration = Duration::from_millis(100);

#[tokio::test(start_paused = true)]
async fn hanging_up_cancels_a_request_that_stands_alone() {
    let left = Arc::new(AtomicUsize::new(0));
    let mock = Mock::modern({
        let left = left.clone();
        move |_| watched([send(": wait\n\n"), Step::Hang], left.clone())
    });
    let client = mock.connect().await;
    assert!(timeout(SOON, client.call("slow", ()).into_future()).await.is_err());
    tokio::time::sleep(SOON).await;
    assert_eq!(left.load(Ordering::SeqCst), 1);
    assert_eq!(mock.asked(), ["server/discover", "tools/call"]);
}

#[tokio::test(start_paused = true)]
async fn line_121_in_a_session_the_server_is_told() {
    let left = Arc::new(AtomicUsize::new(0));
    let mock = Mock::legacy({
        let left = left.clone();
        move |seen| match seen.what() {
            "tools/call" => watched([Step::Hang], left.clone()),
            "GET" => empty(405),
            _ => empty(202),
        }
    });
    let client = mock.connect().await;
    assert!(timeout(SOON, client.call("slow", ()).into_future()).await.is_err());
    tokio::time::sleep(SOON).await;
    let cancelled = mock.last("notifications/cancelled");
    assert_eq!(cancelled.body["params"]["requestId"], mock.last("tools/call").body["id"]);
    assert_eq!(cancelled.header("mcp-session-id"), Some("s1"));
    assert_eq!(left.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_a_stream_that_goes_on() {
    let left = Arc::new(AtomicUsize::new(0));
    let mock = Mock::modern({
        let left = left.clone();
        move |seen| {
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": seen.body["id"] });
            let note = |method: &str, extra| {
                let mut params = json!({ "_meta": meta });
                if method.ends_with("acknowledged") {
                    params["notifications"] = extra;
                }
                event(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            };
            let steps = [
                note("notifications/subscriptions/acknowledged", json!({ "toolsListChanged": true })),
                Step::Wait(5000),
                note("notifications/tools/list_changed", json!(null)),
                Step::Hang,
            ];
            watched(steps, left.clone())
        }
    });
    let client = mock.connect().await;
    let mut changes = client.listen(Filter::new().tools()).await.unwrap();
    assert!(changes.next().await.is_some());
    assert_eq!(left.load(Ordering::SeqCst), 0);
    drop(changes);
    tokio::time::sleep(SOON).await;
    assert_eq!(left.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn what_waits_when_the_connection_is_closed_fails() {
    let mock = Mock::modern(|_| stream([Step::Hang]));
    let client = mock.connect().await;
    let call = tokio::spawn(client.call("slow", ()).into_future());
    tokio::time::sleep(SOON).await;
    client.close().await.unwrap();
    assert!(call.await.unwrap().unwrap_err().is_closed());
    assert!(client.call("later", ()).await.unwrap_err().is_closed());
}
