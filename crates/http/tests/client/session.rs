//! Sessions.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use couplet_client::Client;
use couplet_core::ErrorKind;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    log::Log,
    mock::{LEGACY, Mock, Seen, Step, URL, empty, event, initialized, reply, says, send, stream, text, tools, with},
};

const A_WHILE: Duration = Duration::from_secs(60);

/// What a client sends in a session of each revision: requests, notifications, answers, and the end.
async fn conversation() -> Vec<(&'static str, Vec<Seen>)> {
    let mut all = Vec::new();
    for version in ["2025-03-26", "2025-06-18", LEGACY] {
        let mock = Mock::session(version, |seen| match seen.what() {
            "tools/list" => reply(200, &seen.result(tools(&[]))),
            "tools/call" => stream([Step::Hang]),
            "GET" => stream([event(&json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" })), Step::Hang]),
            _ => empty(202),
        });
        let client = mock.connect().await;
        assert_eq!(client.server().version.as_str(), version);
        client.tools().await.unwrap();
        assert!(timeout(A_WHILE / 2, client.call("slow", ()).into_future()).await.is_err());
        client.close().await.unwrap();
        let mut asked = mock.asked();
        asked.sort();
        let calls = ["initialize", "notifications/cancelled", "notifications/initialized", "server/discover"];
        assert_eq!(asked, [&["DELETE", "GET", "answer"], &calls[..], &["tools/call", "tools/list"]].concat());
        all.push((version, mock.seen().into_iter().filter(|s| s.what() != "server/discover").collect()));
    }
    all
}

#[tokio::test(start_paused = true)]
async fn line_062_the_revision_is_named_after_the_handshake() {
    for (version, seen) in conversation().await {
        for seen in seen {
            let expected = (seen.what() != "initialize").then_some(version);
            assert_eq!(seen.header("mcp-protocol-version"), expected, "{}", seen.what());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn line_159_each_message_is_a_post_of_its_own() {
    for (_, seen) in conversation().await {
        let messages: Vec<_> = seen.iter().filter(|s| !s.body.is_null()).collect();
        assert_eq!(messages.len(), 6);
        for seen in messages {
            assert_eq!(seen.verb, "POST");
            assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"));
            assert_eq!(seen.header("content-type"), Some("application/json"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn line_160_a_post_holds_one_message() {
    for (_, seen) in conversation().await {
        for seen in seen.iter().filter(|s| s.verb == "POST") {
            let kinds = ["method", "result", "error"].iter().filter(|k| seen.body.get(**k).is_some()).count();
            assert_eq!((seen.body["jsonrpc"].as_str(), kinds), (Some("2.0"), 1), "{}", seen.body);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn line_171_the_stream_is_asked_for_as_one() {
    for (_, seen) in conversation().await {
        let gets: Vec<_> = seen.iter().filter(|s| s.verb == "GET").collect();
        assert_eq!(gets.len(), 1);
        assert_eq!((gets[0].header("accept"), &gets[0].body), (Some("text/event-stream"), &Value::Null));
    }
}

#[tokio::test(start_paused = true)]
async fn line_180_the_session_is_named_after_the_handshake() {
    for (_, seen) in conversation().await {
        for seen in seen {
            let expected = (seen.what() != "initialize").then_some("s1");
            assert_eq!(seen.header("mcp-session-id"), expected, "{}", seen.what());
        }
    }
    // Where there is none, none is named.
    let mock = Mock::new(|seen| match seen.what() {
        "initialize" => reply(200, &seen.result(initialized())),
        "tools/list" => reply(200, &seen.result(tools(&[]))),
        "notifications/initialized" => empty(202),
        _ => empty(405),
    });
    let client = mock.connect().await;
    client.tools().await.unwrap();
    client.close().await.unwrap();
    assert!(mock.seen().iter().all(|s| s.header("mcp-session-id").is_none()));
}

#[tokio::test(start_paused = true)]
async fn line_184_a_session_is_ended() {
    for (_, seen) in conversation().await {
        let last = seen.last().unwrap();
        assert_eq!((&*last.verb, &*last.uri, last.header("mcp-session-id")), ("DELETE", URL, Some("s1")));
    }
    // Also when the client is only dropped, and if the server does not want to know.
    for status in [200, 404, 405, 500] {
        let mock = Mock::legacy(move |seen| empty(if seen.verb == "DELETE" { status } else { 405 }));
        drop(mock.connect().await);
        tokio::time::sleep(A_WHILE).await;
        assert_eq!(mock.count("DELETE"), 1, "{:?}", mock.asked());
    }
    // Without a session there is nothing to end.
    let mock = Mock::modern(|_| empty(404));
    mock.connect().await.close().await.unwrap();
    assert_eq!(mock.asked(), ["server/discover"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_follows_before_the_server_knows_that_the_session_is_open() {
    let mock = Mock::new(|seen| match seen.what() {
        "initialize" => reply(200, &seen.result(initialized())),
        "notifications/initialized" => with(empty(202), "x-delay", "1000"),
        "tools/list" => reply(200, &seen.result(tools(&[]))),
        _ => empty(405),
    });
    let client = mock.connect().await;
    client.tools().await.unwrap();
    assert_eq!((mock.last("tools/list").at - mock.last("notifications/initialized").at).as_millis(), 1000);
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_a_session_is_waited_for_but_not_for_long() {
    for (delay, expected) in [("200", 200), ("90000", 500)] {
        let mock = Mock::legacy(move |seen| match seen.what() {
            "GET" => with(stream([Step::Hang]), "x-delay", delay),
            _ => reply(200, &seen.result(tools(&[]))),
        });
        mock.connect().await.tools().await.unwrap();
        assert_eq!((mock.last("tools/list").at - mock.last("GET").at).as_millis(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_questions_is_bounded() {
    let mock = Mock::legacy(|seen| match seen.what() {
        "GET" => {
            let pings = (0..1000).map(|id| event(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })));
            stream(pings.chain([Step::Hang]).collect::<Vec<_>>())
        }
        _ => with(empty(202), "x-delay", "1000"),
    });
    let _client = mock.connect().await;
    tokio::time::sleep(A_WHILE).await;
    let answers: Vec<_> = mock.seen().into_iter().filter(|s| s.what() == "answer").collect();
    let refused = answers.iter().filter(|s| s.body.get("error").is_some()).count();
    assert_eq!((answers.len(), refused), (64 + 256, 256));
}

/// A server that forgets its first session after the handshake.
fn forgetful(answer_with: fn(&crate::mock::Seen) -> http::Response<couplet_http::client::Body>) -> Mock {
    let sessions = AtomicUsize::new(0);
    Mock::new(move |seen| match seen.what() {
        "server/discover" => empty(404),
        "initialize" => {
            let id = format!("s{}", sessions.fetch_add(1, Ordering::SeqCst) + 1);
            with(reply(200, &seen.result(initialized())), "mcp-session-id", &id)
        }
        "notifications/initialized" => empty(202),
        "GET" if seen.header("last-event-id").is_none() => empty(405),
        _ if seen.header("mcp-session-id") == Some("s1") => answer_with(seen),
        "tools/call" => reply(200, &seen.result(says("done"))),
        _ => reply(200, &seen.result(tools(&[]))),
    })
}

#[tokio::test(start_paused = true)]
async fn line_183_a_lost_session_is_opened_again() {
    let gone = |seen: &crate::mock::Seen| reply(404, &seen.error(-32001, Value::Null));
    for answer in [gone, |_: &crate::mock::Seen| empty(404)] {
        let mock = forgetful(answer);
        let client = mock.connect().await;
        let (a, b) = (client.clone(), client.clone());
        let lists = [tokio::spawn(async move { a.tools().await }), tokio::spawn(async move { b.tools().await })];
        for list in lists {
            list.await.unwrap().unwrap();
        }
        assert_eq!(mock.count("initialize"), 2, "{:?}", mock.asked());
        let hellos: Vec<_> = mock.seen().into_iter().filter(|s| s.what() == "initialize").collect();
        assert_eq!(hellos[0].body["params"], hellos[1].body["params"]);
        assert_ne!(hellos[0].body["id"], hellos[1].body["id"]);
        assert_eq!(hellos[1].header("mcp-session-id"), None);
        assert_eq!(mock.last("notifications/initialized").header("mcp-session-id"), Some("s2"));
        assert_eq!(mock.last("tools/list").header("mcp-session-id"), Some("s2"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_was_not_called_is_called_in_the_new_session() {
    let mock = forgetful(|_| empty(404));
    assert_eq!(mock.connect().await.call("pay", ()).await.unwrap().text(), "done");
    let calls: Vec<_> = mock.seen().into_iter().filter(|s| s.what() == "tools/call").collect();
    assert_eq!((calls.len(), mock.count("initialize")), (2, 2));
    assert_ne!(calls[0].body["id"], calls[1].body["id"]);
    assert_eq!(calls[1].header("mcp-session-id"), Some("s2"));
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_not_called_twice_because_a_session_was_lost() {
    // The server begins to answer, and does not know the session when the client comes back for the rest.
    let mock = forgetful(|seen| match seen.what() {
        "tools/call" => stream([send("id: e1\nretry: 1\ndata:\n\n"), Step::Break]),
        _ => empty(404),
    });
    let client = mock.connect().await;
    let error = client.call("pay", ()).await.unwrap_err();
    assert!(error.is_closed() && error.to_string().contains("not known"), "{error}");
    assert_eq!((mock.count("tools/call"), mock.count("initialize")), (1, 2));
    assert_eq!(client.call("pay", ()).await.unwrap().text(), "done");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_method_is_not_a_lost_session() {
    let mock = Mock::legacy(|seen| match seen.what() {
        "GET" => empty(405),
        _ => reply(404, &seen.error(-32601, Value::Null)),
    });
    let error = mock.connect().await.tools().await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code, -32601);
    assert_eq!(mock.count("initialize"), 1);
}

#[tokio::test(start_paused = true)]
async fn line_188_a_session_id_is_kept_safe() {
    const SECRET: &str = "secret-session";
    let (log, _guard) = Log::start();
    let mock = Mock::new(|seen| match seen.what() {
        "server/discover" => empty(400),
        "initialize" => with(reply(200, &seen.result(initialized())), "mcp-session-id", SECRET),
        _ if !seen.uri.starts_with("https://server.example/") => empty(500),
        "tools/list" => with(empty(307), "location", "https://evil.example/mcp"),
        "tools/call" => empty(500),
        "ping" => reply(404, &seen.error(-32001, json!({ "session": SECRET }))),
        _ => empty(202),
    });
    let client = mock.connect().await;
    let errors = [
        client.tools().await.unwrap_err(),
        client.call("x", ()).await.map(drop).unwrap_err(),
        client.ping().await.unwrap_err(),
    ];
    client.close().await.unwrap();
    let evil: Vec<_> = mock.seen().into_iter().filter(|s| s.uri.contains("evil")).collect();
    assert_eq!(evil.len(), 1);
    assert!(evil.iter().all(|s| !format!("{:?}", s.headers).contains(SECRET)), "{evil:?}");
    // The server was shown it, marked as what must not be logged, and nobody else.
    let shown = mock.last("tools/call");
    assert!(shown.headers["mcp-session-id"] == SECRET && shown.headers["mcp-session-id"].is_sensitive());
    assert!(!errors.iter().any(|e| e.to_string().contains(SECRET)), "{errors:?}");
    assert!(!format!("{client:?}").contains(SECRET));
    assert!(!log.text().is_empty() && !log.text().contains(SECRET), "{}", log.text());
}

#[tokio::test(start_paused = true)]
async fn a_session_id_that_is_not_visible_ascii_is_refused() {
    for id in ["a b", "é", ""] {
        let mock = Mock::new(move |seen| match seen.what() {
            "initialize" => {
                let mut response = reply(200, &seen.result(initialized()));
                let id = http::HeaderValue::from_bytes(id.as_bytes()).unwrap();
                response.headers_mut().insert("mcp-session-id", id);
                response
            }
            _ => empty(400),
        });
        let error = Client::new("test", "1").connect(mock.target()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
    }
}

fn question(id: u64) -> Value {
    let schema = json!({ "type": "object", "properties": { "yes": { "type": "boolean" } } });
    let params = json!({ "message": "sure?", "requestedSchema": schema });
    json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params })
}

/// Connects a client that says yes to everything.
async fn agreeable(mock: &Mock) -> Client {
    let client = Client::new("test", "1").on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) });
    client.connect(mock.target()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn questions_on_either_stream_are_answered() {
    let mock = Mock::legacy(|seen| match seen.what() {
        "GET" => stream([event(&question(70)), Step::Hang]),
        "tools/call" => {
            let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
            stream([event(&question(7)), event(&ping), Step::Wait(1000), event(&seen.result(says("done")))])
        }
        _ => empty(202),
    });
    let client = agreeable(&mock).await;
    assert_eq!(client.call("ask", ()).await.unwrap().text(), "done");
    let mut answers: Vec<_> = mock.seen().into_iter().filter(|s| s.what() == "answer").collect();
    answers.sort_by_key(|s| s.body["id"].to_string());
    let ids: Vec<_> = answers.iter().map(|s| s.body["id"].clone()).collect();
    assert_eq!(ids, [json!("p"), json!(7), json!(70)]);
    assert_eq!(answers[0].body["result"], json!({}));
    assert_eq!(answers[1].body["result"]["content"], json!({ "yes": true }));
    assert!(answers.iter().all(|s| s.header("mcp-session-id") == Some("s1")));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_taken_back_is_not_answered() {
    let mock = Mock::legacy(|seen| match seen.what() {
        "GET" => {
            let params = json!({ "requestId": 70 });
            let back = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            stream([event(&question(70)), event(&back), Step::Hang])
        }
        _ => empty(202),
    });
    let slow = Client::new("test", "1").on_elicit(|ask| async move {
        tokio::time::sleep(A_WHILE).await;
        ask.decline()
    });
    let _client = slow.connect(mock.target()).await.unwrap();
    tokio::time::sleep(A_WHILE * 2).await;
    assert_eq!(mock.count("answer"), 0);
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_a_session_is_taken_up_again() {
    let times = AtomicUsize::new(0);
    let mock = Mock::legacy(move |seen| match seen.what() {
        "GET" => match times.fetch_add(1, Ordering::SeqCst) {
            0 => stream([send("id: e1\nretry: 2500\ndata:\n\n"), Step::Break]),
            1 => empty(503),
            2 => stream([event(&question(1)), Step::Hang]),
            _ => empty(405),
        },
        _ => empty(202),
    });
    let _client = agreeable(&mock).await;
    tokio::time::sleep(A_WHILE).await;
    let gets: Vec<_> = mock.seen().into_iter().filter(|s| s.verb == "GET").collect();
    assert_eq!(gets.len(), 3);
    assert_eq!((gets[1].at - gets[0].at).as_millis(), 2500);
    assert!((2500..=5000).contains(&(gets[2].at - gets[1].at).as_millis()));
    assert_eq!(gets[0].header("last-event-id"), None);
    assert!(gets[1..].iter().all(|s| s.header("last-event-id") == Some("e1")));
    assert_eq!(mock.count("answer"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_speak_on_its_own_is_left_alone() {
    for status in [400, 404, 405, 501] {
        let mock = Mock::legacy(move |seen| match seen.what() {
            "GET" => text(status, "text/plain", "no"),
            _ => empty(202),
        });
        let _client = mock.connect().await;
        tokio::time::sleep(A_WHILE * 60).await;
        let most = if status >= 500 { 9 } else { 1 };
        assert_eq!(mock.count("GET"), most, "{status}");
    }
}
