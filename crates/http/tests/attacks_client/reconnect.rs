//! Streams that end as soon as they are opened.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::{Ended, Filter};
use couplet_http::client::Body;
use http::Response;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::mock::{Mock, Step, empty, event, says, send, stream};

/// A client without a delay of its own would go on for ever; here it is stopped.
const ENOUGH: usize = 1000;
const HOUR: Duration = Duration::from_secs(3600);

type Each = fn(usize) -> Response<Body>;

/// A server whose stream of the session does this each time.
fn speaking(each: Each) -> Mock {
    let times = AtomicUsize::new(0);
    Mock::legacy(move |seen| match seen.what() {
        "GET" => match times.fetch_add(1, Ordering::SeqCst) {
            ENOUGH.. => empty(405),
            n => each(n),
        },
        _ => empty(202),
    })
}

#[tokio::test(start_paused = true)]
async fn attack_05_a_stream_that_ends_at_once_is_given_up() {
    let cases: [(&str, Each); 5] = [
        ("retry: 0", |_| stream([send("retry: 0\ndata:\n\n")])),
        ("retry: 0 and an id", |n| stream([send(&format!("id: {n}\nretry: 0\ndata:\n\n"))])),
        ("nothing", |_| stream([])),
        ("a break", |_| stream([send(": hello\n\n"), Step::Break])),
        ("a failure", |_| empty(500)),
    ];
    for (name, each) in cases {
        let mock = speaking(each);
        let client = mock.connect().await;
        sleep(HOUR).await;
        assert_eq!(mock.count("GET"), 9, "{name}");
        let gets: Vec<_> = mock.seen().into_iter().filter(|s| s.what() == "GET").map(|s| s.at).collect();
        assert!(gets.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_millis(500)), "{name}");
        drop(client);
    }
}

#[tokio::test(start_paused = true)]
async fn attack_05_a_stream_with_one_message_each_time_is_taken_up_slowly() {
    let mock = speaking(|_| {
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        stream([send("retry: 0\ndata:\n\n"), event(&note)])
    });
    let client = mock.connect().await;
    sleep(Duration::from_secs(60)).await;
    let count = mock.count("GET");
    assert!((30..=121).contains(&count), "{count}");
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn attack_05_what_the_server_asks_for_is_honoured() {
    // A server may let its clients poll: it is asked as often as it wants, for as long as it wants.
    for (retry, expected) in [(2000, 1800), (60_000, 60), (86_400_000, 12)] {
        let times = AtomicUsize::new(0);
        let mock = Mock::legacy(move |seen| match seen.what() {
            "GET" => {
                stream([send(&format!("id: {}\nretry: {retry}\ndata:\n\n", times.fetch_add(1, Ordering::SeqCst)))])
            }
            _ => empty(202),
        });
        let client = mock.connect().await;
        sleep(HOUR).await;
        let count = mock.count("GET");
        assert!(count.abs_diff(expected) <= 1, "{retry}: {count}");
        drop(client);
    }
}

#[tokio::test(start_paused = true)]
async fn attack_05_a_stream_that_lasted_is_taken_up_for_ever() {
    let mock = speaking(|_| stream([Step::Wait(10_000)]));
    let client = mock.connect().await;
    sleep(HOUR).await;
    assert!(mock.count("GET") > 300, "{}", mock.count("GET"));
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn attack_05_a_subscription_ends_with_the_stream_and_says_why() {
    let mock = Mock::new(|seen| match seen.what() {
        "server/discover" => empty(400),
        "initialize" => {
            let mut result = crate::mock::initialized();
            result["capabilities"] = json!({ "tools": { "listChanged": true } });
            crate::mock::with(crate::mock::reply(200, &seen.result(result)), "mcp-session-id", "s1")
        }
        "GET" => stream([]),
        "tools/call" => crate::mock::reply(200, &seen.result(says("done"))),
        _ => empty(202),
    });
    let client = mock.connect().await;
    let mut changes = client.listen(Filter::new().tools()).await.unwrap();
    assert_eq!(timeout(HOUR, changes.next()).await, Ok(None));
    let Some(Ended::Failed(why)) = changes.ended() else { panic!("{changes:?}") };
    assert!(why.to_string().contains("given up"), "{why}");
    // The client lives, and a new subscription hears of it at once.
    assert_eq!(client.call("x", ()).await.unwrap().text(), "done");
    let mut late = client.listen(Filter::new().tools()).await.unwrap();
    assert_eq!(timeout(HOUR, late.next()).await, Ok(None));
}

/// A call whose stream is left at once, and what each attempt to take it up gets.
fn leaving(each: fn(usize, &Value) -> Response<Body>) -> Mock {
    let (times, asked) = (AtomicUsize::new(0), Mutex::new(Value::Null));
    Mock::legacy(move |seen| match seen.what() {
        "tools/call" => {
            *asked.lock().unwrap() = seen.result(says("done"));
            stream([send("id: first\nretry: 0\ndata:\n\n")])
        }
        "GET" if seen.header("last-event-id").is_none() => empty(405),
        "GET" => match times.fetch_add(1, Ordering::SeqCst) {
            ENOUGH.. => empty(405),
            n => each(n, &asked.lock().unwrap()),
        },
        _ => empty(202),
    })
}

#[tokio::test(start_paused = true)]
async fn attack_05_a_call_that_is_left_again_and_again_ends() {
    let mock = leaving(|n, _| stream([send(&format!("id: {n}\nretry: 0\ndata:\n\n"))]));
    let client = mock.connect().await;
    let began = Instant::now();
    let error = client.call("x", ()).timeout(HOUR).await.unwrap_err();
    assert!(error.is_closed() && error.to_string().contains("not known"), "{error}");
    let polls = mock.seen().iter().filter(|s| s.header("last-event-id").is_some()).count();
    assert!(polls <= 9 && began.elapsed() >= Duration::from_secs(4), "{polls} in {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn attack_05_a_call_that_is_polled_as_the_server_wants_gets_its_answer() {
    let mock = leaving(|n, answer| match n {
        0..100 => stream([send(&format!("id: {n}\nretry: 500\ndata:\n\n"))]),
        _ => stream([event(answer)]),
    });
    let call = mock.connect().await.call("x", ()).timeout(HOUR).await;
    assert_eq!(call.unwrap().text(), "done");
}
