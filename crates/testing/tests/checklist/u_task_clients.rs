//! Tasks as a part of the protocol: the client's duties, and the tasks that a client runs.

use std::time::Duration;

use couplet_client::{Client, ClientBuilder, Elicitation};
use couplet_tasks::{CallTask, Called, ClientTasks, Memory};
use couplet_testing::types::{CreateMessageResult, ElicitResult, RpcError};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    kit::{RawServer, client, is_request, request, result, said},
    task_kit::{CORE, RELATED, server},
};

fn tasks() -> Value {
    json!({ "tools": {}, "tasks": { "cancel": {}, "requests": { "tools": { "call": {} } } } })
}

fn task(status: &str) -> Value {
    json!({ "taskId": "t", "status": status, "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": null, "pollInterval": 10_000 })
}

/// A server whose tool has or has not tasks.
fn raw(capabilities: Value, support: Option<&'static str>) -> RawServer {
    RawServer::speaking(CORE, capabilities, move |m| match m["method"].as_str() {
        Some("tools/list") => {
            let mut tool = json!({ "name": "t", "inputSchema": { "type": "object" } });
            if let Some(support) = support {
                tool["execution"] = json!({ "taskSupport": support });
            }
            vec![result(m, json!({ "tools": [tool] }))]
        }
        Some("tools/call") if m["params"].get("task").is_some() => vec![result(m, json!({ "task": task("working") }))],
        Some("tools/call") => vec![said(m, "at once")],
        _ => vec![],
    })
}

#[tokio::test]
async fn line_348_349_350_a_client_asks_for_a_task_where_it_may() {
    for (capabilities, support, augmented) in [
        (json!({ "tools": {} }), Some("required"), false),
        (json!({ "tools": {}, "tasks": {} }), Some("optional"), false),
        (tasks(), None, false),
        (tasks(), Some("forbidden"), false),
        (tasks(), Some("optional"), true),
        (tasks(), Some("required"), true),
    ] {
        let raw = raw(capabilities.clone(), support);
        let client = client(CORE).extension(ClientTasks::new()).connect(raw.clone()).await.unwrap();
        let called = client.call_task("t", ()).await.unwrap();
        assert_eq!(matches!(called, Called::Task(_)), augmented, "{capabilities} {support:?}");
        let sent = raw.seen_of("tools/call");
        assert_eq!(sent[0]["params"].get("task").is_some(), augmented, "{capabilities} {support:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn line_355_a_client_looks_as_often_as_the_server_likes() {
    for last in ["completed", "input_required"] {
        let looks = std::sync::atomic::AtomicUsize::new(0);
        let raw = RawServer::speaking(CORE, tasks(), move |m| match m["method"].as_str() {
            Some("tasks/get") if looks.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 2 => {
                vec![result(m, task("working"))]
            }
            Some("tasks/get") => vec![result(m, task(last))],
            Some("tasks/result") => vec![said(m, "done")],
            _ => vec![],
        });
        let client = client(CORE).extension(ClientTasks::new()).connect(raw.clone()).await.unwrap();
        let began = Instant::now();
        assert_eq!(client.task("t").wait().await.unwrap().text(), "done", "{last}");
        assert!(began.elapsed() >= Duration::from_secs(20), "two looks were too early");
        assert_eq!((raw.seen_of("tasks/get").len(), raw.seen_of("tasks/result").len()), (3, 1), "{last}");
    }
}

#[tokio::test]
async fn line_357_361_a_client_hears_on_any_stream_and_relies_on_none() {
    let client = client(CORE).extension(ClientTasks::new()).connect(server()).await.unwrap();
    let Called::Task(task) = client.call_task("quick", ()).await.unwrap() else { panic!("no task") };
    let mut updates = task.updates().await;
    let mut last = None;
    while let Some(state) = updates.next().await.unwrap() {
        last = Some(state.status);
    }
    assert!(last.is_some_and(|status| status.is_terminal()));
    assert_eq!(task.wait().await.unwrap().text(), "done");
}

#[tokio::test]
async fn line_356_a_client_answers_what_a_task_asks() {
    let yes = |ask: Elicitation| async move { ask.accept(json!({ "yes": true })) };
    let client = client(CORE).on_elicit(yes).extension(ClientTasks::new()).connect(server()).await.unwrap();
    for (tool, text) in [("ask", "sure: true"), ("twice", "a: true b: true"), ("two", "a: true b: true")] {
        let called = client.call_task(tool, ()).await.unwrap();
        assert!(matches!(called, Called::Task(_)), "{tool}");
        assert_eq!(called.wait().await.unwrap().text(), text, "{tool}");
    }
}

/// A client that runs questions as tasks, and a server that sends it requests.
struct Hosted {
    raw: RawServer,
    last: u32,
    _client: Client,
}

impl Hosted {
    async fn new(builder: ClientBuilder) -> Self {
        let raw = RawServer::speaking(CORE, json!({}), |m| if is_request(m) { vec![said(m, "")] } else { vec![] });
        let client = builder.versions([CORE]).connect(raw.clone()).await.unwrap();
        Self { raw, last: 0, _client: client }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = format!("q{}", self.last);
        self.raw.push(&request(id.as_str(), method, &params));
        for _ in 0..60_000 {
            if let Some(answer) = self.raw.seen().into_iter().find(|m| m["id"] == json!(id)) {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("the client does not answer `{method}`");
    }

    async fn elicit(&mut self) -> String {
        let schema = json!({ "type": "object", "properties": {} });
        let params = json!({ "mode": "form", "message": "?", "requestedSchema": schema, "task": { "ttl": 60_000 } });
        let answer = self.ask("elicitation/create", params).await;
        let task = &answer["result"]["task"];
        assert_eq!((&task["status"], &task["ttl"]), (&json!("working"), &json!(60_000)), "{answer}");
        task["taskId"].as_str().unwrap().to_owned()
    }
}

fn accepting() -> ClientBuilder {
    Client::new("host", "1.0.0").on_elicit(|ask: Elicitation| async move { ask.accept(json!({})) })
}

fn silent() -> ClientBuilder {
    Client::new("host", "1.0.0").on_elicit(|_| std::future::pending::<Result<ElicitResult, RpcError>>())
}

fn hosting(builder: ClientBuilder) -> ClientBuilder {
    builder.extension(ClientTasks::new().accept_tasks(Memory::new()))
}

#[tokio::test]
async fn line_348_351_a_client_declares_what_it_runs_as_tasks() {
    let sampling = |_| async { Ok(CreateMessageResult::new("m", "hi")) };
    let hosted = Hosted::new(hosting(accepting().on_sample(sampling))).await;
    let declared = hosted.raw.seen_of("initialize")[0]["params"]["capabilities"]["tasks"].clone();
    let requests = json!({ "sampling": { "createMessage": {} }, "elicitation": { "create": {} } });
    assert_eq!(declared, json!({ "list": {}, "cancel": {}, "requests": requests }));

    let mut plain = Hosted::new(accepting()).await;
    assert_eq!(plain.raw.seen_of("initialize")[0]["params"]["capabilities"].get("tasks"), None);
    let schema = json!({ "type": "object", "properties": {} });
    let params = json!({ "message": "?", "requestedSchema": schema, "task": {} });
    assert_eq!(plain.ask("elicitation/create", params).await["result"]["action"], "accept", "the wish is ignored");
    assert_eq!(plain.ask("tasks/get", json!({ "taskId": "t" })).await["error"]["code"], -32601);
}

#[tokio::test]
async fn line_352_353_359_362_a_client_runs_questions_as_tasks() {
    let mut hosted = Hosted::new(hosting(accepting())).await;
    let (a, b) = (hosted.elicit().await, hosted.elicit().await);
    assert_ne!(a, b);
    let answer = hosted.ask("tasks/result", json!({ "taskId": a })).await["result"].take();
    assert_eq!((&answer["action"], &answer["_meta"][RELATED]["taskId"]), (&json!("accept"), &json!(a)));
    let task = hosted.ask("tasks/get", json!({ "taskId": a })).await["result"].take();
    assert_eq!((&task["status"], task.get("_meta")), (&json!("completed"), None));
    let listed = hosted.ask("tasks/list", json!({})).await["result"]["tasks"].take();
    assert_eq!((&listed[0]["taskId"], &listed[1]["taskId"]), (&json!(a), &json!(b)));
}

#[tokio::test]
async fn line_361_a_client_tells_how_its_tasks_are_going() {
    let failing = || Client::new("host", "1").on_elicit(|_| async { Err(RpcError::new(-32001, "no time")) });
    for (builder, status) in [(accepting(), "completed"), (failing(), "failed"), (silent(), "cancelled")] {
        let mut hosted = Hosted::new(hosting(builder)).await;
        let id = hosted.elicit().await;
        let last = if status == "cancelled" { "tasks/cancel" } else { "tasks/result" };
        hosted.ask(last, json!({ "taskId": id })).await;
        let told = hosted.raw.seen_of("notifications/tasks/status");
        let looked = hosted.ask("tasks/get", json!({ "taskId": id })).await["result"].take();
        assert_eq!(told.iter().map(|m| &m["params"]).collect::<Vec<_>>(), [&looked], "{status}: once, and all of it");
        assert_eq!((&looked["status"], looked.get("_meta")), (&json!(status), None));
    }
}

#[tokio::test]
async fn line_362_a_client_lists_its_tasks_page_by_page() {
    let mut hosted = Hosted::new(hosting(accepting())).await;
    let mut begun = Vec::new();
    for _ in 0..101 {
        begun.push(hosted.elicit().await);
    }
    let first = hosted.ask("tasks/list", json!({})).await["result"].take();
    let second = hosted.ask("tasks/list", json!({ "cursor": first["nextCursor"] })).await["result"].take();
    let pages = [first["tasks"].as_array().unwrap().clone(), second["tasks"].as_array().unwrap().clone()].concat();
    assert_eq!(pages.iter().map(|t| t["taskId"].as_str().unwrap()).collect::<Vec<_>>(), begun);
    assert_eq!(second.get("nextCursor"), None);
}

#[tokio::test]
async fn line_363_364_367_a_client_cancels_refuses_and_limits() {
    let mut hosted =
        Hosted::new(silent().extension(ClientTasks::new().accept_tasks(Memory::new()).max_running(1))).await;
    let id = hosted.elicit().await;
    let schema = json!({ "type": "object", "properties": {} });
    let more = json!({ "message": "?", "requestedSchema": schema, "task": {} });
    assert_eq!(hosted.ask("elicitation/create", more).await["error"]["code"], -32603);
    let cancelled = hosted.ask("tasks/cancel", json!({ "taskId": id })).await;
    assert_eq!(cancelled["result"]["status"], "cancelled");
    for (method, params) in [
        ("tasks/cancel", json!({ "taskId": id })),
        ("tasks/get", json!({ "taskId": "nobody" })),
        ("tasks/list", json!({ "cursor": "nobody" })),
    ] {
        assert_eq!(hosted.ask(method, params).await["error"]["code"], -32602, "{method}");
    }
    assert_eq!(hosted.ask("tasks/get", json!({ "taskId": id })).await["result"]["status"], "cancelled");
}
