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

use crate::mock::{Mock, Seen, Step, empty, event, reply, says, send, stream, text};

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

#[tokio::test(start_paused = true)]
async fn lines_163_198_202_either_kind_of_response_is_read() {
    let answers: [Answer; 7] = [
        |s| reply(200, &s.result(says("done"))),
        |s| stream([event(&s.result(says("done")))]),
        |s| stream([send(": hello\n\n:\n\n"), Step::Wait(9000), send(": still\n\n"), event(&s.result(says("done")))]),
        |s| stream([send("\u{feff}id: 1\ndata:\n\n"), event(&s.result(says("done"))), Step::Hang]),
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
    ];
    for answer in answers {
        assert_eq!(call(answer).await, [Ok("done".to_owned()), Ok("done".to_owned())]);
    }
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
async fn line_203_a_request_that_was_lost_may_be_sent_again() {
    let times = AtomicUsize::new(0);
    let mock = Mock::modern(move |seen| match times.fetch_add(1, Ordering::SeqCst) {
        0 => stream([send("id: 1\ndata:\n\n"), Step::Break]),
        _ => reply(200, &seen.result(says("done"))),
    });
    let client = mock.connect().await;
    let error = client.call("x", ()).await.unwrap_err();
    assert!(error.is_closed() && error.to_string().contains("may be sent again"), "{error}");
    client.call("x", ()).await.unwrap();
    let calls: Vec<_> = mock.seen().into_iter().filter(|s| s.what() == "tools/call").collect();
    assert_eq!(calls.len(), 2);
    assert_ne!(calls[0].body["id"], calls[1].body["id"]);
    assert!(mock.seen().iter().all(|s| s.header("last-event-id").is_none() && s.verb == "POST"));
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

#[tokio::test(start_paused = true)]
async fn lines_169_170_177_a_stream_that_was_left_is_taken_up_again() {
    let prime = &["id: e1\nretry: 500\ndata: \n\n"];
    type Case = (&'static [&'static str], fn(usize, Value) -> Response<Body>, &'static [(u128, &'static str)]);
    let cases: [Case; 4] = [
        (prime, |_, a| stream([event(&a)]), &[(500, "e1")]),
        (&["id: e1\ndata:\n\n"], |_, a| stream([event(&a)]), &[(1000, "e1")]),
        // Again and again, each time a little further.
        (
            prime,
            |n, a| match n {
                0 => stream([send("id: e2\nretry: 700\ndata:\n\n"), Step::Break]),
                1 => stream([send("id: e3\ndata:\n\n")]),
                _ => stream([event(&a)]),
            },
            &[(500, "e1"), (700, "e2"), (700, "e3")],
        ),
        // What does not come yet is waited for, longer each time.
        (
            prime,
            |n, a| match n {
                0 => empty(503),
                1 => stream([]),
                _ => stream([event(&a)]),
            },
            &[(500, "e1"), (1000, "e1"), (2000, "e1")],
        ),
    ];
    for (first, then, expected) in cases {
        let mock = polling(first, then);
        let client = mock.connect().await;
        assert_eq!(client.call("x", ()).await.unwrap().text(), "done");
        let mut before = mock.last("tools/call").at;
        let gets: Vec<_> = mock.seen().into_iter().filter(|s| s.headers.contains_key("last-event-id")).collect();
        let mut found = Vec::new();
        for get in &gets {
            assert_eq!((get.header("accept"), get.header("mcp-session-id")), (Some("text/event-stream"), Some("s1")));
            found.push(((get.at - before).as_millis(), get.header("last-event-id").unwrap()));
            before = get.at;
        }
        assert_eq!(found, expected);
        assert_eq!(mock.count("tools/call"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_cannot_be_taken_up_again_leaves_the_outcome_open() {
    let prime = &["id: e1\nretry: 10\ndata: \n\n"];
    let cases: [fn(usize, Value) -> Response<Body>; 4] =
        [|_, _| empty(405), |_, _| empty(503), |_, _| stream([]), |_, _| text(200, "text/html", "?")];
    for then in cases {
        let mock = polling(prime, then);
        let error = mock.connect().await.call("x", ()).await.unwrap_err();
        assert!(error.is_closed() && error.to_string().contains("not known"), "{error}");
    }
}
