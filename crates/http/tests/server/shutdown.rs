//! The end of an endpoint: what runs is finished, what waits is told.

use serde_json::json;

use crate::support::{POLLING, Session, alone, endpoint, initialize, request, send};

#[tokio::test(start_paused = true)]
async fn what_runs_is_finished_and_streams_are_told() {
    let (endpoint, seen) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let mut get = session.get(None).await;
    get.body.event().await.unwrap();
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let mut listen = send(&endpoint, alone("subscriptions/listen", listen, &[])).await;
    listen.body.message().await.unwrap();
    let mut calls =
        [session.tool(1, "slow").await, send(&endpoint, alone("tools/call", json!({ "name": "slow" }), &[])).await];
    endpoint.shut_down();
    assert_eq!(get.body.event().await, None);
    let rest = listen.body.messages().await;
    assert_eq!(rest[0]["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "{rest:?}");
    for call in &mut calls {
        let messages = call.body.messages().await;
        assert_eq!(messages.last().unwrap()["result"]["content"][0]["text"], "done");
    }
    assert_eq!((seen.finished(), seen.dropped()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn nothing_new_is_taken() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    endpoint.shut_down();
    let opening = send(&endpoint, request("POST", &[], initialize(POLLING).to_string())).await;
    let list = send(&endpoint, alone("tools/list", json!({}), &[])).await;
    for reply in [opening, list, session.tool(1, "hello").await, session.get(None).await, session.delete().await] {
        assert!(reply.header("retry-after").is_some());
        assert_eq!(reply.status, 503);
        let error = reply.json().await;
        assert_eq!(error["error"]["code"], -32603);
        assert!(error["error"]["message"].as_str().unwrap().contains("shutting down"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_given_up() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let mut reply = session.tool(1, "ask").await;
    let question = reply.body.message().await.unwrap();
    let before = tokio::time::Instant::now();
    endpoint.shut_down();
    // The call fails at once instead of being cut off later.
    let messages = reply.body.messages().await;
    assert_eq!((messages.len(), &messages[0]["id"]), (1, &json!(1)), "{messages:?}");
    assert!(messages[0]["error"].is_object() || messages[0]["result"]["isError"] == true, "{messages:?}");
    assert!(before.elapsed().is_zero());
    // An answer that comes too late hears why.
    let result = json!({ "action": "accept", "content": { "yes": true } });
    let late = session.post(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).await;
    assert_eq!((late.status.as_u16(), late.code().await), (503, -32603));
}
