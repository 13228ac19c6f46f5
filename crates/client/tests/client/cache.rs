//! Answers that are kept, and requests that are under way for them.

use std::task::Poll;

use couplet_client::{Cache, Client};
use couplet_core::Error;
use couplet_types::{ProtocolVersion, ReadResourceResult};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::script::{Say, Script, error, result, settle};

const STATELESS: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// A server that answers nothing until it is told to.
fn silent() -> Script {
    Script::speaking(STATELESS, json!({ "resources": {}, "tools": {} }), |_| vec![])
}

async fn connect(script: &Script) -> Client {
    Client::new("test", "1").connect(script.clone()).await.unwrap()
}

type Reading = JoinHandle<Result<ReadResourceResult, Error>>;

/// So many who read the same.
async fn readers(client: &Client, count: usize) -> Vec<Reading> {
    let readers = (0..count).map(|_| tokio::spawn(client.read("a://b").into_future())).collect();
    settle().await;
    readers
}

fn text(text: &str, ttl: u64) -> Value {
    json!({ "resultType": "complete", "ttlMs": ttl, "cacheScope": "private", "contents": [{ "uri": "a://b", "text": text }] })
}

fn reads(script: &Script) -> Vec<Value> {
    script.seen_of("resources/read")
}

#[tokio::test]
async fn those_who_ask_the_same_ask_once() {
    let script = silent();
    let client = connect(&script).await;
    let readers = readers(&client, 5).await;
    assert_eq!(reads(&script).len(), 1);
    script.push(result(&reads(&script)[0], text("one", 1000)));
    for reader in readers {
        assert_eq!(reader.await.unwrap().unwrap().all_text(), "one");
    }
    assert_eq!(client.read("a://b").await.unwrap().all_text(), "one");
    assert_eq!(reads(&script).len(), 1);
}

#[tokio::test]
async fn nobody_waits_for_one_who_is_busy() {
    let script = silent();
    let client = connect(&script).await;
    // Whoever asks first does not look again.
    let mut first = client.read("a://b").into_future();
    std::future::poll_fn(|cx| {
        assert!(first.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    let second = readers(&client, 1).await.remove(0);
    script.push(result(&reads(&script)[0], text("one", 1000)));
    assert_eq!(second.await.unwrap().unwrap().all_text(), "one");
    assert_eq!(first.await.unwrap().all_text(), "one");
    assert_eq!(reads(&script).len(), 1);
}

#[tokio::test]
async fn when_the_first_one_goes_the_next_one_asks() {
    let script = silent();
    let client = connect(&script).await;
    let mut readers = readers(&client, 5).await;
    readers.remove(0).abort();
    settle().await;
    assert_eq!(script.seen_of("notifications/cancelled").len(), 1);
    assert_eq!(reads(&script).len(), 2, "one of four asks");
    script.push(result(&reads(&script)[1], text("one", 1000)));
    for reader in readers {
        assert_eq!(reader.await.unwrap().unwrap().all_text(), "one");
    }
}

/// An answer that is not to be kept, and an error, are for whoever asked.
#[tokio::test]
async fn what_is_not_kept_is_not_shared() {
    let answers: [fn(&Value) -> Value; 3] = [
        |m| result(m, text(&m["id"].to_string(), 0)),
        |m| error(m, -32603, &m["id"].to_string()),
        |m| result(m, json!({ "resultType": "input_required" })),
    ];
    for answer in answers {
        let script = silent();
        let client = connect(&script).await;
        let readers = readers(&client, 4).await;
        script.push(answer(&reads(&script)[0]));
        settle().await;
        assert_eq!(reads(&script).len(), 4, "now each asks");
        for request in &reads(&script)[1..] {
            script.push(answer(request));
        }
        let mut said = Vec::new();
        for reader in readers {
            said.push(format!("{:?}", reader.await.unwrap().map(|r| r.all_text()).map_err(|e| e.to_string())));
        }
        said.sort();
        said.dedup();
        assert!(said.len() == 4 || ["which", "requests none"].iter().any(|why| said[0].contains(why)), "{said:?}");
    }
}

/// Where the last answer was not kept, nobody waits in vain.
#[tokio::test]
async fn what_was_not_kept_is_asked_by_each() {
    let script = silent();
    let client = connect(&script).await;
    let first = readers(&client, 1).await;
    script.push(result(&reads(&script)[0], text("one", 0)));
    for reader in first {
        reader.await.unwrap().unwrap();
    }
    let _readers = readers(&client, 3).await;
    assert_eq!(reads(&script).len(), 4);
}

/// Whoever wants a fresh answer, or wants to hear of progress, does not get one that was asked for before.
#[tokio::test]
async fn a_fresh_answer_is_asked_for() {
    let script = silent();
    let client = connect(&script).await;
    let _first = readers(&client, 1).await;
    let fresh = tokio::spawn(client.read("a://b").no_cache().into_future());
    let watched = tokio::spawn(client.read("a://b").on_progress(drop).into_future());
    settle().await;
    assert_eq!(reads(&script).len(), 3);
    drop((fresh, watched));
}

#[tokio::test]
async fn what_a_server_is_need_not_be_asked_again() {
    let script = Script::new(|m| {
        let about = json!({ "supportedVersions": [STATELESS.as_str()], "capabilities": {}, "resultType": "complete",
                            "ttlMs": 1000, "cacheScope": "public", "instructions": "Be kind." });
        Say::Send(vec![result(m, about)])
    });
    let cache = Cache::new();
    for (cache, asked) in
        [(cache.clone(), 1), (cache.for_server("s"), 2), (cache.for_server("s"), 2), (cache.for_server("t"), 3)]
    {
        let client = Client::new("test", "1").cache(cache).connect(script.clone()).await.unwrap();
        assert_eq!(client.server().instructions.as_deref(), Some("Be kind."));
        assert_eq!(script.seen_of("server/discover").len(), asked);
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn room_is_bounded_and_given_back() {
    let script = Script::speaking(STATELESS, json!({ "resources": {} }), |m| vec![result(m, text("one", 1_000_000))]);
    let cache = Cache::bounded(10, 1 << 20);
    let client = Client::new("test", "1").cache(cache.clone()).connect(script.clone()).await.unwrap();
    for n in 0..100 {
        client.read(format!("a://{n}")).await.unwrap();
    }
    assert!(format!("{cache:?}").contains("answers: 10,"), "{cache:?}");
    client.read("a://99").await.unwrap();
    assert_eq!(reads(&script).len(), 100);
    client.close().await.unwrap();
    drop(client);
    settle().await;
    assert!(format!("{cache:?}").contains("answers: 0,"), "nobody can ask for them any more: {cache:?}");
}
