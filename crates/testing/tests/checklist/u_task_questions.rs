//! Tasks as a part of the protocol, the other way around: a server asks its client, which runs the question as a task.

use std::{
    sync::{Arc, Mutex},
    task::{Context, Waker},
    time::Duration,
};

use couplet_client::Elicitation;
use couplet_core::Limits;
use couplet_server::{Ctx, Server, ServerHandle, ToolError, tool};
use couplet_tasks::{CallTask, Called, ClientTasks, Memory, Task, TaskTool, Tasks};
use couplet_testing::{
    Wire,
    types::{CreateMessageParams, CreateMessageResult, ProtocolVersion, SamplingMessage},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    kit::{Yes, client, converse, is_request, is_response, open, result, revisions, settle, text, yes},
    task_kit::{CORE, RELATED, begin_id},
};

fn server() -> ServerHandle {
    Server::new("asking", "1.0.0")
        .extension(Tasks::in_memory().poll_interval(Duration::from_millis(1)).use_client_tasks())
        .tool(tool("ask", ask).task(Task::optional()))
        .tool(tool("sample", sample))
        .build()
}

async fn ask(ctx: Ctx) -> Result<String, ToolError> {
    Ok(format!("sure: {}", ctx.elicit::<Yes>("sure", "?").await?.accepted()?.yes))
}

async fn sample(ctx: Ctx) -> Result<String, ToolError> {
    Ok(ctx.sample("model", CreateMessageParams::new(vec![SamplingMessage::user("hi")], 10)).await?.model)
}

/// What a client declares that runs questions as tasks.
fn hosting(requests: Value) -> Value {
    json!({ "elicitation": { "form": {} }, "sampling": {}, "tasks": { "cancel": {}, "requests": requests } })
}

fn both() -> Value {
    hosting(json!({ "elicitation": { "create": {} }, "sampling": { "createMessage": {} } }))
}

fn task(status: &str) -> Value {
    json!({ "taskId": "t", "status": status, "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": null, "pollInterval": 10_000 })
}

/// The next request of the server.
async fn asked(wire: &mut Wire) -> Value {
    loop {
        let message = wire.next().await.unwrap();
        if is_request(&message) {
            return message;
        }
    }
}

#[tokio::test]
async fn line_348_351_a_question_becomes_a_task_where_the_client_says_so_and_may_be_answered_at_once() {
    for &version in ProtocolVersion::ALL {
        for (can, elicitation, sampling) in [
            (both(), true, true),
            (hosting(json!({ "sampling": { "createMessage": {} } })), false, true),
            (hosting(json!({ "elicitation": { "create": {} }, "sampling": {} })), true, false),
            (hosting(json!({ "tools": { "call": {} } })), false, false),
            (json!({ "elicitation": {}, "sampling": {} }), false, false),
        ] {
            for (tool, augmented, answer) in [
                ("ask", elicitation, yes()),
                (
                    "sample",
                    sampling,
                    json!({ "role": "assistant", "content": { "type": "text", "text": "hi" }, "model": "m" }),
                ),
            ] {
                let mut wire = open(server(), version, can.clone()).await;
                let call = ("tools/call", json!({ "name": tool }));
                let (questions, said) = converse(&mut wire, version, call, |_| answer.clone()).await;
                let wanted = questions.iter().any(|q| q["params"].get("task").is_some());
                assert_eq!(wanted, augmented && version == CORE, "{version}: {tool} {can}");
                if version == CORE {
                    assert!(["sure: true", "m"].contains(&text(&said)), "{tool}: {said}");
                }
            }
        }
    }
}

/// Answers as a client whose task has a status at each look, and returns what it was asked and the answer of the tool.
async fn looked_at(looks: &[&str], last: Value) -> (Vec<Value>, Value) {
    let mut wire = open(server(), CORE, both()).await;
    let mut looks = looks.iter();
    let answer = move |m: &Value| match m["method"].as_str().unwrap() {
        "elicitation/create" => json!({ "task": task("working") }),
        "tasks/get" => task(looks.next().expect("it is looked at too often")),
        "tasks/result" => last.clone(),
        other => panic!("`{other}` is not expected"),
    };
    converse(&mut wire, CORE, ("tools/call", json!({ "name": "ask" })), answer).await
}

#[tokio::test(start_paused = true)]
async fn line_355_359_a_server_looks_as_often_as_the_client_likes_and_takes_the_result() {
    let refused = json!({ "error": { "code": -32001, "message": "no time" } });
    for (last, answer, seen, methods) in [
        ("completed", yes(), "sure: true", 5),
        ("input_required", yes(), "sure: true", 5),
        ("failed", refused, "no time", 5),
        ("cancelled", json!({}), "the client cancelled the request", 4),
    ] {
        let began = Instant::now();
        let (asked, said) = looked_at(&["working", "working", last], answer).await;
        assert!(said.to_string().contains(seen), "{last}: {said}");
        assert!(began.elapsed() >= Duration::from_secs(30), "{last}: it looked too early");
        assert_eq!(asked.len(), methods, "{last}: {asked:?}");
        assert!(asked[1..].iter().all(|m| m["params"]["taskId"] == "t"), "{last}: {asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn line_361_a_server_that_is_told_looks_at_once() {
    let mut wire = open(server(), CORE, both()).await;
    let call = wire.start("tools/call", json!({ "name": "ask" }));
    let question = asked(&mut wire).await;
    let began = Instant::now();
    wire.send(&result(&question, json!({ "task": task("working") })));
    settle().await;
    assert_eq!(wire.ready(), Vec::<Value>::new());
    let tell = |id: &str| {
        let params = json!({ "taskId": id, "status": "completed" });
        json!({ "jsonrpc": "2.0", "method": "notifications/tasks/status", "params": params })
    };
    wire.send(&tell("another"));
    settle().await;
    assert_eq!(wire.ready(), Vec::<Value>::new(), "that was another's");
    wire.send(&tell("t"));
    let look = asked(&mut wire).await;
    assert_eq!(look["method"], "tasks/get");
    wire.send(&result(&look, task("completed")));
    let last = asked(&mut wire).await;
    wire.send(&result(&last, yes()));
    assert_eq!(text(&wire.response(call).await), "sure: true");
    assert!(began.elapsed() < Duration::from_secs(10), "it waited until it was time");
}

#[tokio::test]
async fn line_129_a_question_that_is_not_wanted_any_more_is_cancelled_as_a_task() {
    for begun in [true, false] {
        let mut wire = open(server(), CORE, both()).await;
        let call = wire.start("tools/call", json!({ "name": "ask" }));
        let question = asked(&mut wire).await;
        let created = result(&question, json!({ "task": task("working") }));
        if begun {
            wire.send(&created);
            settle().await;
            wire.ready();
        }
        let params = json!({ "requestId": call });
        wire.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
        if !begun {
            settle().await;
            assert_eq!(wire.ready(), Vec::<Value>::new(), "nobody knows the task yet");
            wire.send(&created);
        }
        let cancel = loop {
            let message = wire.next().await.unwrap();
            assert_ne!(message["params"]["requestId"], question["id"], "the request is not taken back");
            if message["method"] == "tasks/cancel" {
                break message;
            }
        };
        assert_eq!(cancel["params"]["taskId"], "t", "begun: {begun}");
        wire.send(&result(&cancel, task("cancelled")));
        settle().await;
        assert_eq!(wire.ready(), Vec::<Value>::new(), "begun: {begun}");
    }
}

#[tokio::test]
async fn line_129_a_question_that_was_never_sent_is_forgotten() {
    let mut limits = Limits::default();
    limits.questions = 1;
    let mut wire = Wire::with(server(), CORE, serde_json::from_value(both()).unwrap(), limits);
    wire.open().await;
    for _ in 0..3 {
        let call = wire.start("tools/call", json!({ "name": "ask" }));
        wire.connection().poll_run(&mut Context::from_waker(Waker::noop()));
        let params = json!({ "requestId": call });
        wire.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
        settle().await;
        assert_eq!(wire.ready(), Vec::<Value>::new());
    }
    let call = wire.start("tools/call", json!({ "name": "ask" }));
    let question = asked(&mut wire).await;
    wire.send(&result(&question, yes()));
    assert_eq!(text(&wire.response(call).await), "sure: true", "there is room for a question");
}

#[tokio::test]
async fn line_356_360_a_task_asks_with_a_task() {
    let mut wire = open(server(), CORE, both()).await;
    let id = begin_id(&mut wire, CORE, "ask").await;
    let (waiting, mut asked) = (wire.start("tasks/result", json!({ "taskId": id })), Vec::new());
    let answer = loop {
        let message = wire.next().await.unwrap();
        let said = match message["method"].as_str() {
            Some("elicitation/create") => {
                let mut task = task("working");
                task["pollInterval"] = json!(1);
                json!({ "task": task })
            }
            Some("tasks/get") => task("completed"),
            Some("tasks/result") => yes(),
            None if message["id"] == waiting && is_response(&message) => break message,
            _ => continue,
        };
        wire.send(&result(&message, said));
        asked.push(message);
    };
    assert_eq!(text(&answer), "sure: true");
    assert_eq!((&asked[0]["params"]["task"], asked.len()), (&json!({}), 3), "{asked:?}");
    assert_eq!(asked[0]["params"]["_meta"][RELATED]["taskId"], json!(id));
}

#[tokio::test]
async fn line_348_both_sides_run_what_the_other_asks() {
    let yes = |ask: Elicitation| async move { ask.accept(json!({ "yes": true })) };
    let model = |_| async { Ok(CreateMessageResult::new("m", "hi")) };
    for &version in ProtocolVersion::ALL {
        let kept = Arc::new(Memory::new());
        let tasks = ClientTasks::new().accept_tasks(kept.clone());
        let client = client(version).on_elicit(yes).on_sample(model).extension(tasks).connect(server()).await.unwrap();
        assert_eq!(client.call("sample", ()).await.unwrap().text(), "m", "{version}");
        if revisions("2025-06-18"..).contains(&version) {
            assert_eq!(client.call_task("ask", ()).await.unwrap().wait().await.unwrap().text(), "sure: true");
        }
        let run = couplet_tasks::Store::list(&kept, None, None, 10).await.unwrap().unwrap();
        assert_eq!(run.len(), if version == CORE { 2 } else { 0 }, "{version}");
        assert!(run.iter().all(|task| task.finished.is_some()), "{version}: {run:?}");
    }
}

/// Line 134: the token stays what it was for as long as there is a task.
#[tokio::test]
async fn line_134_progress_of_a_task_reaches_who_called() {
    let steps = |ctx: Ctx| async move {
        for step in 1..=3 {
            ctx.progress_with(f64::from(step), Some(3.0), None).await;
            tokio::task::yield_now().await;
        }
        "done"
    };
    for &version in ProtocolVersion::ALL {
        let tasks = Tasks::in_memory().poll_interval(Duration::from_millis(1));
        let server = Server::new("s", "1").extension(tasks).tool(tool("steps", steps).task(Task::optional()));
        let client = client(version).extension(ClientTasks::new()).connect(server.build()).await.unwrap();
        let mut others = client.notifications();
        let heard = Arc::new(Mutex::new([Vec::new(), Vec::new()]));
        let call = |which: usize| {
            let heard = heard.clone();
            client
                .call_task("steps", ())
                .on_progress(move |p| heard.lock().unwrap()[which].push(p.progress))
                .into_future()
        };
        // The tokens of two tasks are not mixed up, and a panic where the driver calls harms nobody.
        let broken =
            client.call_task("steps", ()).on_progress(move |_| assert_ne!(version, CORE, "on purpose")).into_future();
        let (a, b, broken) = tokio::join!(call(0), call(1), broken);
        let is_task = matches!(a, Ok(Called::Task(_)));
        for called in [a, b, broken] {
            assert_eq!(called.unwrap().wait().await.unwrap().text(), "done", "{version}");
        }
        // A task of the stateless era tells no progress.
        let expected = if is_task && version != CORE { vec![] } else { vec![1.0, 2.0, 3.0] };
        assert_eq!(*heard.lock().unwrap(), [expected.clone(), expected], "{version}");
        client.close().await.unwrap();
        while let Some(notice) = others.next().await {
            assert_ne!(notice.method, "notifications/progress", "{version}: it was heard already");
        }
    }
}
