//! What comes back: JSON or a stream, whole or broken.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::Client;
use couplet_core::{ErrorKind, Limits};
use couplet_http::client::Body;
use http::Response;
use serde_json::{Value, json};

use crate::mock::{Mock, Seen, Step, empty, event, reply, says, send, stream, text, tools};

type Answer = fn(&Seen) -> Response<Body>;

/// What comes of a call in either era.
async fn call(answer: Answer) -> [Result<String, ErrorKind>; 2] {
    let in_session = move |seen: &Seen| match seen.what() {
        "GET" => empty(405),
        "tools/call" => answer(seen),
        _ => empty(202),
    };
    let mut outcomes = Vec::new();
    for mock in [Mock::modern(answer), Mock::legacy(in_session)] {
        let mut limits = Limits::default();
        limits.message = 10_000;
        let client = Client::new("test", "1").limits(limits).connect(mock.target()).await.unwrap();
        outcomes.push(client.call("x", ()).await.map(|r| r.text()).map_err(|e| e.kind()));
    }
    outcomes.try_into().unwrap()
}

/// Both eras read each of these.
async fn check_read(answers: &[Answer]) {
    for answer in answers {
        assert_eq!(call(*answer).await, [Ok("done".to_owned()), Ok("done".to_owned())]);
    }
}

#[tokio::test(start_paused = true)]
async fn line_163_either_kind_of_response_is_read() {
    check_read(&[
        |s| reply(200, &s.result(says("done"))),
        |s| stream([event(&s.result(says("done")))]),
        // A priming event, and nothing more after the answer.
        |s| stream([send("\u{feff}id: 1\ndata:\n\n"), event(&s.result(says("done"))), Step::Hang]),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn line_198_streams_are_read_however_they_come() {
    check_read(&[
        |s| text(200, "Application/JSON;charset=utf-8", s.result(says("done")).to_string()),
        |s| stream([send(&format!("event: message\r\ndata: {}\r\n\r\n", s.result(says("done"))))]),
        // One byte at a time.
        |s| {
            let text = format!(": x\n\nid: 7\nevent: message\ndata: {}\n\n", s.result(says("done")));
            stream(text.chars().map(|c| send(&c.to_string())).collect::<Vec<_>>())
        },
        // Events of other kinds, and answers to what nobody asked.
        |s| {
            let other = json!({ "jsonrpc": "2.0", "id": 999, "result": says("wrong") });
            stream([send("event: ping\ndata: {}\n\n"), event(&other), event(&s.result(says("done")))])
        },
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_request_is_refused_and_not_taken_for_the_answer() {
    // The ids of the two sides have nothing to do with each other.
    let answer = |s: &Seen| {
        let request = json!({ "jsonrpc": "2.0", "id": s.body["id"], "method": "ping", "params": 7 });
        stream([event(&request), event(&s.result(says("done")))])
    };
    check_read(&[answer]).await;
    let mock = Mock::legacy(move |s| if s.what() == "tools/call" { answer(s) } else { empty(202) });
    let client = Client::new("test", "1").connect(mock.target()).await.unwrap();
    client.call("x", ()).await.unwrap();
    client.close().await.unwrap();
    let refusals: Vec<_> = mock.seen().into_iter().filter(|s| !s.body["error"].is_null()).collect();
    assert!(matches!(&refusals[..], [s] if s.body["error"]["code"] == -32600), "{refusals:?}");
}

#[tokio::test(start_paused = true)]
async fn line_202_comments_are_ignored() {
    check_read(&[
        |s| stream([send(": hello\n\n:\n\n"), Step::Wait(9000), send(": still\n\n"), event(&s.result(says("done")))]),
        |s| {
            let text = s.result(says("done")).to_string();
            let (head, tail) = text.split_at(1);
            stream([send(&format!(":data: {{}}\ndata: {head}\n: in between\n:\ndata: {tail}\n\n"))])
        },
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_makes_no_sense_is_an_error() {
    use ErrorKind::{Closed, Protocol, Transport};
    let cases: [(&str, Answer, ErrorKind); 12] = [
        ("another type", |_| text(200, "text/html", "<html>"), Protocol),
        ("nothing", |_| empty(202), Protocol),
        ("no JSON", |_| text(200, "application/json", "{"), Protocol),
        (
            "an answer to something else",
            |_| reply(200, &json!({ "jsonrpc": "2.0", "id": 999, "result": {} })),
            Protocol,
        ),
        ("an answer that is none", |s| reply(200, &json!({ "jsonrpc": "2.0", "id": s.body["id"] })), Protocol),
        ("a stream that ends", |_| stream([send(": bye\n\n")]), Closed),
        ("a stream that breaks", |_| stream([send("data: {"), Step::Break]), Closed),
        ("too long", |_| text(200, "application/json", format!("\"{}\"", "x".repeat(20_000))), Protocol),
        ("an event too long", |_| stream([send(&format!("data: {}\n\n", "x".repeat(20_000)))]), Protocol),
        ("an endless line", |_| stream([Step::Endless("data: xxxxxxxxxxxxxxxx")]), Protocol),
        ("an endless event", |_| stream([Step::Endless("data: x\n")]), Protocol),
        ("a failure", |_| empty(502), Transport),
    ];
    for (name, answer, kind) in cases {
        assert_eq!(call(answer).await, [Err(kind), Err(kind)], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn line_203_what_was_lost_is_asked_anew() {
    let broken = || stream([send("id: 1\nretry: 1\ndata:\n\n"), Step::Break]);
    let times = AtomicUsize::new(0);
    let mock = Mock::modern(move |seen| match (times.fetch_add(1, Ordering::SeqCst) % 2, seen.what()) {
        (0, _) => broken(),
        (_, "tools/list") => reply(200, &seen.result(tools(&[]))),
        (_, "resources/read") => {
            reply(200, &seen.result(json!({ "contents": [], "ttlMs": 0, "cacheScope": "private" })))
        }
        _ => reply(200, &seen.result(says("done"))),
    });
    let client = mock.connect().await;
    client.tools().await.unwrap();
    client.read("file:///a").await.unwrap();
    // Whether a tool may be called again is for the program to decide.
    let error = client.call("pay", ()).await.unwrap_err();
    assert!(error.is_closed() && error.to_string().contains("is not known"), "{error}");
    assert_eq!(mock.count("tools/call"), 1);
    client.call("pay", ()).await.unwrap();
    let seen = &mock.seen()[1..];
    assert_eq!(seen.len(), 6);
    for (lost, again) in seen.iter().zip(&seen[1..]).step_by(2) {
        assert_eq!((lost.what(), &lost.body["params"]["name"]), (again.what(), &again.body["params"]["name"]));
        assert_ne!(lost.body["id"], again.body["id"]);
    }
    assert!(seen.iter().all(|s| s.header("last-event-id").is_none() && s.verb == "POST"));
    // A server that breaks every stream is not asked for ever.
    let mock = Mock::modern(move |_| broken());
    assert!(mock.connect().await.tools().await.unwrap_err().is_closed());
    assert_eq!(mock.count("tools/list"), 2);
}

#[tokio::test(start_paused = true)]
async fn endless_progress_ends_with_the_patience() {
    let mock = Mock::modern(|seen| {
        let params = json!({ "progressToken": seen.body["params"]["_meta"]["progressToken"], "progress": 1 });
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
        let steps = (0..1000).flat_map(move |_| [event(&note), Step::Wait(1000)]);
        stream(steps.collect::<Vec<_>>())
    });
    let client = mock.connect().await;
    let heard = Arc::new(AtomicUsize::new(0));
    let counted = heard.clone();
    let error = client
        .call("x", ())
        .on_progress(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        })
        .timeout(Duration::from_secs(5))
        .max_timeout(Duration::from_secs(20))
        .await
        .unwrap_err();
    assert!(error.is_timeout());
    assert!((19..=21).contains(&heard.load(Ordering::SeqCst)));
}

/// A server that leaves a stream and wants the client to come back for the rest.
fn polling(first: &'static [&'static str], then: fn(usize, Value) -> Response<Body>) -> Mock {
    let asked = Mutex::new(Value::Null);
    let gets = AtomicUsize::new(0);
    Mock::legacy(move |seen| match seen.what() {
        "tools/call" => {
            *asked.lock().unwrap() = seen.result(says("done"));
            stream(first.iter().map(|f| send(f)).collect::<Vec<_>>())
        }
        "GET" if seen.header("last-event-id").is_none() => empty(405),
        "GET" => then(gets.fetch_add(1, Ordering::SeqCst), asked.lock().unwrap().clone()),
        _ => empty(202),
    })
}

/// When a client came back to a stream, after how many milliseconds, and what it had read until then.
async fn returns(first: &'static [&'static str], then: fn(usize, Value) -> Response<Body>) -> Vec<(u128, String)> {
    let mock = polling(first, then);
    let client = mock.connect().await;
    assert_eq!(client.call("x", ()).await.unwrap().text(), "done");
    assert_eq!(mock.count("tools/call"), 1);
    let mut before = mock.last("tools/call").at;
    let mut found = Vec::new();
    for get in mock.seen().iter().filter(|s| s.headers.contains_key("last-event-id")) {
        assert_eq!((get.what(), get.header("accept")), ("GET", Some("text/event-stream")));
        assert_eq!(get.header("mcp-session-id"), Some("s1"));
        found.push(((get.at - before).as_millis(), get.header("last-event-id").unwrap().to_owned()));
        before = get.at;
    }
    found
}

const PRIME: &[&str] = &["id: e1\nretry: 500\ndata: \n\n"];

#[tokio::test(start_paused = true)]
async fn line_169_the_server_says_how_long_to_wait() {
    assert_eq!(returns(PRIME, |_, a| stream([event(&a)])).await, [(500, "e1".to_owned())]);
    let slow = &["id: e1\nretry: 45000\ndata: \n\n"];
    assert_eq!(returns(slow, |_, a| stream([event(&a)])).await, [(45_000, "e1".to_owned())]);
    // What does not come yet is waited for, up to twice as long each time but never shorter.
    let later = |n, a| match n {
        0 => empty(503),
        1 => stream([]),
        _ => stream([event(&a)]),
    };
    let waits: Vec<_> = returns(PRIME, later).await.into_iter().map(|(wait, _)| wait).collect();
    assert_eq!(waits.len(), 3);
    assert!(waits.iter().zip([500, 1000, 2000]).all(|(wait, most)| (500..=most).contains(wait)), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn line_170_a_stream_that_was_left_is_taken_up_again() {
    let taken_up = returns(&["id: e1\ndata:\n\n"], |_, a| stream([event(&a)])).await;
    assert!(matches!(&*taken_up, [(500..=1000, id)] if id == "e1"), "{taken_up:?}");
    // Without an id there is nothing to come back to.
    let mock = polling(&["retry: 1\ndata:\n\n"], |_, a| stream([event(&a)]));
    let error = mock.connect().await.call("x", ()).await.unwrap_err();
    assert!(error.is_closed() && error.to_string().contains("not known"), "{error}");
    assert_eq!(mock.count("tools/call"), 1);
}

#[tokio::test(start_paused = true)]
async fn line_177_a_stream_goes_on_after_the_last_event() {
    let further = |n, a| match n {
        0 => stream([send("id: e2\nretry: 700\ndata:\n\n"), Step::Break]),
        1 => stream([send("id: e3\ndata:\n\n")]),
        _ => stream([event(&a)]),
    };
    let expected = [(500, "e1"), (700, "e2"), (700, "e3")].map(|(wait, id)| (wait, id.to_owned()));
    assert_eq!(returns(PRIME, further).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_cannot_be_taken_up_again_leaves_the_outcome_open() {
    let prime = &["id: e1\nretry: 10\ndata: \n\n"];
    let cases: [fn(usize, Value) -> Response<Body>; 4] =
        [|_, _| empty(405), |_, _| empty(503), |_, _| stream([]), |_, _| text(200, "text/html", "?")];
    for then in cases {
        let mock = polling(prime, then);
        let call = mock.connect().await.call("x", ()).timeout(Duration::from_secs(3600)).await;
        let error = call.unwrap_err();
        assert!(error.is_closed() && error.to_string().contains("not known"), "{error}");
    }
}
