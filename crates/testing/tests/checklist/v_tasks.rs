//! Tasks as an extension: the server's duties.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use couplet_core::{
    Bounds, BoxFuture,
    http::{Field, Fields, place},
    message,
};
use couplet_server::{Ctx, ToolError, tool};
use couplet_tasks::{Change, Memory, Record, Store, StoreError, Task, TaskTool, Tasks};
use couplet_testing::Wire;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{
    kit::{STATELESS, Yes, call, capabilities, open, stateless_meta, text, yes},
    task_kit::{ID, RELATED, about, begin, begin_id, extension, knowing, open_as, server, tools, until},
};

async fn update(wire: &mut Wire, id: &str, answers: Value) -> Value {
    wire.request("tasks/update", json!({ "taskId": id, "inputResponses": answers })).await
}

/// The keys of what a task asks.
fn keys(task: &Value) -> Vec<String> {
    task["inputRequests"].as_object().unwrap_or_else(|| panic!("no questions: {task}")).keys().cloned().collect()
}

#[tokio::test]
async fn line_368_only_those_who_know_tasks_get_one() {
    let mut wire = open(server(), STATELESS, json!({})).await;
    assert_eq!(text(&call(&mut wire, "quick", json!({})).await), "done");
    let refused = call(&mut wire, "must", json!({})).await["error"].take();
    assert_eq!(refused["code"], -32021);
    assert_eq!(refused["data"]["requiredCapabilities"]["extensions"], json!({ ID: {} }));
    assert_eq!(text(&call(&mut extension().await, "plain", json!({})).await), "done", "not every tool is a task");
}

#[tokio::test]
async fn line_370_the_kind_of_result_is_task_once() {
    let mut wire = extension().await;
    let created = begin(&mut wire, STATELESS, "hold").await;
    assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
    assert!(created["ttlMs"].as_u64() > Some(0) && created["pollIntervalMs"].as_u64() > Some(0));
    for key in ["task", "result", "error", "inputRequests", "ttl", "pollInterval", "requestState"] {
        assert_eq!(created.get(key), None, "{key}");
    }
    let id = created["taskId"].as_str().unwrap();
    assert_eq!(about(&mut wire, "tasks/get", id).await["result"]["resultType"], "complete");
    assert_eq!(update(&mut wire, id, json!({})).await["result"]["resultType"], "complete");
    assert_eq!(about(&mut wire, "tasks/cancel", id).await["result"]["resultType"], "complete");
}

/// A store that takes its time, or never manages.
struct Slow {
    inner: Memory,
    gate: Arc<Semaphore>,
    broken: bool,
}

impl Store for Slow {
    fn insert(&self, record: Record, lease: Duration) -> BoxFuture<'_, Result<Option<Record>, StoreError>> {
        Box::pin(async move {
            self.gate.acquire().await.unwrap().forget();
            if self.broken { Err(StoreError::new("no room")) } else { self.inner.insert(record, lease).await }
        })
    }
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.inner.get(id)
    }
    fn change<'a>(
        &'a self,
        id: &'a str,
        fence: Option<u64>,
        change: Change,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.inner.change(id, fence, change)
    }
    fn claim<'a>(
        &'a self,
        id: &'a str,
        node: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.inner.claim(id, node, lease)
    }
    fn renew<'a>(
        &'a self,
        tasks: &'a [(String, u64)],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        self.inner.renew(tasks, lease)
    }
    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.inner.release(id, generation)
    }
    fn list<'a>(
        &'a self,
        owner: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<Record>>, StoreError>> {
        self.inner.list(owner, after, most)
    }
    fn purge(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.purge(now)
    }
}

#[tokio::test]
async fn line_371_the_answer_comes_when_the_task_is_kept() {
    for broken in [false, true] {
        let gate = Arc::new(Semaphore::new(0));
        let store = Slow { inner: Memory::new(), gate: gate.clone(), broken };
        let mut wire = open(tools().extension(Tasks::new(store)).build(), STATELESS, knowing()).await;
        let id = wire.start("tools/call", json!({ "name": "hold" }));
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(wire.ready(), Vec::<Value>::new(), "it answers before the task is kept");
        gate.add_permits(1);
        let answer = wire.response(id).await;
        if broken {
            assert_eq!(answer["error"]["code"], -32603);
            continue;
        }
        let task = answer["result"]["taskId"].as_str().unwrap();
        assert_eq!(about(&mut wire, "tasks/get", task).await["result"]["status"], "working");
    }
}

#[tokio::test]
async fn line_372_each_status_has_what_belongs_to_it() {
    let mut wire = extension().await;
    let has = |task: &Value| ["inputRequests", "result", "error"].map(|key| task.get(key).is_some());
    for (tool, status, expected) in [
        ("hold", "working", [false, false, false]),
        ("two", "input_required", [true, false, false]),
        ("quick", "completed", [false, true, false]),
        ("broken", "failed", [false, false, true]),
    ] {
        let id = begin_id(&mut wire, STATELESS, tool).await;
        let mut task = until(&mut wire, &id, status).await;
        while status == "input_required" && keys(&task).len() < 2 {
            task = until(&mut wire, &id, status).await;
        }
        assert_eq!(has(&task), expected, "{tool}: {task}");
        assert_eq!(task["result"].get("_meta").map(|m| m.get(RELATED)), None, "{tool}");
    }
    let id = begin_id(&mut wire, STATELESS, "long").await;
    let long = until(&mut wire, &id, "completed").await;
    assert_eq!(long["result"]["content"][0]["text"].as_str().map(str::len), Some(500_000));
    let id = begin_id(&mut wire, STATELESS, "hold").await;
    about(&mut wire, "tasks/cancel", &id).await;
    assert_eq!(has(&until(&mut wire, &id, "cancelled").await), [false, false, false]);
}

#[tokio::test]
async fn line_373_a_tool_that_says_that_it_failed_is_completed() {
    let mut wire = extension().await;
    let id = begin_id(&mut wire, STATELESS, "fail").await;
    assert_eq!(until(&mut wire, &id, "completed").await["result"]["isError"], true);
    let id = begin_id(&mut wire, STATELESS, "broken").await;
    let error = until(&mut wire, &id, "failed").await["error"].take();
    assert!(error["code"].is_number() && error["message"] == "it broke", "{error}");
}

#[tokio::test]
async fn line_374_keys_are_never_used_again() {
    let mut wire = extension().await;
    let id = begin_id(&mut wire, STATELESS, "twice").await;
    let first = keys(&until(&mut wire, &id, "input_required").await);
    update(&mut wire, &id, json!({ first[0].as_str(): yes() })).await;
    let second = keys(&until(&mut wire, &id, "input_required").await);
    assert_ne!(first, second);
    update(&mut wire, &id, json!({ second[0].as_str(): yes() })).await;
    let done = until(&mut wire, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "a: true b: true");
}

#[tokio::test]
async fn line_375_updates_and_cancellations_are_just_heard() {
    let mut wire = extension().await;
    let id = begin_id(&mut wire, STATELESS, "two").await;
    let mut task = until(&mut wire, &id, "input_required").await;
    while keys(&task).len() < 2 {
        task = until(&mut wire, &id, "input_required").await;
    }
    let asked = keys(&task);
    let bare = |answer: &Value| {
        let members: Vec<_> = answer["result"].as_object().unwrap().keys().cloned().collect();
        members == ["_meta", "resultType"]
    };
    let partial = json!({ asked[0].as_str(): yes(), "nobody asked": 1 });
    assert!(bare(&update(&mut wire, &id, partial.clone()).await));
    assert_eq!(keys(&until(&mut wire, &id, "input_required").await), [asked[1].as_str()], "only the other is left");
    assert!(bare(&update(&mut wire, &id, partial).await), "what was answered is ignored");
    assert!(bare(&update(&mut wire, &id, json!({ asked[1].as_str(): yes() })).await));
    until(&mut wire, &id, "completed").await;
    assert!(bare(&about(&mut wire, "tasks/cancel", &id).await), "also when it is over");
    assert_eq!(about(&mut wire, "tasks/get", &id).await["result"]["status"], "completed");
}

#[tokio::test]
async fn line_376_what_is_not_known_is_a_wrong_parameter() {
    let mut wire = extension().await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({ "taskId": "nobody", "inputResponses": {} });
        assert_eq!(wire.request(method, params).await["error"]["code"], -32602, "{method}");
    }
}

#[tokio::test]
async fn line_377_callers_that_do_not_know_tasks_are_told() {
    let server = server();
    let mut knows = open(server.clone(), STATELESS, knowing()).await;
    let id = begin_id(&mut knows, STATELESS, "hold").await;
    let mut wire = open(server, STATELESS, json!({})).await;
    for id in [id.as_str(), "nobody"] {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let params = json!({ "taskId": id, "inputResponses": {} });
            assert_eq!(wire.request(method, params).await["error"]["code"], -32021, "{method} {id}");
        }
        let listen = json!({ "notifications": { "taskIds": [id] } });
        assert_eq!(wire.request("subscriptions/listen", listen).await["error"]["code"], -32021, "{id}");
    }
}

#[tokio::test]
async fn line_378_the_tasks_of_the_protocol_are_gone() {
    let can = capabilities(server(), STATELESS).await;
    assert_eq!((can.get("tasks"), &can["extensions"][ID]), (None, &json!({})));
    let mut wire = extension().await;
    let id = begin_id(&mut wire, STATELESS, "hold").await;
    for method in ["tasks/result", "tasks/list"] {
        assert_eq!(about(&mut wire, method, &id).await["error"]["code"], -32601, "{method}");
    }
    let legacy = json!({ "tasks": { "requests": { "tools": { "call": {} } } } });
    let mut wire = open(server(), STATELESS, json!({})).await;
    let mut params = json!({ "name": "quick", "task": { "ttl": 1 }, "_meta": stateless_meta(&legacy) });
    wire.send(&crate::kit::request(1, "tools/call", &params));
    assert_eq!(text(&wire.response(1).await), "done", "it is not declared, and the wish is ignored");
    params["name"] = json!("must");
    wire.send(&crate::kit::request(2, "tools/call", &params));
    assert_eq!(wire.response(2).await["error"]["code"], -32021);
}

/// Headers by hand.
struct Headers(HashMap<&'static str, String>);

impl Fields for Headers {
    fn field(&self, name: &str) -> Field<'_> {
        self.0.get(name).map_or(Field::Absent, |value| Field::Value(value.as_bytes()))
    }
}

#[tokio::test]
async fn line_380_the_name_is_the_id_of_the_task() {
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for (name, code) in [(Some("t"), None), (Some("u"), Some(-32020)), (None, Some(-32020))] {
            let params = json!({ "taskId": "t", "inputResponses": {}, "_meta": stateless_meta(&knowing()) });
            let frame = crate::kit::request(1, method, &params).to_string();
            let frame = message::read(frame.into(), Bounds::default()).unwrap();
            let mut headers = HashMap::from([
                ("mcp-protocol-version", STATELESS.as_str().to_owned()),
                ("mcp-method", method.to_owned()),
            ]);
            headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
            let sorted = place(&Headers(headers), &frame, &server());
            assert_eq!(sorted.err().map(|refusal| refusal.error.code), code, "{method} {name:?}");
        }
    }
}

#[tokio::test]
async fn line_383_those_who_listen_hear_of_tasks_and_of_nothing_else() {
    let mut wire = extension().await;
    let params = json!({ "name": "report", "_meta": { "progressToken": "p" } });
    let id = wire.request("tools/call", params).await["result"]["taskId"].as_str().unwrap().to_owned();
    wire.start("subscriptions/listen", json!({ "notifications": { "taskIds": [id] } }));
    let acknowledged = wire.next().await.unwrap();
    assert_eq!(acknowledged["params"]["notifications"], json!({ "taskIds": [id] }));
    while about(&mut wire, "tasks/get", &id).await["result"].get("statusMessage").is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    about(&mut wire, "tasks/cancel", &id).await;
    let told = loop {
        let message = wire.next().await.unwrap();
        assert_eq!(message["method"], "notifications/tasks", "{message}");
        if message["params"]["status"] == "cancelled" {
            break message;
        }
    };
    assert_eq!(told["params"]["taskId"], json!(id));
    assert_eq!(wire.ready(), Vec::<Value>::new());
}

#[tokio::test]
async fn line_384_ids_cannot_be_guessed_and_are_not_enough() {
    let server = server();
    let (mut alice, mut bob) = (open_as(&server, STATELESS, "alice").await, open_as(&server, STATELESS, "bob").await);
    let mut ids = BTreeSet::new();
    for _ in 0..20 {
        ids.insert(begin_id(&mut alice, STATELESS, "ask").await);
    }
    assert!(ids.len() == 20 && ids.iter().all(|id| id.len() >= 22), "128 bits at least: {ids:?}");
    let id = ids.first().unwrap();
    until(&mut alice, id, "input_required").await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({ "taskId": id, "inputResponses": { "input-1": yes() } });
        assert_eq!(bob.request(method, params).await["error"]["code"], -32602, "{method}");
    }
    bob.start("subscriptions/listen", json!({ "notifications": { "taskIds": [id] } }));
    bob.next().await.unwrap();
    about(&mut alice, "tasks/cancel", id).await;
    assert_eq!(bob.ready(), Vec::<Value>::new(), "bob does not hear of it");
}

#[tokio::test]
async fn line_385_questions_of_the_call_come_before_the_task() {
    let mut wire = extension().await;
    let asked = wire.request("tools/call", json!({ "name": "first" })).await["result"].take();
    assert_eq!((&asked["resultType"], asked.get("taskId")), (&json!("input_required"), None));
    let again = json!({ "name": "first", "requestState": asked["requestState"], "inputResponses": { "sure": yes() } });
    let created = wire.request("tools/call", again).await["result"].take();
    assert_eq!((&created["resultType"], created.get("requestState")), (&json!("task"), None));
    let done = until(&mut wire, created["taskId"].as_str().unwrap(), "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "sure: true");
}

/// The same with several rounds: replaying the answers of earlier ones is not yet the work of the task.
#[tokio::test]
async fn line_385_several_rounds_come_before_the_task() {
    let both = |ctx: Ctx| async move {
        let mut agreed = 0;
        for _ in 0..3 {
            agreed += u32::from(ctx.elicit::<Yes>("sure", "Sure?").await?.accepted()?.yes);
        }
        tokio::task::yield_now().await;
        Ok::<_, ToolError>(agreed)
    };
    let server = tools().tool(tool("several", both).task(Task::required().input_first()));
    let server = server.extension(Tasks::in_memory().poll_interval(Duration::from_millis(1))).build();
    let mut wire = open(server, STATELESS, knowing()).await;
    let mut params = json!({ "name": "several" });
    for key in ["sure", "sure#2", "sure#3"] {
        let asked = wire.request("tools/call", params.clone()).await["result"].take();
        assert!(asked["inputRequests"].get(key).is_some(), "{key}: {asked}");
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = json!({ key: yes() });
    }
    let created = wire.request("tools/call", params).await["result"].take();
    assert_eq!(created["resultType"], "task", "{created}");
    let done = until(&mut wire, created["taskId"].as_str().unwrap(), "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "3");
}
