//! Answers, cancellations and the end of a session, sent to another replica than the owner.

use serde_json::{Value, json};

use crate::{
    member::{Member, store},
    support::{POLLING, Session, VERSIONS, call, eventually},
};

/// The answer to a request of the server.
fn accepted(question: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept", "content": { "yes": true } } })
}

#[tokio::test]
async fn an_answer_reaches_the_call_that_waits_for_it() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    // The revisions before have no elicitation.
    for version in &VERSIONS[2..] {
        let session = Session::open(&one.endpoint, version).await;
        // The call and its answer go to different replicas, either way.
        for (id, asks, answers) in [(1, &one, &two), (2, &two, &one), (3, &two, &two)] {
            let mut reply = session.at(&asks.endpoint).tool(id, "ask").await;
            let question = reply.body.message().await.unwrap();
            assert_eq!(question["method"], "elicitation/create", "{question}");
            let answered = session.at(&answers.endpoint).post(&accepted(&question)).await;
            assert_eq!(answered.status, 202);
            let result = reply.body.message().await.unwrap();
            assert_eq!((&result["id"], &result["result"]["content"][0]["text"]), (&json!(id), &json!("yes: true")));
        }
        assert_eq!(session.delete().await.status, 204);
    }
    assert_eq!(two.endpoint.session_count(), 0, "the sessions stayed where they were opened");
}

#[tokio::test]
async fn a_cancellation_reaches_its_call() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let mut reply = session.tool(1, "forever").await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    assert_eq!(session.at(&two.endpoint).post(&cancel).await.status, 202);
    eventually(|| one.seen.dropped() == 1).await;
    let rest = reply.body.messages().await;
    assert!(rest.iter().all(|message| message.get("id").is_none()), "{rest:?}");
}

#[tokio::test]
async fn the_same_id_at_two_replicas_is_refused() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let running = session.tool(1, "forever").await;
    let refused = session.at(&two.endpoint).tool(1, "hello").await;
    assert_eq!((refused.status.as_u16(), refused.code().await), (400, -32600));
    let (a, b) = tokio::join!(session.tool(2, "slow"), async { session.at(&two.endpoint).tool(2, "slow").await });
    let statuses = [a.status.as_u16(), b.status.as_u16()];
    assert!(statuses == [200, 400] || statuses == [400, 200], "{statuses:?}");
    assert_eq!(two.seen.finished() + two.seen.dropped(), 0, "nothing runs there");
    drop(running);
}

#[tokio::test]
async fn a_session_that_is_deleted_elsewhere_is_over_at_once() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let running = session.tool(1, "forever").await;
    assert_eq!(session.at(&two.endpoint).delete().await.status, 204);
    for member in [&one, &two] {
        assert_eq!(session.at(&member.endpoint).tool(2, "hello").await.status, 404);
        assert_eq!(member.endpoint.session_count(), 0);
    }
    eventually(|| one.seen.dropped() == 1).await;
    drop(running);
}

#[tokio::test]
async fn settings_are_those_of_the_session() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let level = call(1, "logging/setLevel", &json!({ "level": "error" }));
    assert_eq!(session.at(&two.endpoint).post(&level).await.json().await["result"], json!({}));
    for member in [&one, &two] {
        let reply = session.at(&member.endpoint).tool(2, "log").await;
        assert!(!reply.is_stream(), "nothing is logged");
    }
    assert_eq!(session.at(&two.endpoint).post(&json!({ "jsonrpc": "2.0", "id": 3 })).await.status, 400);
}

#[tokio::test]
async fn the_stateless_revision_asks_no_other_replica() {
    use crate::support::{alone, send};
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let reply = send(&two.endpoint, alone("tools/call", json!({ "name": "hello" }), &[])).await;
    assert_eq!(reply.json().await["result"]["content"][0]["text"], "Hello!");
    let calls: usize = ["create", "load", "claim", "renew"].iter().map(|operation| store.calls(operation)).sum();
    assert_eq!((one.wire.count(), calls), (0, 0));
}
