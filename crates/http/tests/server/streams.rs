//! The streams of a session: what is on which, and how they are taken up again.

use std::time::Duration;

use couplet_core::http::sse::Event;
use couplet_http::server::Endpoint;
use serde_json::{Value, json};

use crate::support::{POLLING, Reply, Seen, Session, Stream, VERSIONS, call, endpoint, eventually, server};

async fn events(reply: &mut Reply) -> Vec<Event> {
    let mut all = Vec::new();
    while let Some(event) = reply.body.event().await {
        all.push(event);
    }
    all
}

fn messages(events: &[Event]) -> Vec<Value> {
    events.iter().filter(|e| e.is_message()).map(|e| serde_json::from_slice(&e.data).unwrap()).collect()
}

/// A session that is subscribed to `test://a`.
async fn subscribed(endpoint: &Endpoint, version: &str) -> Session {
    let session = Session::open(endpoint, version).await;
    let subscribe = call(1, "resources/subscribe", &json!({ "uri": "test://a" }));
    assert_eq!(session.post(&subscribe).await.json().await["result"], json!({}));
    session
}

/// All that comes on the streams of two calls at the same time.
async fn two_calls(session: &Session) -> [Vec<Event>; 2] {
    let (mut one, mut two) = tokio::join!(session.tool(1, "slow"), session.tool(2, "slow"));
    assert!(one.is_stream() && two.is_stream());
    [events(&mut one).await, events(&mut two).await]
}

async fn is_silent(stream: &mut Stream) -> bool {
    tokio::time::timeout(Duration::from_millis(50), stream.message()).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn line_164_a_stream_carries_the_answer_and_ends() {
    let (endpoint, _) = endpoint();
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        for (id, events) in (1..).zip(two_calls(&session).await) {
            let messages = messages(&events);
            assert_eq!(messages.len(), 11, "ten notifications and the answer");
            assert_eq!(
                (&messages[10]["id"], &messages[10]["result"]["content"][0]["text"]),
                (&json!(id), &json!("done"))
            );
            assert!(messages[..10].iter().all(|m| m.get("id").is_none()));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn line_165_a_stream_is_not_closed_before_the_answer() {
    let (endpoint, _) = endpoint();
    for version in VERSIONS.into_iter().filter(|v| *v != POLLING) {
        let session = Session::open(&endpoint, version).await;
        // The handler would let the client go; in these revisions it could not come back.
        let reply = session.tool(1, "polled").await;
        assert_eq!(reply.json().await["result"]["content"][0]["text"], "at last");
        // Only a session that is over ends its streams.
        let mut reply = session.tool(2, "slow").await;
        reply.body.message().await.unwrap();
        session.delete().await;
        assert!(reply.body.messages().await.iter().all(|m| m.get("id").is_none()));
    }
}

#[tokio::test(start_paused = true)]
async fn line_166_what_is_on_a_stream_belongs_to_its_request() {
    let seen = Seen::default();
    let server = server(&seen);
    let endpoint = Endpoint::new(server.clone());
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        session.post(&call(9, "resources/subscribe", &json!({ "uri": "test://a" }))).await;
        // Something else happens meanwhile.
        server.updated("test://a");
        for (id, events) in (1..).zip(two_calls(&session).await) {
            let (answer, notes) = messages(&events).split_last().map(|(a, n)| (a.clone(), n.to_vec())).unwrap();
            assert_eq!(answer["id"], id);
            assert!(notes.iter().all(|n| n["params"]["progressToken"] == id), "{notes:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn line_167_a_stream_is_primed() {
    let (endpoint, _) = endpoint();
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        for events in two_calls(&session).await {
            let is_prime = events[0].data.is_empty() && events[0].id.is_some() && events[0].retry.is_some();
            assert_eq!(is_prime, version == POLLING, "{:?}", events[0]);
        }
        let mut get = session.get(None).await;
        let first = tokio::time::timeout(Duration::from_millis(50), get.body.event()).await;
        assert_eq!(first.is_ok_and(|e| e.unwrap().id.is_some()), version == POLLING);
    }
}

#[tokio::test(start_paused = true)]
async fn line_168_a_call_may_leave_its_stream_and_says_for_how_long() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let mut reply = session.tool(1, "polled").await;
    assert!(reply.is_stream());
    let first = reply.body.event().await.unwrap();
    assert_eq!((first.data.len(), first.retry), (0, Some(250)));
    assert_eq!(reply.body.event().await, None, "it is over before the answer");
    drop(reply);
    let messages = session.get(first.id.as_deref()).await.body.messages().await;
    assert_eq!(messages.len(), 1);
    assert_eq!((&messages[0]["id"], &messages[0]["result"]["content"][0]["text"]), (&json!(1), &json!("at last")));
}

#[tokio::test(start_paused = true)]
async fn line_173_an_answer_is_on_a_get_stream_only_when_one_resumes() {
    let (endpoint, _) = endpoint();
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        let mut get = session.get(None).await;
        let mut slow = session.tool(1, "slow").await;
        let first = loop {
            let event = slow.body.event().await.unwrap();
            if event.is_message() {
                break event.id;
            }
        };
        assert_eq!(session.tool(2, "hello").await.json().await["id"], 2);
        drop(slow);
        let resumed = session.get(first.as_deref()).await.body.messages().await;
        assert_eq!(resumed.last().unwrap()["id"], 1, "{resumed:?}");
        assert!(is_silent(&mut get.body).await, "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn line_174_what_is_about_a_request_is_not_on_a_get_stream() {
    let (endpoint, _) = endpoint();
    for version in ["2025-06-18", "2025-11-25"] {
        let session = Session::open(&endpoint, version).await;
        let mut get = session.get(None).await;
        let mut reply = session.tool(1, "ask").await;
        let question = reply.body.message().await.unwrap();
        assert_eq!(question["method"], "elicitation/create");
        let result = json!({ "action": "accept", "content": { "yes": true } });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
        assert_eq!(session.post(&answer).await.status, 202);
        assert_eq!(reply.body.messages().await[0]["result"]["content"][0]["text"], "yes: true");
        session.tool(2, "slow").await.body.messages().await;
        assert!(is_silent(&mut get.body).await, "neither questions nor progress");
    }
}

#[tokio::test(start_paused = true)]
async fn line_175_a_message_is_on_one_stream() {
    let seen = Seen::default();
    let server = server(&seen);
    let endpoint = Endpoint::new(server.clone());
    for version in VERSIONS {
        let session = subscribed(&endpoint, version).await;
        // What happens before somebody listens is told when somebody does.
        server.updated("test://a");
        assert_eq!(session.tool(2, "hello").await.json().await["id"], 2);
        let updated = "notifications/resources/updated";
        let mut one = session.get(None).await;
        assert_eq!(one.body.message().await.unwrap()["method"], updated);
        let mut two = session.get(None).await;
        server.updated("test://a");
        assert_eq!(two.body.message().await.unwrap()["method"], updated);
        assert!(is_silent(&mut one.body).await && is_silent(&mut two.body).await);
        drop(two);
        server.updated("test://a");
        assert_eq!(one.body.message().await.unwrap()["method"], updated);
    }
}

#[tokio::test(start_paused = true)]
async fn line_176_event_ids_are_unique_and_name_their_stream() {
    let (endpoint, _) = endpoint();
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        let streams = two_calls(&session).await;
        let ids = |events: &[Event]| events.iter().map(|e| e.id.clone().expect("every event has one")).collect();
        let ids: [Vec<String>; 2] = [ids(&streams[0]), ids(&streams[1])];
        let stream = |id: &String| id.split('-').next().unwrap().to_owned();
        for of_one in &ids {
            assert!(of_one.iter().all(|id| stream(id) == stream(&of_one[0])));
        }
        assert_ne!(stream(&ids[0][0]), stream(&ids[1][0]));
        let mut all = ids.concat();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}

#[tokio::test(start_paused = true)]
async fn line_178_only_the_same_stream_is_replayed() {
    let seen = Seen::default();
    let server = server(&seen);
    let endpoint = Endpoint::new(server.clone());
    let session = Session::open(&endpoint, POLLING).await;
    let mut get = session.get(None).await;
    let prime = get.body.event().await.unwrap();
    assert!(prime.data.is_empty() && prime.id.is_some());
    server.remove_tool("hello");
    let change = get.body.event().await.unwrap();
    // Meanwhile there are other streams, with much to tell.
    two_calls(&session).await;
    drop(get);
    let mut get = session.get(prime.id.as_deref()).await;
    assert_eq!(get.body.message().await.unwrap()["method"], "notifications/tools/list_changed");
    assert!(is_silent(&mut get.body).await);
    drop(get);
    let mut get = session.get(change.id.as_deref()).await;
    assert!(is_silent(&mut get.body).await, "after {change:?} and {prime:?}");
    for id in ["nonsense", "r99-1", "g99-7", "r1", "x1-1", "r1-1-1", "é", "r1-18446744073709551615"] {
        assert_eq!(session.get(Some(id)).await.status, 400, "{id}");
    }
    // Another session's streams are not there.
    let other = Session::open(&endpoint, POLLING).await;
    assert_eq!(other.get(change.id.as_deref()).await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn line_120_a_disconnect_does_not_cancel_and_the_rest_can_be_had_later() {
    let (endpoint, seen) = endpoint();
    let mut lost = Vec::new();
    let session = Session::open(&endpoint, POLLING).await;
    for id in 0..100 {
        let mut reply = session.tool(id, "slow").await;
        let prime = reply.body.event().await.unwrap();
        let first = reply.body.event().await.unwrap();
        assert!(prime.data.is_empty() && !first.data.is_empty());
        lost.push((id, first.id.unwrap()));
    }
    // The first half comes back while the calls run, the others when all is over.
    let (early, late) = lost.split_at(50);
    for (id, last) in early {
        let messages = session.get(Some(last)).await.body.messages().await;
        assert_eq!(messages.last().unwrap()["id"], *id);
        assert_eq!(messages.len(), 10, "nine more notifications and the answer");
    }
    eventually(|| seen.finished() == 100).await;
    for (id, last) in late {
        let mut reply = session.get(Some(last)).await;
        let messages = reply.body.messages().await;
        assert_eq!((messages.len(), &messages[9]["id"]), (10, &json!(id)));
    }
    assert_eq!((seen.finished(), seen.dropped()), (100, 0));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_could_hear_is_told_to_the_first_who_listens() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let mut reply = session.tool(1, "hasty").await;
    let called = messages(&events(&mut reply).await);
    let question = called.iter().find(|m| m["method"] == "elicitation/create").unwrap();
    assert_eq!(called.last().unwrap()["result"]["content"][0]["text"], "given up");
    // Other calls come and go between.
    for id in 2..5 {
        assert_eq!(messages(&events(&mut session.tool(id, "slow").await).await).len(), 11);
        assert_eq!(session.tool(id, "log").await.status, 200);
    }
    let mut get = session.get(None).await;
    let told = get.body.message().await.unwrap();
    assert_eq!((&told["method"], &told["params"]["requestId"]), (&json!("notifications/cancelled"), &question["id"]));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_resumed_several_times_loses_nothing() {
    let seen = Seen::default();
    let server = server(&seen);
    let endpoint = Endpoint::new(server.clone());
    for version in VERSIONS {
        let session = subscribed(&endpoint, version).await;
        let mut last: Option<String> = None;
        for round in 1..5 {
            let mut get = session.get(last.as_deref()).await;
            if round == 1 {
                server.updated("test://a");
            }
            // The one that was lost with the connection before, whether the stream is primed or not.
            let message = async {
                loop {
                    let event = get.body.event().await.unwrap();
                    if event.is_message() {
                        break event.id;
                    }
                }
            };
            last = tokio::time::timeout(Duration::from_secs(600), message).await.expect("nothing is lost");
            // It is sent, and lost with the connection.
            server.updated("test://a");
            tokio::time::sleep(Duration::from_millis(1)).await;
            drop(get);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_resumption_leaves_the_open_stream_as_it_is() {
    let server = server(&Seen::default());
    let endpoint = Endpoint::new(server.clone());
    for version in VERSIONS {
        let session = subscribed(&endpoint, version).await;
        let mut get = session.get(None).await;
        let mut next = async || {
            server.updated("test://a");
            let message = async {
                loop {
                    let event = get.body.event().await.expect("the stream is open");
                    if event.is_message() {
                        break event.id.unwrap();
                    }
                }
            };
            tokio::time::timeout(Duration::from_secs(600), message).await.expect("it is sent")
        };
        let first = next().await;
        let (stream, _) = first.rsplit_once('-').unwrap();
        assert_eq!(session.get(Some(&format!("{stream}-77"))).await.status, 400, "{version}");
        assert!(next().await.starts_with(stream), "{version}");
    }
}
