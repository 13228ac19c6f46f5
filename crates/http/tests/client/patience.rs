//! Servers that keep others waiting.

use std::time::Duration;

use couplet_client::Client;
use couplet_core::Limits;
use serde_json::json;
use tokio::time::timeout;

use crate::{
    log::Log,
    mock::{Mock, Step, empty, event, initialized, reply, stream, tools, with},
};

const HOURS: &str = "36000000";

#[tokio::test(start_paused = true)]
async fn a_notification_that_is_not_taken_holds_nothing_up_for_long() {
    let mock = Mock::new(|seen| match seen.what() {
        "initialize" => reply(200, &seen.result(initialized())),
        "notifications/initialized" => with(empty(202), "x-delay", HOURS),
        "tools/list" => reply(200, &seen.result(tools(&[]))),
        _ => empty(405),
    });
    let client = Client::new("test", "1").timeout(None).max_timeout(None).connect(mock.target()).await.unwrap();
    client.tools().await.unwrap();
    assert_eq!((mock.last("tools/list").at - mock.last("notifications/initialized").at).as_secs(), 30);
    timeout(Duration::from_secs(10), client.close()).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn notifications_that_wait_are_bounded() {
    let mock = Mock::legacy(|seen| match seen.what() {
        "tools/call" => stream([Step::Hang]),
        "notifications/cancelled" => with(empty(202), "x-delay", HOURS),
        _ => empty(405),
    });
    let mut limits = Limits::default();
    limits.queue = 4;
    let client = Client::new("test", "1").limits(limits).connect(mock.target()).await.unwrap();
    let (log, _guard) = Log::start();
    for _ in 0..20 {
        assert!(timeout(Duration::from_millis(10), client.call("slow", ()).into_future()).await.is_err());
    }
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!((mock.count("tools/call"), mock.count("notifications/cancelled")), (20, 5));
    assert_eq!(log.warnings().iter().filter(|w| w.contains("too many notifications")).count(), 15);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_ended_ends() {
    let mock = Mock::legacy(|_| with(empty(405), "x-delay", HOURS));
    let client = mock.connect().await;
    timeout(Duration::from_secs(10), client.close()).await.unwrap().unwrap();
    assert_eq!(mock.count("DELETE"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_taken_makes_room_again() {
    let mock = Mock::legacy(|seen| match seen.what() {
        "GET" => {
            let ping = |id: u64| event(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
            stream([ping(1), Step::Wait(60_000), ping(1), Step::Hang])
        }
        _ => with(empty(202), "x-delay", HOURS),
    });
    let _client = mock.connect().await;
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert_eq!(mock.count("answer"), 2);
}
