//! Tasks through the proxy, of the same kind and of the other one.

use std::{sync::Arc, time::Duration};

use couplet_client::{Change, Client, ClientBuilder, Filter};
use couplet_core::{Event, JsonText, RequestOptions, Service, message::Params};
use couplet_proxy::Proxy;
use couplet_server::{Ctx, Server, ServerHandle, ToolError, tool};
use couplet_tasks::{CallTask, Called, ClientTasks, Task, TaskHandle, TaskTool, Tasks};
use couplet_types::{
    DetailedTask, ListTasks, ListTasksParams, ProtocolVersion, RpcError, TASKS_EXTENSION, TaskStatus, TaskSupport, code,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::{sync::Notify, time::timeout};

use crate::{
    kit::{SESSIONS, STATELESS, authenticated},
    pairs,
};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Asks twice, and says where it is.
async fn job(ctx: Ctx) -> Result<String, ToolError> {
    let first = ctx.elicit::<Name>("first", "your first name?").await?.accepted()?.name;
    ctx.progress(1.0, "half").await;
    let last = ctx.elicit::<Name>("last", "your last name?").await?.accepted()?.name;
    Ok(format!("{first} {last}"))
}

async fn fails() -> Result<String, ToolError> {
    Err(ToolError::new("it does not work"))
}

async fn breaks() -> Result<String, RpcError> {
    Err(RpcError::internal("it is broken"))
}

async fn stuck(ctx: Ctx) -> String {
    ctx.progress(1.0, "stuck").await;
    std::future::pending().await
}

fn server(version: ProtocolVersion) -> ServerHandle {
    let tasks = Tasks::in_memory().list().poll_interval(Duration::from_millis(10));
    Server::new("far", "1")
        .versions([version])
        .extension(tasks)
        .tool(tool("job", job).task(Task::optional()))
        .tool(tool("must", || "done").task(Task::required()))
        .tool(tool("fails", fails).task(Task::optional()))
        .tool(tool("breaks", breaks).task(Task::optional()))
        .tool(tool("stuck", stuck).task(Task::optional()))
        .tool(tool("plain", || "plain"))
        .tool(tool("bad", fails))
        .build()
}

fn near(version: ProtocolVersion) -> ClientBuilder {
    Client::new("near", "1").versions([version]).extension(ClientTasks::new()).on_elicit(|ask| async move {
        let name = if ask.message().contains("first") { "Ada" } else { "Lovelace" };
        ask.accept(json!({ "name": name }))
    })
}

async fn proxy(far: ProtocolVersion) -> Proxy {
    Proxy::connect(Client::new("proxy", "1"), server(far)).await.unwrap()
}

async fn connect(near_version: ProtocolVersion, service: Arc<dyn Service>) -> Client {
    near(near_version).connect(service).await.unwrap()
}

/// Runs a check between each kind of tasks and each other.
async fn each<F: Future<Output = ()>>(check: impl Fn(ProtocolVersion, ProtocolVersion, Client) -> F) {
    for caller in [SESSIONS, STATELESS] {
        for far in [SESSIONS, STATELESS] {
            let proxy = proxy(far).await;
            let client = connect(caller, proxy.service()).await;
            let checked = timeout(Duration::from_secs(30), check(caller, far, client)).await;
            assert!(checked.is_ok(), "{caller} over {far} takes too long");
        }
    }
}

async fn begin(client: &Client, name: &str) -> TaskHandle {
    match client.call_task(name.to_owned(), ()).await.unwrap() {
        Called::Task(task) => task,
        other => panic!("{name} is no task: {other:?}"),
    }
}

async fn until(task: &TaskHandle, is_it: impl Fn(&couplet_tasks::TaskState) -> bool) {
    while !is_it(&task.state().await.unwrap()) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A task begins, asks and ends behind the proxy.
#[tokio::test]
async fn attack_10_tasks_go_through() {
    each(|near, far, client| async move {
        let task = begin(&client, "job").await;
        assert_eq!(task.wait().await.unwrap().text(), "Ada Lovelace", "{near} over {far}");
        assert!(task.state().await.unwrap().status.is_terminal());
        assert_eq!(begin(&client, "must").await.wait().await.unwrap().text(), "done", "{near} over {far}");
    })
    .await;
}

/// All pages of `tasks/list`, sorted.
async fn listed(client: &Client) -> Vec<String> {
    let (mut ids, mut params) = (Vec::new(), ListTasksParams::new());
    loop {
        let page = client.request::<ListTasks>(params).await.unwrap();
        ids.extend(page.tasks.into_iter().map(|task| task.task_id));
        let Some(cursor) = page.next_cursor else { break };
        params = ListTasksParams::new().cursor(cursor);
    }
    ids.sort();
    ids
}

/// To the server all callers are one. The proxy lists the tasks of each caller, in pages; without a principal, those of a
/// session. Whether the server itself has lists does not matter.
#[tokio::test]
async fn attack_10_a_caller_lists_its_own_tasks() {
    for far in [SESSIONS, STATELESS] {
        let proxy = proxy(far).await;
        let of = |name| connect(SESSIONS, authenticated(name, &proxy));
        let (ann, bob) = (of("ann").await, of("bob").await);
        let (one, two) = (connect(SESSIONS, proxy.service()).await, connect(SESSIONS, proxy.service()).await);
        for (client, count) in [(&ann, 45), (&bob, 1), (&one, 2), (&two, 0)] {
            let mut begun = Vec::new();
            for at in 0..count {
                // In the extension, the server decides: this is held as a task.
                let name = if far == STATELESS && at == 1 { "plain" } else { "must" };
                begun.push(begin(client, name).await.id().to_owned());
            }
            begun.sort();
            assert_eq!(listed(client).await, begun, "over {far}");
        }
        let first = ann.request::<ListTasks>(ListTasksParams::new()).await.unwrap();
        let cursor = ListTasksParams::new().cursor(first.next_cursor.unwrap());
        let error = bob.request::<ListTasks>(cursor).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code, code::INVALID_PARAMS, "over {far}: {error}");
        let error = connect(STATELESS, proxy.service()).await.request::<ListTasks>(ListTasksParams::new()).await;
        assert!(error.is_err(), "the revision has no lists of tasks");
    }
}

/// A call that only waits for its result works as well.
#[tokio::test]
async fn a_call_waits_for_its_task() {
    each(|near, far, client| async move {
        assert_eq!(client.call("job", ()).await.unwrap().text(), "Ada Lovelace", "{near} over {far}");
    })
    .await;
}

#[tokio::test]
async fn tasks_fail_in_the_form_of_the_caller() {
    each(|near, far, client| async move {
        let task = begin(&client, "fails").await;
        let result = task.wait().await.unwrap();
        assert!(result.is_error(), "{near} over {far}");
        assert!(result.text().contains("it does not work"), "{near} over {far}");
        // In 2025-11-25 a task fails with its tool.
        let expected = if near == SESSIONS { TaskStatus::Failed } else { TaskStatus::Completed };
        assert_eq!(task.state().await.unwrap().status, expected, "{near} over {far}");

        let task = begin(&client, "breaks").await;
        let error = task.wait().await.unwrap_err();
        assert!(error.rpc().is_some_and(|e| e.message.contains("it is broken")), "{near} over {far}: {error}");
        assert_eq!(task.state().await.unwrap().status, TaskStatus::Failed, "{near} over {far}");
    })
    .await;
}

#[tokio::test]
async fn tasks_are_cancelled_and_say_how_far_they_are() {
    each(|near, far, client| async move {
        let task = begin(&client, "stuck").await;
        until(&task, |state| state.message.as_deref() == Some("stuck")).await;
        task.cancel().await.unwrap();
        until(&task, |state| state.status == TaskStatus::Cancelled).await;
        // In 2025-11-25 that is an error, in the extension it is not.
        assert_eq!(task.cancel().await.is_err(), near == SESSIONS, "{near} over {far}");
        assert!(task.wait().await.is_err(), "{near} over {far}");
    })
    .await;
}

/// While a task requires input, its caller can cancel it.
#[tokio::test]
async fn a_task_that_asks_is_cancelled() {
    each(|near, far, client| async move {
        let task = begin(&client, "job").await;
        until(&task, |state| state.status == TaskStatus::InputRequired).await;
        task.cancel().await.unwrap();
        until(&task, |state| state.status == TaskStatus::Cancelled).await;
        assert!(task.wait().await.is_err(), "{near} over {far}");
    })
    .await;
}

/// A caller of 2025-11-25 that requests a task gets one; a server with the extension decides by itself.
#[tokio::test]
async fn a_result_that_comes_at_once_is_held_as_a_task() {
    let proxy = proxy(STATELESS).await;
    let client = connect(SESSIONS, proxy.service()).await;
    let tools = client.tools().await.unwrap();
    let support = |tool: &couplet_types::Tool| tool.execution.as_ref().and_then(|e| e.task_support.clone());
    assert!(tools.iter().all(|tool| support(tool) == Some(TaskSupport::Optional)));
    let task = begin(&client, "plain").await;
    assert_eq!(task.state().await.unwrap().status, TaskStatus::Completed);
    assert_eq!(task.wait().await.unwrap().text(), "plain");
    assert_eq!(task.cancel().await.unwrap_err().rpc().unwrap().code, code::INVALID_PARAMS);
    let bad = begin(&client, "bad").await;
    assert_eq!(bad.state().await.unwrap().status, TaskStatus::Failed);
    assert!(bad.wait().await.unwrap().is_error());
    // The other way round, the tool decides.
    let client = connect(STATELESS, self::proxy(SESSIONS).await.service()).await;
    assert!(client.tools().await.unwrap().iter().all(|tool| tool.execution.is_none()));
    assert!(matches!(client.call_task("plain", ()).await.unwrap(), Called::Done(done) if done.text() == "plain"));
}

/// Each side sees its own kind of tasks declared.
#[tokio::test]
async fn tasks_are_declared_in_the_form_of_the_caller() {
    for (near_version, far) in pairs() {
        let has_tasks = far == SESSIONS || far == STATELESS;
        let client = connect(near_version, proxy(far).await.service()).await;
        let can = &client.server().capabilities;
        let is_core = can.tasks.as_ref().is_some_and(|tasks| tasks.requests.is_some() && tasks.cancel.is_some());
        let is_extension = can.extensions.as_ref().is_some_and(|all| all.contains_key(TASKS_EXTENSION));
        assert_eq!(is_core, near_version == SESSIONS && has_tasks, "{near_version} over {far}");
        assert_eq!(can.tasks.as_ref().is_some_and(|tasks| tasks.list.is_some()), is_core, "{near_version} over {far}");
        if near_version == STATELESS {
            assert_eq!(is_extension, has_tasks, "{near_version} over {far}");
        }
        assert_eq!(client.call("plain", ()).await.unwrap().text(), "plain", "{near_version} over {far}");
    }
}

/// A tool that runs only as a task needs the extension: that is what a caller without it is told.
#[tokio::test]
async fn a_task_that_is_required_needs_the_extension() {
    for far in [SESSIONS, STATELESS] {
        let proxy = proxy(far).await;
        let client = Client::new("near", "1").versions([STATELESS]).connect(proxy.service()).await.unwrap();
        let error = client.call("must", ()).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code, code::MISSING_CLIENT_CAPABILITY, "over {far}: {error}");
        let error = client.call("nothing", ()).await.unwrap_err();
        assert_ne!(error.rpc().unwrap().code, code::MISSING_CLIENT_CAPABILITY, "over {far}: {error}");
    }
}

/// In the other revisions `task` in a call means nothing, so a server of 2025-11-25 does not get it.
#[tokio::test]
async fn a_task_parameter_of_another_revision_is_ignored() {
    for &version in ProtocolVersion::ALL.iter().filter(|version| **version != SESSIONS) {
        let plain =
            Client::new("near", "1").versions([version]).connect(proxy(SESSIONS).await.service()).await.unwrap();
        let with_tasks = connect(version, proxy(SESSIONS).await.service()).await;
        for client in [plain, with_tasks] {
            let text = JsonText::new(r#"{"name":"plain","arguments":{},"task":{"ttl":60000}}"#).unwrap();
            let params = Params::from_text(text).unwrap();
            let mut exchange = client.forward("tools/call", &params, &RequestOptions::default()).unwrap();
            let Event::Answer(answer) = exchange.next().await else { panic!("{version}: there is no answer") };
            let result = Params::from_text(answer.unwrap_or_else(|error| panic!("{version}: {error:?}"))).unwrap();
            assert!(result.has("content") && !result.has("task"), "{version}: {:?}", result.text());
        }
    }
}

/// A made-up id, and the id of another principal's task, are unknown.
#[tokio::test]
async fn attack_10_a_task_belongs_to_its_caller() {
    for caller in [SESSIONS, STATELESS] {
        for far in [SESSIONS, STATELESS] {
            let proxy = proxy(far).await;
            let ann = connect(caller, authenticated("ann", &proxy)).await;
            let bob = connect(caller, authenticated("bob", &proxy)).await;
            let held = if caller == SESSIONS && far == STATELESS { "plain" } else { "stuck" };
            for name in ["stuck", held] {
                let id = begin(&ann, name).await.id().to_owned();
                for foreign in [bob.task(&id), bob.task("made-up"), bob.task("dev.couplet.held.made-up")] {
                    let looked = foreign.state().await.unwrap_err();
                    assert_eq!(looked.rpc().unwrap().code, code::INVALID_PARAMS, "{caller} over {far}: {looked}");
                    let cancelled = foreign.cancel().await.unwrap_err();
                    assert_eq!(cancelled.rpc().unwrap().code, code::INVALID_PARAMS, "{caller} over {far}: {cancelled}");
                }
                assert!(ann.task(&id).state().await.is_ok(), "{caller} over {far}");
            }
        }
    }
}

/// A task that has expired at the server is unknown to the caller.
#[tokio::test]
async fn an_expired_task_is_unknown() {
    for caller in [SESSIONS, STATELESS] {
        for far in [SESSIONS, STATELESS] {
            let tasks = Tasks::in_memory().max_ttl(Duration::from_millis(1));
            let server = Server::new("far", "1").versions([far]).extension(tasks);
            let server = server.tool(tool("stuck", stuck).task(Task::optional())).build();
            let proxy = Proxy::connect(Client::new("proxy", "1"), server).await.unwrap();
            let client = connect(caller, proxy.service()).await;
            let task = begin(&client, "stuck").await;
            let expired = async {
                loop {
                    if let Err(error) = task.state().await {
                        return error.rpc().unwrap().code;
                    }
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            let expired = timeout(Duration::from_secs(30), expired).await;
            assert_eq!(expired, Ok(code::INVALID_PARAMS), "{caller} over {far}");
        }
    }
}

/// Callers are notified: without notifications, the next poll would be in an hour.
#[tokio::test]
async fn status_changes_are_forwarded() {
    for caller in [SESSIONS, STATELESS] {
        for far in [SESSIONS, STATELESS] {
            let (go, gone) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let (start, end) = (go.clone(), gone.clone());
            let waits = move |ctx: Ctx| {
                let (start, end) = (start.clone(), end.clone());
                async move {
                    start.notified().await;
                    ctx.progress(1.0, "half").await;
                    end.notified().await;
                    "done"
                }
            };
            let tasks = Tasks::in_memory().poll_interval(Duration::from_secs(3600));
            let server = Server::new("far", "1").versions([far]).extension(tasks);
            let server = server.tool(tool("waits", waits).task(Task::optional())).build();
            let proxy = Proxy::connect(Client::new("proxy", "1"), server.clone()).await.unwrap();
            let client = connect(caller, proxy.service()).await;
            let checked = timeout(Duration::from_secs(30), async {
                let task = begin(&client, "waits").await;
                let mut updates = task.updates().await;
                let first = updates.next().await.unwrap().unwrap();
                assert_eq!(first.status, TaskStatus::Working, "{caller} over {far}");
                // The proxy has subscribed at the server.
                while far == STATELESS && !server.hub().topics().iter().any(|topic| topic.member == "taskIds") {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                go.notify_one();
                gone.notify_one();
                let mut last = first;
                while let Some(state) = updates.next().await.unwrap() {
                    last = state;
                }
                assert_eq!(last.status, TaskStatus::Completed, "{caller} over {far}");
                assert_eq!(task.wait().await.unwrap().text(), "done", "{caller} over {far}");
            });
            assert!(checked.await.is_ok(), "{caller} over {far}: there was no notification");
        }
    }
}

/// A caller that subscribes to the task of another principal is not notified of it.
#[tokio::test]
async fn attack_10_notifications_of_a_task_reach_its_caller_alone() {
    for far in [SESSIONS, STATELESS] {
        let server = server(far);
        let proxy = Proxy::connect(Client::new("proxy", "1"), server.clone()).await.unwrap();
        let ann = connect(STATELESS, authenticated("ann", &proxy)).await;
        let other = connect(STATELESS, proxy.service()).await;
        let (foreign, own) = (begin(&ann, "stuck").await, begin(&other, "stuck").await);
        let filter = Filter::new().topic("taskIds", foreign.id()).topic("taskIds", own.id());
        let mut changes = other.listen(filter).await.unwrap();
        let heard = timeout(Duration::from_secs(30), async {
            let is_subscribed = || server.hub().topics().iter().any(|topic| topic.key == own.id());
            while far == STATELESS && !is_subscribed() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert!(server.hub().topics().iter().all(|topic| topic.key != foreign.id()), "{far}");
            foreign.cancel().await.unwrap();
            own.cancel().await.unwrap();
            loop {
                let Some(Change::Extension(event)) = changes.next().await else { panic!("{far}: no event") };
                let task: DetailedTask = event.params.parse().unwrap();
                assert_eq!(task.task_id, own.id(), "{far}");
                if task.status == TaskStatus::Cancelled {
                    return;
                }
            }
        });
        assert!(heard.await.is_ok(), "{far}: there was no notification");
    }
}
