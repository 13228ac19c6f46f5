//! Servers that lie about tasks.

use std::{sync::Arc, time::Duration};

use couplet_client::Client;
use couplet_core::{BoxFuture, Call, Description, Hub, JsonText, Reply, ResultBody, Service};
use couplet_proxy::{Proxy, TaskForms};
use couplet_tasks::{CallTask, Called, ClientTasks};
use couplet_types::{Implementation, ProtocolVersion, RequestMethod, ServerCapabilities, TASKS_EXTENSION};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::kit::{SESSIONS, STATELESS};

type Answer = fn(&Call) -> Reply;

/// A server that declares tasks, and answers as it likes.
struct Liar {
    version: ProtocolVersion,
    answer: Answer,
    hub: Hub,
}

fn value(result: &Value) -> ResultBody {
    ResultBody::uncached_json(&JsonText::new(result.to_string()).unwrap())
}

fn task(id: &str, status: &str) -> Value {
    let now = "2026-07-28T12:00:00Z";
    json!({ "taskId": id, "status": status, "createdAt": now, "lastUpdatedAt": now, "ttl": null, "ttlMs": null })
}

/// A task, where none was requested.
fn unsolicited(call: &Call) -> Reply {
    match call.revision.has_sessions() {
        true => Reply::Complete(value(&json!({ "task": task("1", "working") }))),
        false => Reply::Extension { kind: "task".into(), done: value(&task("1", "working")) },
    }
}

/// A task with another id than was asked for.
fn mistaken(call: &Call) -> Reply {
    match &*call.method {
        "tools/call" => unsolicited(call),
        _ => Reply::Complete(value(&task("2", "working"))),
    }
}

/// A task that has ended and has neither a result nor an error.
fn empty(call: &Call) -> Reply {
    match &*call.method {
        "tools/call" => unsolicited(call),
        "tasks/get" => Reply::Complete(value(&task("1", "completed"))),
        _ => Reply::Complete(value(&json!({ "content": 7 }))),
    }
}

impl Service for Liar {
    fn describe(&self) -> Arc<Description> {
        let can: ServerCapabilities = serde_json::from_value(json!({
            "tools": {},
            "prompts": {},
            "tasks": { "cancel": {}, "requests": { "tools": { "call": {} } } },
            "extensions": { TASKS_EXTENSION: {} },
        }))
        .unwrap();
        let mut about = Description::new(Implementation::new("liar", "1"), can);
        about.versions = vec![self.version];
        about.extensions = vec![TaskForms::extension()];
        Arc::new(about)
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let execution = json!({ "taskSupport": "optional" });
        let tool = json!({ "name": "job", "inputSchema": { "type": "object" }, "execution": execution });
        let reply = match call.known() {
            Some(RequestMethod::ListTools) => Reply::Complete(value(&json!({ "tools": [tool] }))),
            _ => (self.answer)(&call),
        };
        Box::pin(std::future::ready(reply))
    }

    fn hub(&self) -> &Hub {
        &self.hub
    }
}

async fn proxy(version: ProtocolVersion, answer: Answer) -> Proxy {
    let liar: Arc<dyn Service> = Arc::new(Liar { version, answer, hub: Hub::new() });
    Proxy::connect(Client::new("proxy", "1"), liar).await.unwrap()
}

/// A task that was not requested is an error, also as the result of another method.
#[tokio::test]
async fn attack_10_a_task_where_none_was_asked_for() {
    for near in [SESSIONS, STATELESS] {
        for far in [SESSIONS, STATELESS] {
            let proxy = proxy(far, unsolicited).await;
            let plain = Client::new("near", "1").versions([near]).connect(proxy.service()).await.unwrap();
            let called = plain.call("job", ()).await;
            assert!(called.as_ref().is_err(), "{near} over {far}: {called:?}");
            let client = Client::new("near", "1").versions([near]).extension(ClientTasks::new());
            let client = client.connect(proxy.service()).await.unwrap();
            let prompt = client.prompt("hello", ()).await;
            assert!(prompt.is_err(), "{near} over {far}: {prompt:?}");
        }
    }
}

/// A task that is not the one that was asked for, or that is not complete, is an error for its caller.
#[tokio::test]
async fn attack_10_a_task_that_is_not_as_it_should_be() {
    for (near, far) in [(SESSIONS, STATELESS), (STATELESS, SESSIONS)] {
        for answer in [mistaken as Answer, empty] {
            let proxy = proxy(far, answer).await;
            let client = Client::new("near", "1").versions([near]).extension(ClientTasks::new());
            let client = client.connect(proxy.service()).await.unwrap();
            let Called::Task(task) = client.call_task("job", ()).await.unwrap() else { panic!("a task") };
            let waited = timeout(Duration::from_secs(30), task.wait()).await.unwrap();
            assert!(waited.is_err(), "{near} over {far}: {waited:?}");
        }
    }
}
