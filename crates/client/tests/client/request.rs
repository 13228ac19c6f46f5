//! Requests: pages, progress, deadlines, cancellation, results.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_client::{Client, Outcome};
use couplet_core::ErrorKind;
use couplet_types::{CompletionReference, LoggingLevel, Meta, ProtocolVersion};
use serde_json::{Value, json};

use crate::script::{Script, error, notification, result, settle};

fn everything() -> Value {
    json!({ "tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {} })
}

async fn connect(script: &Script, version: ProtocolVersion) -> Client {
    Client::new("test", "1").versions([version]).connect(script.clone()).await.unwrap()
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// A list of tools in pages; each page is its entries and the cursor of the next one.
async fn pages(version: ProtocolVersion, pages: Vec<(usize, Option<&'static str>)>) -> (Script, Client) {
    let script = Script::speaking(version, everything(), move |m| {
        let cursor = m["params"]["cursor"].as_str();
        let at = cursor.map_or(0, |c| pages.iter().position(|(_, next)| *next == Some(c)).unwrap() + 1);
        let (count, next) = pages[at.min(pages.len() - 1)];
        let tools: Vec<_> = (0..count).map(|n| json!({ "name": format!("t{at}-{n}"), "inputSchema": {} })).collect();
        let mut page = json!({ "tools": tools });
        if let Some(next) = next {
            page["nextCursor"] = json!(next);
        }
        vec![result(m, page)]
    });
    let client = connect(&script, version).await;
    (script, client)
}

#[tokio::test]
async fn lists_are_read_to_the_end() {
    for &version in ProtocolVersion::ALL {
        let (script, client) = pages(version, vec![(2, Some("b")), (0, Some("")), (1, None)]).await;
        let names: Vec<_> = client.tools().await.unwrap().into_iter().map(|t| t.name).collect();
        assert_eq!(names, ["t0-0", "t0-1", "t2-0"]);
        let lists = script.seen_of("tools/list");
        assert_eq!(lists.len(), 3);
        assert_eq!(lists[2]["params"]["cursor"], "");
        assert!(lists[0]["params"].get("cursor").is_none());

        let mut stream = client.tool_pages();
        assert_eq!(stream.next().await.unwrap().unwrap().len(), 2);
        assert_eq!(script.seen_of("tools/list").len(), 4);
    }
}

#[tokio::test]
async fn lists_that_do_not_end_are_errors() {
    let version = ProtocolVersion::V2025_11_25;
    let (_, client) = pages(version, vec![(1, Some("a")), (1, Some("a"))]).await;
    assert!(client.tools().await.unwrap_err().to_string().contains("the same cursor twice"));
    let (_, client) = pages(version, vec![(10_001, None)]).await;
    assert!(client.tools().await.unwrap_err().to_string().contains("10000"));
    let script = Script::speaking(version, everything(), |m| {
        let at: usize = m["params"]["cursor"].as_str().map_or(0, |c| c.parse().unwrap());
        vec![result(m, json!({ "resources": [], "nextCursor": (at + 1).to_string() }))]
    });
    let client = connect(&script, version).await;
    let mut pages = client.resource_pages();
    let mut count = 0;
    let failed = loop {
        match pages.next().await {
            Some(Ok(_)) => count += 1,
            Some(Err(e)) => break e,
            None => panic!("it ended"),
        }
    };
    assert_eq!((count, failed.kind()), (63, ErrorKind::Protocol));
    assert!(pages.next().await.is_none());
}

#[tokio::test]
async fn what_a_server_lacks_is_not_asked_for() {
    for &version in ProtocolVersion::ALL {
        let script = Script::speaking(version, json!({}), |m| vec![error(m, -32601, "no")]);
        let client = connect(&script, version).await;
        settle().await;
        let before = script.seen().len();
        assert!(client.tools().await.unwrap().is_empty());
        assert!(client.resources().await.unwrap().is_empty());
        assert!(client.resource_templates().await.unwrap().is_empty());
        assert!(client.prompts().await.unwrap().is_empty());
        let failed = client.call("x", ()).await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Unsupported);
        assert!(failed.to_string().contains("`tools`"), "{failed}");
        assert_eq!(client.read("file:///a").await.unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(client.prompt("p", ()).await.unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(client.set_log_level(LoggingLevel::Info).await.unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(script.seen().len(), before);
        // The first revision has no capability for completion, so it may be tried.
        let completed = client.complete(CompletionReference::prompt("p"), "a", "b").await.unwrap_err();
        let tried = version == ProtocolVersion::V2024_11_05;
        assert_eq!(completed.kind(), if tried { ErrorKind::Rpc } else { ErrorKind::Unsupported });
    }
}

#[tokio::test]
async fn the_usual_requests() {
    for &version in ProtocolVersion::ALL {
        let script = Script::speaking(version, everything(), |m| {
            let answer = match m["method"].as_str().unwrap() {
                "resources/read" => json!({ "contents": [{ "uri": "file:///a", "text": "A" }] }),
                "prompts/get" => {
                    json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "hi" } }] })
                }
                "completion/complete" => json!({ "completion": { "values": ["Oslo"] } }),
                "ping" | "logging/setLevel" => json!({}),
                "tools/call" => text("ok"),
                _ => return vec![],
            };
            vec![result(m, answer)]
        });
        let client = connect(&script, version).await;
        assert_eq!(client.read("file:///a").await.unwrap().all_text(), "A");
        assert_eq!(client.prompt("plan", json!({ "city": "Oslo" })).await.unwrap().messages.len(), 1);
        assert_eq!(script.seen_of("prompts/get")[0]["params"]["arguments"], json!({ "city": "Oslo" }));
        let plan = CompletionReference::prompt("plan");
        assert_eq!(client.complete(plan, "city", "Os").context([("a", "b")]).await.unwrap().values, ["Oslo"]);
        client.set_log_level(LoggingLevel::Error).await.unwrap();
        client.call("t", ()).meta(Meta::new().with("mine", json!(1))).await.unwrap();
        let call = &script.seen_of("tools/call")[0]["params"];
        assert!(call.get("arguments").is_none());
        assert_eq!(call["_meta"]["mine"], 1);
        if version == ProtocolVersion::V2026_07_28 {
            assert_eq!(client.ping().await.unwrap_err().kind(), ErrorKind::Unsupported);
            assert_eq!(call["_meta"]["io.modelcontextprotocol/logLevel"], "error");
            assert!(script.seen_of("logging/setLevel").is_empty());
        } else {
            client.ping().await.unwrap();
            assert_eq!(script.seen_of("logging/setLevel")[0]["params"]["level"], "error");
        }
        let wrong = client.call("t", json!([1])).await.unwrap_err();
        assert_eq!(wrong.kind(), ErrorKind::Config);
        assert_eq!(client.prompt("t", json!({ "n": 1 })).await.unwrap_err().kind(), ErrorKind::Config);
    }
}

#[tokio::test]
async fn the_level_can_be_set_from_the_beginning() {
    for &version in ProtocolVersion::ALL {
        let script = Script::speaking(version, everything(), |m| match m["id"] {
            Value::Null => vec![],
            _ => vec![result(m, text("ok"))],
        });
        let builder = Client::new("test", "1").versions([version]).log_level(LoggingLevel::Debug);
        let client = builder.connect(script.clone()).await.unwrap();
        client.call("t", ()).await.unwrap();
        let stateless = &script.seen_of("tools/call")[0]["params"]["_meta"]["io.modelcontextprotocol/logLevel"];
        let session = script.seen_of("logging/setLevel").len();
        assert!(if version == ProtocolVersion::V2026_07_28 { stateless == "debug" } else { session == 1 });
    }
}

#[tokio::test]
async fn a_server_that_rejects_the_level_is_connected_to() {
    let script = Script::speaking(ProtocolVersion::V2025_11_25, everything(), |m| match m["method"].as_str() {
        Some("logging/setLevel") => vec![error(m, -32601, "no such method")],
        _ if m["id"].is_null() => vec![],
        _ => vec![result(m, text("ok"))],
    });
    let builder = Client::new("test", "1").versions([ProtocolVersion::V2025_11_25]).log_level(LoggingLevel::Debug);
    let client = builder.connect(script.clone()).await.unwrap();
    assert_eq!(script.seen_of("logging/setLevel").len(), 1);
    client.call("t", ()).await.unwrap();
}

#[tokio::test]
async fn results_as_text_and_as_data() {
    let results = [
        ("data", json!({ "content": [], "structuredContent": { "n": 1 } })),
        ("text", text(r#"{"n":1}"#)),
        ("failed", json!({ "content": [{ "type": "text", "text": "no city" }], "isError": true })),
        ("words", text("one")),
        ("broken", json!({ "content": "one" })),
    ];
    let script = Script::speaking(ProtocolVersion::V2025_11_25, everything(), move |m| {
        let wanted = results.iter().find(|(name, _)| m["params"]["name"] == *name);
        wanted.map(|(_, r)| result(m, r.clone())).into_iter().collect()
    });
    let client = connect(&script, ProtocolVersion::V2025_11_25).await;
    for name in ["data", "text"] {
        let result = client.call(name, ()).await.unwrap();
        assert_eq!(result.structured::<Value>().unwrap(), json!({ "n": 1 }));
        assert!(!result.is_error());
        assert_eq!(client.call(name, ()).structured::<Value>().await.unwrap(), json!({ "n": 1 }));
    }
    assert_eq!(client.call("failed", ()).structured::<Value>().await.unwrap_err().kind(), ErrorKind::Tool);
    assert_eq!(client.call("data", ()).structured::<String>().await.unwrap_err().kind(), ErrorKind::Protocol);
    let failed = client.call("failed", ()).await.unwrap();
    assert!(failed.is_error());
    assert_eq!(failed.text(), "no city");
    assert_eq!(failed.structured::<Value>().unwrap_err().to_string(), "the tool failed: no city");
    assert_eq!(client.call("words", ()).await.unwrap().structured::<Value>().unwrap_err().kind(), ErrorKind::Protocol);
    let broken = client.call("broken", ()).await.unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::Protocol);
    assert!(std::error::Error::source(&broken).unwrap().to_string().contains("content"));
}

#[tokio::test]
async fn a_failed_tool_is_an_error_after_into_result() {
    for &version in ProtocolVersion::ALL {
        let script = Script::speaking(version, everything(), |m| {
            let content = match m["params"]["name"].as_str() {
                Some("silent") => json!([]),
                _ => json!([{ "type": "text", "text": "no city" }]),
            };
            vec![result(m, json!({ "content": content, "isError": m["params"]["name"] != "works" }))]
        });
        let client = connect(&script, version).await;
        let called = |name| {
            let call = client.call(name, ());
            async { call.await.unwrap().into_result() }
        };
        assert_eq!(called("works").await.unwrap().text(), "no city", "{version}");
        for (name, text) in [("fails", "the tool failed: no city"), ("silent", "the tool failed without a text")] {
            let failed = called(name).await.unwrap_err();
            assert_eq!((failed.kind(), failed.to_string().as_str()), (ErrorKind::Tool, text), "{version}");
            let failed = client.call(name, ()).successful().await.unwrap_err();
            assert_eq!((failed.kind(), failed.to_string().as_str()), (ErrorKind::Tool, text), "{version}");
        }
        assert_eq!(client.call("works", ()).successful().await.unwrap().text(), "no city", "{version}");
    }
}

#[tokio::test]
async fn an_error_of_the_server_is_kept() {
    let script = Script::speaking(ProtocolVersion::V2026_07_28, everything(), |m| vec![error(m, -32602, "which?")]);
    let client = connect(&script, ProtocolVersion::V2026_07_28).await;
    let failed = client.call("t", ()).await.unwrap_err();
    assert_eq!(failed.rpc().unwrap().code, -32602);
}

fn progress(request: &Value, progress: f64) -> Value {
    let token = &request["params"]["_meta"]["progressToken"];
    notification("notifications/progress", json!({ "progressToken": token, "progress": progress, "total": 2 }))
}

#[tokio::test]
async fn progress_is_told_to_the_call_that_asked() {
    for &version in ProtocolVersion::ALL {
        let script = Script::speaking(version, everything(), |m| match m["method"].as_str() {
            Some("tools/call") => vec![progress(m, 1.0), progress(m, 2.0), result(m, text("ok"))],
            _ => vec![],
        });
        let client = connect(&script, version).await;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hear = heard.clone();
        client.call("t", ()).on_progress(move |p| hear.lock().unwrap().push(p.progress)).await.unwrap();
        assert_eq!(*heard.lock().unwrap(), [1.0, 2.0]);
        client.call("t", ()).await.unwrap();
        let calls = script.seen_of("tools/call");
        assert_eq!(calls[0]["params"]["_meta"]["progressToken"], calls[0]["id"]);
        assert!(calls[1]["params"]["_meta"].get("progressToken").is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_too_long_is_cancelled() {
    for &version in ProtocolVersion::ALL {
        let script = Script::speaking(version, everything(), |_| vec![]);
        let client = connect(&script, version).await;
        let began = tokio::time::Instant::now();
        let failed = client.call("slow", ()).timeout(Duration::from_secs(5)).await.unwrap_err();
        assert!(failed.is_timeout());
        assert!(failed.to_string().contains("within 5s"), "{failed}");
        assert_eq!(began.elapsed(), Duration::from_secs(5));
        settle().await;
        let cancelled = script.seen_of("notifications/cancelled");
        assert_eq!(cancelled.len(), 1);
        assert_eq!(cancelled[0]["params"]["requestId"], script.seen_of("tools/call")[0]["id"]);
        // The answer comes after all: nobody is hurt.
        script.push(result(&script.seen_of("tools/call")[0], text("late")));
        settle().await;
        assert!(client.call("slow", ()).await.unwrap_err().to_string().contains("within 60s"));
    }
}

#[tokio::test(start_paused = true)]
async fn progress_extends_the_deadline_but_not_for_ever() {
    let version = ProtocolVersion::V2026_07_28;
    let script = Script::speaking(version, everything(), |_| vec![]);
    let client = connect(&script, version).await;
    let began = tokio::time::Instant::now();
    let pushing = script.clone();
    let pushes = tokio::spawn(async move {
        for n in 1.. {
            tokio::time::sleep(Duration::from_secs(4)).await;
            let call = pushing.seen_of("tools/call").pop().unwrap();
            pushing.push(progress(&call, f64::from(n)));
        }
    });
    let call = client.call("slow", ()).timeout(Duration::from_secs(5)).max_timeout(Duration::from_secs(30));
    let failed = call.on_progress(|_| ()).await.unwrap_err();
    assert!(failed.is_timeout());
    assert!(failed.to_string().contains("max_timeout"), "{failed}");
    assert_eq!(began.elapsed(), Duration::from_secs(30));
    pushes.abort();
}

#[tokio::test]
async fn dropping_a_call_cancels_it_once() {
    for &version in ProtocolVersion::ALL {
        let script = Script::speaking(version, everything(), |m| match m["params"]["name"].as_str() {
            Some("quick") => vec![result(m, text("ok"))],
            _ => vec![],
        });
        let client = connect(&script, version).await;
        let other = client.clone();
        let task = tokio::spawn(async move { other.call("slow", ()).await });
        settle().await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        settle().await;
        assert_eq!(script.seen_of("notifications/cancelled").len(), 1);
        client.call("quick", ()).await.unwrap();
        settle().await;
        assert_eq!(script.seen_of("notifications/cancelled").len(), 1);
        let ids: Vec<_> = script.seen().iter().filter_map(|m| m["id"].as_i64()).collect();
        assert!(ids.windows(2).all(|w| w[0] < w[1]), "{ids:?}");
    }
}

#[tokio::test]
async fn a_connection_that_ends_fails_what_waits() {
    let script = Script::new(|m| match m["method"].as_str() {
        Some("initialize") => crate::script::Say::Send(vec![result(
            m,
            json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "s", "version": "1" } }),
        )]),
        Some("tools/call") => crate::script::Say::Exit,
        _ => crate::script::Say::Send(vec![]),
    });
    let client = connect(&script, ProtocolVersion::V2025_11_25).await;
    assert!(client.call("t", ()).await.unwrap_err().is_closed());
    assert!(client.tools().await.unwrap_err().is_closed());
}

#[tokio::test]
async fn log_messages_reach_the_callback_and_the_stream() {
    for &version in ProtocolVersion::ALL {
        let script = Script::speaking(version, everything(), |_| vec![]);
        let lines = Arc::new(Mutex::new(Vec::new()));
        let hear = lines.clone();
        let builder = Client::new("test", "1").versions([version]).on_log(move |line| {
            hear.lock().unwrap().push(line.data.get().to_owned());
            assert_ne!(line.level, LoggingLevel::Alert);
        });
        let client = builder.connect(script.clone()).await.unwrap();
        let mut notifications = client.notifications();
        script.push(notification("notifications/message", json!({ "level": "alert", "data": "panic" })));
        for n in 0..300 {
            script.push(notification("notifications/message", json!({ "level": "info", "data": n })));
        }
        settle().await;
        assert_eq!(lines.lock().unwrap().len(), 301);
        let first = notifications.next().await.unwrap().read::<couplet_types::LogMessage>().unwrap();
        assert_eq!(first.data.get(), "44");
    }
}

#[tokio::test]
async fn the_raw_outcome() {
    let script = Script::speaking(ProtocolVersion::V2026_07_28, everything(), |m| {
        vec![result(m, json!({ "resultType": "input_required", "requestState": "s" }))]
    });
    let client = connect(&script, ProtocolVersion::V2026_07_28).await;
    let outcome = client.call_outcome("t", ()).await.unwrap();
    assert!(matches!(outcome, Outcome::InputRequired { asks, state: Some(s) } if asks.is_empty() && s == "s"));
    assert_eq!(script.seen_of("tools/call").len(), 1);
}
