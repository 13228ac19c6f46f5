//! Tasks as an extension: the client's duties.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::{ClientBuilder, Elicitation};
use couplet_core::{Dialect, RequestOptions};
use couplet_tasks::{CallTask, Called, ClientTasks};
use couplet_testing::types::{
    CancelDetailedTask, CancelTaskParams, ClientCapabilities, GetDetailedTask, GetTaskParams, Implementation,
    RequestId, UpdateTask, UpdateTaskParams,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    kit::{RawServer, STATELESS, client, result, said},
    task_kit::{ID, server},
};

fn tasks() -> Value {
    json!({ "tools": {}, "resources": {}, "extensions": { ID: {} } })
}

fn task(kind: &str, status: &str) -> Value {
    json!({ "resultType": kind, "taskId": "t", "status": status, "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null, "pollIntervalMs": 10_000 })
}

fn knowing() -> ClientBuilder {
    client(STATELESS)
        .extension(ClientTasks::new())
        .on_elicit(|ask: Elicitation| async move { ask.accept(json!({ "yes": true })) })
}

#[tokio::test]
async fn line_369_a_client_takes_results_and_tasks() {
    let client = knowing().connect(server()).await.unwrap();
    for (tool, text) in [("plain", "done"), ("quick", "done"), ("ask", "sure: true"), ("first", "sure: true")] {
        assert_eq!(client.call(tool, ()).await.unwrap().text(), text, "{tool}");
        let called = client.call_task(tool, ()).await.unwrap();
        assert_eq!(matches!(called, Called::Task(_)), tool != "plain", "{tool}");
        assert_eq!(called.wait().await.unwrap().text(), text, "{tool}");
    }
    assert!(client.call("broken", ()).await.unwrap_err().to_string().contains("it broke"));
    let raw = RawServer::speaking(STATELESS, tasks(), |m| vec![result(m, task("task", "working"))]);
    let client = knowing().connect(raw).await.unwrap();
    let error = client.read("note://a").await.unwrap_err();
    assert!(error.to_string().contains("unknown type `task`"), "{error}");
}

#[tokio::test]
async fn line_379_a_task_is_cancelled_by_its_own_method() {
    let raw = RawServer::speaking(STATELESS, tasks(), |m| match m["method"].as_str() {
        Some("tools/call") => vec![result(m, task("task", "working"))],
        Some(_) => vec![result(m, json!({ "resultType": "complete" }))],
        None => vec![],
    });
    let client = knowing().connect(raw.clone()).await.unwrap();
    let Called::Task(task) = client.call_task("t", ()).await.unwrap() else { panic!("no task") };
    task.cancel().await.unwrap();
    drop(task);
    crate::kit::settle().await;
    assert_eq!(raw.seen_of("tasks/cancel")[0]["params"]["taskId"], "t");
    assert_eq!(raw.seen_of("notifications/cancelled"), Vec::<Value>::new());
}

#[test]
fn line_380_requests_about_a_task_are_named_by_it() {
    let can = ClientCapabilities::new();
    let dialect = Dialect::new(STATELESS, Implementation::new("c", "1"), can);
    let (id, none) = (RequestId::Number(1), RequestOptions::default());
    let requests = [
        dialect.request::<GetDetailedTask>(id.clone(), GetTaskParams::new("t"), &none),
        dialect.request::<CancelDetailedTask>(id.clone(), CancelTaskParams::new("t"), &none),
        dialect.request::<UpdateTask>(id, UpdateTaskParams::new("t", Default::default()), &none),
    ];
    for request in requests {
        let request = request.unwrap();
        assert_eq!(request.name().as_deref(), Some("t"), "{}", request.method);
    }
}

#[tokio::test(start_paused = true)]
async fn line_381_a_client_looks_when_it_is_time_and_answers_once() {
    let looks = AtomicUsize::new(0);
    let raw = RawServer::speaking(STATELESS, tasks(), move |m| match m["method"].as_str() {
        Some("tasks/get") => vec![result(m, {
            let mut task = task("complete", "input_required");
            let schema = json!({ "type": "object", "properties": { "yes": { "type": "boolean" } } });
            let ask =
                json!({ "method": "elicitation/create", "params": { "message": "?", "requestedSchema": schema } });
            match looks.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => task["inputRequests"] = json!({ "k": ask }),
                2 => task["inputRequests"] = json!({ "k": ask, "l": ask }),
                _ => {
                    task["status"] = json!("completed");
                    task["result"] = json!({ "content": [{ "type": "text", "text": "done" }] });
                }
            }
            task
        })],
        Some(_) => vec![result(m, json!({ "resultType": "complete" }))],
        None => vec![],
    });
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let builder = client(STATELESS).extension(ClientTasks::new()).on_elicit(move |ask: Elicitation| {
        count.fetch_add(1, Ordering::SeqCst);
        async move { ask.accept(json!({ "yes": true })) }
    });
    let client = builder.connect(raw.clone()).await.unwrap();
    let began = Instant::now();
    // The id is all that is needed: the task may be of an earlier process.
    assert_eq!(client.task("t").wait().await.unwrap().text(), "done");
    assert!(began.elapsed() >= Duration::from_secs(30), "three looks were too early");
    let updates: Vec<Value> =
        raw.seen_of("tasks/update").iter().map(|m| m["params"]["inputResponses"].clone()).collect();
    let yes = json!({ "action": "accept", "content": { "yes": true } });
    assert_eq!(updates, [json!({ "k": yes }), json!({ "l": yes })]);
    assert_eq!(asked.load(Ordering::SeqCst), 2, "each question once");
}

#[tokio::test]
async fn line_381_a_client_follows_a_task_to_its_end() {
    let server = server();
    let client = knowing().connect(server.clone()).await.unwrap();
    let Called::Task(task) = client.call_task("report", ()).await.unwrap() else { panic!("no task") };
    let mut updates = task.updates().await;
    let mut message = None;
    while message.is_none() {
        message = updates.next().await.unwrap().unwrap().message;
    }
    assert_eq!(message.as_deref(), Some("half of it"));
    // Another client, which has only the id.
    let other = knowing().connect(server).await.unwrap();
    other.task(task.id()).cancel().await.unwrap();
    while let Some(state) = updates.next().await.unwrap() {
        message = state.message;
    }
    assert_eq!(message.as_deref(), Some("the task was cancelled"));
    assert!(task.wait().await.unwrap_err().to_string().contains("cancelled"));
}

#[tokio::test]
async fn line_382_questions_of_a_task_are_questions_like_others() {
    // This client cannot be asked, so it does not answer, whatever the task wants.
    let raw = RawServer::speaking(STATELESS, tasks(), |m| match m["method"].as_str() {
        Some("tasks/get") => {
            let mut task = task("complete", "input_required");
            let ask = json!({ "method": "elicitation/create", "params": { "message": "?", "requestedSchema": {} } });
            task["inputRequests"] = json!({ "k": ask });
            vec![result(m, task)]
        }
        Some(_) => vec![said(m, "")],
        None => vec![],
    });
    let client = client(STATELESS).extension(ClientTasks::new()).connect(raw.clone()).await.unwrap();
    let error = client.task("t").wait().await.unwrap_err();
    assert!(error.to_string().contains("does not support"), "{error}");
    assert_eq!(raw.seen_of("tasks/update"), Vec::<Value>::new());
}
