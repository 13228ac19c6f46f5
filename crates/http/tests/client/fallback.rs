//! Finding out what a server speaks.

use std::time::Duration;

use couplet_client::Client;
use couplet_core::{Error, ErrorKind};
use couplet_http::client::{Body, Challenge};
use http::Response;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::mock::{
    LEGACY, MODERN, Mock, Seen, Step, discovered, empty, event, initialized, reply, send, stream, text, with,
};

/// Connects, and tells how the two sides speak or why they do not.
async fn outcome(mock: &Mock) -> Result<String, Error> {
    let client = Client::new("test", "1.0.0").connect(mock.target()).await?;
    let version = client.server().version.to_string();
    client.close().await?;
    Ok(version)
}

fn session(seen: &Seen) -> Response<Body> {
    match seen.what() {
        "initialize" => reply(200, &seen.result(initialized())),
        "notifications/initialized" => empty(202),
        _ => empty(405),
    }
}

#[tokio::test(start_paused = true)]
async fn line_078_each_answer_to_the_probe_means_one_thing() {
    type Probe = fn(&Seen) -> Response<Body>;
    let cases: [(&str, Probe, &str); 15] = [
        ("a result", |s| reply(200, &s.result(discovered())), MODERN),
        ("a result on a stream", |s| stream([event(&s.result(discovered()))]), MODERN),
        ("400, empty", |_| empty(400), LEGACY),
        ("404, empty", |_| empty(404), LEGACY),
        ("405, text", |_| text(405, "text/plain", "Method Not Allowed"), LEGACY),
        ("422, text", |_| text(422, "text/plain", "expected initialize"), LEGACY),
        ("400, other JSON", |_| text(400, "application/json", r#"{"detail":"no"}"#), LEGACY),
        (
            "400, an error without an id",
            |_| {
                reply(
                    400,
                    &json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32000, "message": "not initialized" } }),
                )
            },
            LEGACY,
        ),
        ("404, -32601", |s| reply(404, &s.error(-32601, Value::Null)), LEGACY),
        ("200, -32601", |s| reply(200, &s.error(-32601, Value::Null)), LEGACY),
        ("200, -32601 on a stream", |s| stream([event(&s.error(-32601, Value::Null))]), LEGACY),
        (
            "400, only an older revision",
            |s| reply(400, &s.error(-32022, json!({ "supported": [LEGACY], "requested": MODERN }))),
            LEGACY,
        ),
        ("400, -32020", |s| reply(400, &s.error(-32020, Value::Null)), "Rpc"),
        ("500", |_| empty(500), "Transport"),
        ("503 with an error in it", |s| reply(503, &s.error(-32603, Value::Null)), "Transport"),
    ];
    for (name, probe, expected) in cases {
        let mock = Mock::new(move |seen| if seen.what() == "server/discover" { probe(seen) } else { session(seen) });
        let found = outcome(&mock).await.unwrap_or_else(|e| format!("{:?}", e.kind()));
        assert_eq!(found, expected, "{name}: {:?}", mock.asked());
        assert_eq!(mock.count("initialize"), usize::from(expected == LEGACY), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_is_named_is_tried_again() {
    let first = std::sync::atomic::AtomicBool::new(true);
    let mock = Mock::new(move |seen| {
        if first.swap(false, std::sync::atomic::Ordering::SeqCst) {
            return reply(400, &seen.error(-32022, json!({ "supported": [MODERN], "requested": MODERN })));
        }
        reply(200, &seen.result(discovered()))
    });
    assert_eq!(outcome(&mock).await.unwrap(), MODERN);
    assert_eq!(mock.asked(), ["server/discover", "server/discover"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_the_network_says_nothing_about_the_server() {
    let broken = || Err(Error::new(ErrorKind::Transport, "no route"));
    for mock in [
        Mock::failing(move |_| broken()),
        Mock::new(|_| stream([send("data: {\"jsonrpc\":"), Step::Break])),
        Mock::new(|_| stream([])),
    ] {
        assert_eq!(outcome(&mock).await.unwrap_err().kind(), ErrorKind::Transport);
        assert_eq!(mock.asked(), ["server/discover"]);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_not_let_in_is_told_what_the_server_asks_for() {
    for status in [401, 403] {
        let mock = Mock::new(move |_| with(empty(status), "www-authenticate", "Bearer scope=\"a\""));
        let error = outcome(&mock).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth);
        let challenge = std::error::Error::source(&error).unwrap().downcast_ref::<Challenge>().unwrap();
        assert_eq!((challenge.status, &*challenge.www_authenticate), (status, &["Bearer scope=\"a\"".to_owned()][..]));
        assert_eq!(mock.asked(), ["server/discover"]);
    }
}

/// A server of the first revision: its answers come on the stream.
pub(crate) fn first_revision(endpoint: &'static str) -> Mock {
    let stream_of = std::sync::Mutex::new(None);
    Mock::new(move |seen| match (&*seen.verb, seen.uri.contains("messages")) {
        ("GET", _) => {
            let (tell, hear) = std::sync::mpsc::channel::<Value>();
            *stream_of.lock().unwrap() = Some(tell);
            let mut response = stream([send(&format!("event: endpoint\ndata: {endpoint}\n\n"))]);
            let answers = Answers(hear, Some(format!("event: endpoint\ndata: {endpoint}\n\n")), None);
            *response.body_mut() = Body::new(answers);
            response
        }
        (_, false) => empty(405),
        _ => {
            let answer = match seen.what() {
                "initialize" => {
                    let mut result = initialized();
                    result["protocolVersion"] = json!("2024-11-05");
                    Some(result)
                }
                "tools/list" => Some(json!({ "tools": [] })),
                _ => None,
            };
            if let Some(answer) = answer {
                stream_of.lock().unwrap().as_ref().unwrap().send(seen.result(answer)).unwrap();
            }
            text(202, "text/plain", "Accepted")
        }
    })
}

struct Answers(std::sync::mpsc::Receiver<Value>, Option<String>, Option<std::pin::Pin<Box<tokio::time::Sleep>>>);

impl futures_core::Stream for Answers {
    type Item = Result<bytes::Bytes, Error>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        use std::{future::Future, task::Poll};
        if let Some(text) = self.1.take() {
            return Poll::Ready(Some(Ok(text.into())));
        }
        loop {
            if let Ok(message) = self.0.try_recv() {
                return Poll::Ready(Some(Ok(format!("event: message\ndata: {message}\n\n").into())));
            }
            let sleep =
                self.2.get_or_insert_with(|| Box::pin(tokio::time::sleep(std::time::Duration::from_millis(10))));
            std::task::ready!(sleep.as_mut().poll(cx));
            self.2 = None;
        }
    }
}

// The receiver is only used by one task at a time.
impl Unpin for Answers {}

#[tokio::test(start_paused = true)]
async fn line_153_messages_go_where_the_stream_says() {
    let mock = first_revision("/messages?session=1");
    let client = mock.connect().await;
    assert_eq!(client.server().version.as_str(), "2024-11-05");
    assert!(client.tools().await.unwrap().is_empty());
    assert!(timeout(Duration::from_secs(1), client.call("slow", ()).into_future()).await.is_err());
    client.close().await.unwrap();
    let seen = mock.seen();
    let opened = seen.iter().position(|s| s.verb == "GET").unwrap();
    let later: Vec<_> = seen[opened + 1..].iter().map(Seen::what).collect();
    let cancelled = "notifications/cancelled";
    assert_eq!(later, ["initialize", "notifications/initialized", "tools/list", "tools/call", cancelled]);
    for seen in &seen[opened + 1..] {
        assert_eq!((&*seen.verb, &*seen.uri), ("POST", "https://server.example/messages?session=1"));
        assert_eq!(seen.header("mcp-session-id"), None);
    }
    assert_eq!(mock.last(cancelled).body["params"]["requestId"], mock.last("tools/call").body["id"]);
}

#[tokio::test(start_paused = true)]
async fn line_156_the_first_transport_is_the_last_resort() {
    // A server that has both is not spoken to in the old way.
    let mock = Mock::new(|seen| match seen.what() {
        "GET" if seen.header("mcp-session-id").is_none() => stream([send("event: endpoint\ndata: /m\n\n"), Step::Hang]),
        _ => session(seen),
    });
    assert_eq!(outcome(&mock).await.unwrap(), LEGACY);
    assert!(mock.seen().iter().all(|s| s.uri == crate::mock::URL));
    let mock = first_revision("/messages");
    mock.connect().await;
    assert_eq!(mock.asked()[..4], ["server/discover", "initialize", "GET", "initialize"]);
}

#[tokio::test(start_paused = true)]
async fn line_191_a_refused_handshake_leads_to_the_stream() {
    for (status, tried) in [(400, true), (404, true), (405, true), (413, false), (429, false), (500, false)] {
        let mock = Mock::new(move |seen| match seen.what() {
            "GET" => empty(405),
            "initialize" => empty(status),
            _ => empty(400),
        });
        assert_eq!(outcome(&mock).await.unwrap_err().kind(), ErrorKind::Transport);
        let asked = mock.asked();
        assert_eq!(asked[..2], ["server/discover", "initialize"]);
        assert_eq!(asked[2..], *if tried { &["GET"][..] } else { &[] }, "{status}");
        if tried {
            assert_eq!(mock.last("GET").header("accept"), Some("text/event-stream"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_elsewhere_is_refused() {
    let mock = first_revision("https://evil.example/messages");
    assert_eq!(outcome(&mock).await.unwrap_err().kind(), ErrorKind::Protocol);
    assert!(mock.seen().iter().all(|s| !s.uri.contains("evil")));
}

#[tokio::test(start_paused = true)]
async fn nothing_at_all_is_said_in_one_sentence() {
    let error = outcome(&Mock::new(|_| empty(404))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.to_string().contains("404 Not Found to a GET"), "{error}");
}
