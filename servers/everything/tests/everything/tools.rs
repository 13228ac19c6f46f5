//! Every tool is called in every revision, and says what it should.

use std::collections::BTreeSet;

use couplet::{
    ProtocolVersion,
    tasks::{CallTask, Called},
};
use serde_json::{Value, json};

use crate::kit::{connect, is_in};

/// A tool, its arguments, parts of what it answers, and in which revisions it works.
type Row = (&'static str, Value, &'static [&'static str], &'static str);

fn rows() -> Vec<Row> {
    let data = "data:text/plain;base64,aGVsbG8=";
    vec![
        ("echo", json!({ "message": "hi" }), &[r#"[{"type":"text","text":"Echo: hi"}]"#], "xxxxx"),
        (
            "get-annotated-message",
            json!({ "messageType": "error", "includeImage": true }),
            &[
                "Error: Operation failed",
                r#""audience":["user","assistant"],"priority":1"#,
                r#""mimeType":"image/png""#,
            ],
            "xxxxx",
        ),
        ("get-env", json!({}), &["PATH"], "xxxxx"),
        (
            "get-resource-links",
            json!({}),
            &["Here are 3 resource links", "demo://resource/dynamic/blob/1", "demo://resource/dynamic/text/2"],
            "xxxxx",
        ),
        (
            "get-resource-reference",
            json!({ "resourceType": "Text", "resourceId": 5 }),
            &["Returning resource reference for Resource 5:", "Resource 5: This is a plaintext resource created at"],
            "xxxxx",
        ),
        (
            "get-structured-content",
            json!({ "location": "Chicago" }),
            &[r#"{\"temperature\":36,\"conditions\":\"Light rain / drizzle\",\"humidity\":82}"#],
            "xxxxx",
        ),
        ("get-sum", json!({ "a": 0.1, "b": 2 }), &["The sum of 0.1 and 2 is 2.1."], "xxxxx"),
        ("get-tiny-image", json!({}), &["Here's the image you requested:", "image/png", "MCP logo."], "xxxxx"),
        (
            "gzip-file-as-resource",
            json!({ "name": "a.gz", "data": data, "outputType": "resource" }),
            &["demo://resource/session/a.gz", "application/gzip", "H4sI"],
            "xxxxx",
        ),
        ("toggle-simulated-logging", json!({}), &["Started simulated, random-leveled logging"], "xxxx-"),
        ("toggle-simulated-logging", json!({}), &["Logged one message of each level"], "----x"),
        ("toggle-subscriber-updates", json!({}), &["Started simulated resource updated notifications"], "xxxxx"),
        (
            "trigger-long-running-operation",
            json!({ "duration": 4, "steps": 4 }),
            &["Long running operation completed. Duration: 4 seconds, Steps: 4."],
            "xxxxx",
        ),
        (
            "get-roots-list",
            json!({}),
            &["Current MCP Roots (1 total):", "1. Project\\n   URI: file:///project"],
            "xxxxx",
        ),
        (
            "trigger-elicitation-request",
            json!({}),
            &["✅ User provided the requested information!", "- Name: Ada", "- Favorite Integer: 7", "Raw result"],
            "--xxx",
        ),
        (
            "trigger-url-elicitation",
            json!({ "url": "https://example.com/sign-in", "elicitationId": "visit-1" }),
            &["✅ User completed the URL elicitation flow.", "Elicitation ID: visit-1"],
            "---xx",
        ),
        ("trigger-sampling-request", json!({ "prompt": "?" }), &["LLM sampling result: ", "a thought"], "xxxxx"),
        ("trigger-sampling-with-tools", json!({ "prompt": "?" }), &["a thought"], "---xx"),
        (
            "trigger-sampling-request-async",
            json!({ "prompt": "?" }),
            &["[COMPLETED] Async sampling completed!", "Task created: ", "Poll 1: completed", "a thought"],
            "---x-",
        ),
        ("trigger-sampling-request-async", json!({ "prompt": "?" }), &["[SYNC] Client executed", "a thought"], "xxx-x"),
        (
            "trigger-elicitation-request-async",
            json!({}),
            &["[COMPLETED] User provided", "- Favorite Color: Red", "Poll 1: completed"],
            "---x-",
        ),
        ("trigger-elicitation-request-async", json!({}), &["[SYNC] Client executed", "Ada"], "--x-x"),
        ("simulate-research-query", json!({ "topic": "tea" }), &["# Research Report: tea\\n", "Stage 4"], "----x"),
        (
            "simulate-research-query",
            json!({ "topic": "Python", "ambiguous": true }),
            &["# Research Report: Python (programming)"],
            "----x",
        ),
        ("get-tiny-sound", json!({}), &["audio/wav"], "xxxxx"),
        ("get-primes", json!({ "count": 5 }), &["[2,3,5,7,11]"], "xxxxx"),
        ("greet-region", json!({ "region": "eu-north" }), &["Hello, eu-north!"], "xxxxx"),
        (
            "plan-journey",
            json!({ "journey": { "traveller": "Ada", "by": "ship", "stops": [{ "city": "Oslo", "nights": 3 }, { "city": "Bergen" }] } }),
            &["Ada goes by ship: Oslo for 3, Bergen for 1"],
            "xxxxx",
        ),
        ("get-caller", json!({}), &["test 1.0.0"], "xxxxx"),
        ("book-trip", json!({}), &["Booked under ", ": 7 days in Ada for 7."], "--xxx"),
        ("show-clock", json!({}), &["A clock is shown; it is "], "xxxxx"),
        ("refresh-clock", json!({}), &[" UTC"], "xxxxx"),
        ("trigger-error", json!({ "kind": "tool" }), &[], "-----"),
        ("trigger-error", json!({ "kind": "protocol" }), &[], "-----"),
        ("trigger-error", json!({ "kind": "panic" }), &[], "-----"),
    ]
}

#[couplet::test]
async fn each_is_called(version: ProtocolVersion) {
    tokio::time::pause();
    let server = couplet_everything::server_showing(couplet_everything::ShownEnv::all());
    let client = connect(server.build(), version).await;
    for (tool, arguments, says, marks) in rows() {
        let result = client.call(tool, arguments).await;
        if !is_in(marks, version) {
            let works = result.as_ref().is_ok_and(|result| !result.is_error());
            let others = rows().iter().any(|row| row.0 == tool && is_in(row.3, version));
            assert!(!works || others, "{tool} must not work: {result:?}");
            continue;
        }
        let result = result.unwrap_or_else(|error| panic!("{tool}: {error}"));
        assert!(!result.is_error(), "{tool}: {}", result.text());
        let content = serde_json::to_string(result.content()).unwrap();
        says.iter().for_each(|part| assert!(content.contains(part), "{tool} does not say `{part}`: {content}"));
    }
    let called: BTreeSet<_> = rows().into_iter().map(|row| row.0.to_owned()).collect();
    let listed: BTreeSet<_> = client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert!(listed.is_subset(&called), "{:?} were not called", &listed - &called);
}

/// In 2025-11-25 the caller says that it wants a task.
#[couplet::test]
async fn research_is_a_task() {
    tokio::time::pause();
    let client = connect(couplet_everything::server().build(), ProtocolVersion::V2025_11_25).await;
    let call = client.call_task("simulate-research-query", json!({ "topic": "Python", "ambiguous": true }));
    let Called::Task(task) = call.await.unwrap() else { panic!("it is a task") };
    let report = task.wait().await.unwrap().text();
    assert!(report.starts_with("# Research Report: Python (programming)"), "{report}");
    let error = client.call("simulate-research-query", json!({ "topic": "tea" })).await.expect_err("only as a task");
    assert!(error.to_string().contains("task"), "{error}");
}

#[couplet::test]
async fn progress_is_told(version: ProtocolVersion) {
    tokio::time::pause();
    let client = connect(couplet_everything::server().build(), version).await;
    let (tell, mut told) = tokio::sync::mpsc::channel(16);
    let call = client.call("trigger-long-running-operation", json!({ "duration": 30, "steps": 3 }));
    call.on_progress(move |progress| tell.try_send((progress.progress, progress.total)).unwrap()).await.unwrap();
    let mut all = Vec::new();
    told.recv_many(&mut all, 16).await;
    assert_eq!(all, [(1.0, Some(3.0)), (2.0, Some(3.0)), (3.0, Some(3.0))]);
}

/// What a client writes wrong is explained, and costs nothing.
#[couplet::test]
async fn wrong_arguments_are_refused(version: ProtocolVersion) {
    let client = connect(couplet_everything::server().build(), version).await;
    for (tool, arguments, says) in [
        ("echo", json!({}), "message"),
        ("get-sum", json!({ "a": "x", "b": 1 }), "a"),
        ("get-resource-links", json!({ "count": 11 }), "10"),
        ("get-resource-reference", json!({ "resourceId": 1.5 }), "positive integer"),
        ("get-resource-reference", json!({ "resourceId": -1 }), "positive integer"),
        ("get-structured-content", json!({ "location": "Paris" }), "Chicago"),
        ("trigger-long-running-operation", json!({ "duration": 1, "steps": 0 }), ""),
        ("trigger-long-running-operation", json!({ "duration": 1, "steps": 1e18 }), "too many"),
        ("gzip-file-as-resource", json!({ "data": "file:///etc/passwd" }), "Only http, https, and data"),
        ("gzip-file-as-resource", json!({ "data": "http://127.0.0.1/" }), "does not allow"),
        ("gzip-file-as-resource", json!({ "data": "nonsense" }), "nonsense"),
        ("get-primes", json!({ "count": 100_000 }), "1000"),
        ("trigger-error", json!({ "kind": "none" }), "panic"),
    ] {
        let said = match client.call(tool, arguments.clone()).await {
            Ok(result) => {
                assert!(result.is_error(), "{tool} {arguments}: {}", result.text());
                result.text()
            }
            Err(error) => error.to_string(),
        };
        assert!(said.contains(says), "{tool} {arguments}: {said}");
    }
}
