//! Ids that the host gives to one principal mean nothing to another one.

use std::sync::Arc;

use couplet_client::Client;
use couplet_core::{JsonText, Limits, Outcome, Service};
use couplet_host::{
    Host, Profile,
    audit::MemoryAudit,
    pins::Digest,
    policy::{Layer, Policy},
};
use couplet_server::{Ctx, Server, ToolError, tool};
use couplet_tasks::{CallTask, Called, ClientTasks, Task, TaskTool, Tasks};
use couplet_testing::Wire;
use couplet_types::{
    ClientCapabilities, ElicitationCapability, ListTasks, ListTasksParams, ListTools, PaginatedParams, ProtocolVersion,
    ReadResource, ReadResourceParams,
};
use serde_json::{Value, json};

use crate::{
    evil::{Evil, value},
    kit::{SESSIONS, STATELESS, Sure, able, authenticated, connect, id, in_time, server},
    raw::Raw,
};

/// A service that can be given to a wire.
#[derive(Clone)]
struct Of(Arc<dyn Service>);

impl Service for Of {
    fn describe(&self) -> Arc<couplet_core::Description> {
        self.0.describe()
    }

    fn call(&self, call: couplet_core::Call) -> couplet_core::BoxFuture<'static, couplet_core::Reply> {
        self.0.call(call)
    }

    fn hub(&self) -> &couplet_core::Hub {
        self.0.hub()
    }
}

fn wire(principal: &'static str, service: Arc<dyn Service>) -> Wire {
    let can = ClientCapabilities::new().elicitation(ElicitationCapability::new());
    Wire::with(Of(authenticated(principal, service)), STATELESS, can, Limits::default())
}

async fn asks(ctx: Ctx) -> Result<String, ToolError> {
    let yes = ctx.elicit::<Sure>("yes", "sure?").await?.accepted()?.yes;
    Ok(format!("{yes}"))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Note {
    text: String,
}

/// The second question has the first answer in its request state.
async fn asks_twice(ctx: Ctx) -> Result<String, ToolError> {
    let note = ctx.elicit::<Note>("note", "what?").await?.accepted()?.text;
    let yes = ctx.elicit::<Sure>("yes", "sure?").await?.accepted()?.yes;
    Ok(format!("{} {yes}", note.len()))
}

/// Request state that is valid without the host is valid with it.
#[tokio::test]
async fn request_state_may_be_as_long_as_that_of_the_server() {
    for far in [SESSIONS, STATELESS] {
        in_time(far, async {
            let server = Server::new("far", "1").versions([far]).tool(tool("asks", asks_twice)).build();
            let host = Host::builder().server("one", server).build();
            let client = Client::new("asker", "1").versions([STATELESS]).on_elicit(|ask| async move {
                let text = "x".repeat(5000);
                let answer = json!({ "text": text, "yes": true });
                ask.accept(answer)
            });
            let client = client.connect(host.service()).await.unwrap();
            assert_eq!(client.call("one__asks", ()).await.unwrap().text(), "5000 true");
        })
        .await;
    }
}

/// Request state of one principal, tool or profile is not valid for another.
#[tokio::test]
async fn s12_request_state_belongs_to_its_caller() {
    for far in [SESSIONS, STATELESS] {
        in_time(far, async {
            let server = || {
                let server = Server::new("far", "1").versions([far]).tool(tool("asks", asks)).tool(tool("other", asks));
                server.build()
            };
            let audit = Arc::new(MemoryAudit::default());
            let host = Host::builder().server("one", server()).server("two", server()).profile(Profile::new("other"));
            let host = host.audit(audit.clone()).build();
            host.ready(std::time::Duration::from_secs(10)).await;
            let mut ann = wire("ann", host.service());
            let first = ann.request("tools/call", json!({ "name": "one__asks" })).await;
            let asked = first["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("{first}")).clone();
            let key = asked.keys().next().unwrap().clone();
            assert_eq!(asked[&key]["params"]["message"], "one: sure?");
            let retry = |name: &str| {
                let mut retry = json!({ "name": name });
                retry["requestState"] = first["result"]["requestState"].clone();
                retry["inputResponses"] = json!({ &key: { "action": "accept", "content": { "yes": true } } });
                retry
            };
            let mut forged = retry("one__asks");
            forged["requestState"] = json!("u.AAAA");
            audit.take();
            let unknown = ann.request("tools/call", forged).await["error"]["code"].clone();
            let records: Vec<_> = audit.take().into_iter().map(|record| (record.rule, record.outcome)).collect();
            assert_eq!(records, [(Some("state".into()), couplet_host::audit::Outcome::NotSent)]);
            let mut bob = wire("bob", host.service());
            let mut other = wire("ann", host.view("other").unwrap().service());
            for refused in [
                bob.request("tools/call", retry("one__asks")).await,
                other.request("tools/call", retry("one__asks")).await,
                ann.request("tools/call", retry("one__other")).await,
                ann.request("tools/call", retry("two__asks")).await,
            ] {
                assert_eq!(refused["error"]["code"], unknown, "{refused}");
            }
            let done = ann.request("tools/call", retry("one__asks")).await;
            assert_eq!(done["result"]["content"][0]["text"], "true", "{done}");
        })
        .await;
    }
}

/// Tasks work through the host in both forms, also from one to the other, and a task of one principal does not exist for
/// another.
#[tokio::test]
async fn s12_a_task_belongs_to_its_caller() {
    for (near, far) in [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)] {
        in_time(near, async {
            let server = |name: &'static str| {
                Server::new(name, "1")
                    .versions([far])
                    .extension(Tasks::in_memory().poll_interval(std::time::Duration::from_millis(10)))
                    .tool(tool("job", move || async move { name }).task(Task::optional()))
                    .tool(tool("asks", asks).task(Task::optional()))
                    .tool(tool("plain", move || async move { name }))
                    .build()
            };
            let host = Host::builder().server("one", server("one")).server("two", server("two")).build();
            host.ready(std::time::Duration::from_secs(10)).await;
            let client = |principal| {
                let client = Client::new("near", "1")
                    .versions([near])
                    .extension(ClientTasks::new())
                    .on_elicit(|ask| async move { ask.accept(json!({ "yes": ask.message() == "two: sure?" })) });
                connect(client, authenticated(principal, host.service()))
            };
            let (ann, bob) = (client("ann").await, client("bob").await);
            // A caller of 2025-11-25 has a task of every tool; a server with the extension decides.
            let held = if (near, far) == (SESSIONS, STATELESS) { "plain" } else { "job" };
            for (name, tool) in [("one", "job"), ("two", "job"), ("two", held)] {
                let called = ann.call_task(format!("{name}__{tool}"), ()).await.unwrap();
                let Called::Task(task) = called else { panic!("{near} over {far}: no task") };
                let id = task.id().to_owned();
                assert_eq!(task.wait().await.unwrap().text(), name, "{near} over {far}");
                let mine = ann.task(&id).state().await;
                assert!(mine.is_ok(), "{near} over {far}: {mine:?}");
                let theirs = bob.task(&id).state().await.unwrap_err();
                let nothing = bob.task("nothing").state().await.unwrap_err();
                assert_eq!(theirs.rpc(), nothing.rpc(), "{near} over {far}");
                assert!(theirs.rpc().is_some(), "{near} over {far}: {theirs}");
            }
            let Called::Task(asked) = ann.call_task("two__asks", ()).await.unwrap() else { panic!("no task") };
            let cancelled = ann.call_task("one__asks", ()).await.unwrap();
            assert_eq!(asked.wait().await.unwrap().text(), "true", "{near} over {far}");
            let Called::Task(cancelled) = cancelled else { panic!("no task") };
            cancelled.cancel().await.unwrap();
            assert!(cancelled.wait().await.is_err(), "{near} over {far}");
        })
        .await;
    }
}

/// The list of tasks has those of its caller at all servers, under sealed ids and in pages with sealed cursors.
#[tokio::test]
async fn s12_a_list_of_tasks_is_that_of_its_caller() {
    for far in [SESSIONS, STATELESS] {
        in_time(far, async {
            let server = |name: &'static str| {
                Server::new(name, "1")
                    .versions([far])
                    .extension(Tasks::in_memory())
                    .tool(tool("job", move || async move { name }).task(Task::required()))
                    .tool(tool("other", move || async move { name }).task(Task::required()))
                    .build()
            };
            let rules = r#"[{"deny":{"tool":"two/other","door":"task"}},{"allow":{}}]"#;
            let host = Host::builder().server("one", server("one")).server("two", server("two"));
            let rules = Policy::new(vec![Layer::new("policy", serde_json::from_str::<Vec<_>>(rules).unwrap())]);
            let host = host.server("down", Raw::new(far)).policy(rules).build();
            host.ready(std::time::Duration::from_secs(10)).await;
            let client = |principal| {
                let client = Client::new("near", "1").versions([SESSIONS]).extension(ClientTasks::new());
                connect(client, authenticated(principal, host.service()))
            };
            let (ann, bob) = (client("ann").await, client("bob").await);
            assert!(ann.server().capabilities.tasks.as_ref().is_some_and(|tasks| tasks.list.is_some()));
            let mut begun = Vec::new();
            for at in 0..60 {
                let name = if at % 2 == 0 { "one__job" } else { "two__job" };
                let Called::Task(task) = ann.call_task(name, ()).await.unwrap() else { panic!("no task") };
                begun.push(task.id().to_owned());
            }
            drop(ann.call_task("two__other", ()).await.unwrap());
            let first = ann.request::<ListTasks>(ListTasksParams::new()).await.unwrap();
            let cursor = ListTasksParams::new().cursor(first.next_cursor.unwrap());
            let last = ann.request::<ListTasks>(cursor.clone()).await.unwrap();
            assert_eq!((first.tasks.len(), last.next_cursor), (50, None), "{far}");
            let mut listed: Vec<_> = first.tasks.into_iter().chain(last.tasks).map(|task| task.task_id).collect();
            for id in &listed {
                assert!(ann.task(id).state().await.is_ok(), "{far}");
            }
            listed.sort();
            begun.sort();
            assert_eq!(listed, begun, "{far}");
            assert!(bob.request::<ListTasks>(ListTasksParams::new()).await.unwrap().tasks.is_empty(), "{far}");
            let error = bob.request::<ListTasks>(cursor).await.unwrap_err();
            assert_eq!(error.rpc().unwrap().code, couplet_types::code::INVALID_PARAMS, "{far}: {error}");
        })
        .await;
    }
}

/// Long lists come in pages; a cursor of another principal, profile or list is not valid.
#[tokio::test]
async fn s12_a_cursor_belongs_to_its_caller() {
    let names: Vec<_> = (0..2500).map(|at| format!("tool-{at:04}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    for &version in ProtocolVersion::ALL {
        in_time(version, async {
            let many = Evil::named("many", version, &names);
            let host = Host::builder().server("many", many.service()).profile(Profile::new("other")).build();
            let ann = connect(able(version).0, authenticated("ann", host.service())).await;
            let all = ann.tools().await.unwrap();
            assert_eq!(all.len(), 2500);
            assert!(all.iter().zip(&names).all(|(tool, name)| tool.name == format!("many__{name}")));
            let page = ann.request::<ListTools>(PaginatedParams::new()).await.unwrap();
            assert_eq!(page.tools.len(), 1000);
            let cursor = page.next_cursor.unwrap();
            let next =
                |client: &Client, cursor: &str| client.request::<ListTools>(PaginatedParams::new().cursor(cursor));
            assert_eq!(next(&ann, &cursor).await.unwrap().tools[0].name, "many__tool-1000");
            let bob = connect(able(version).0, authenticated("bob", host.service())).await;
            let other = host.view("other").unwrap().service();
            let other = connect(able(version).0, authenticated("ann", other)).await;
            let unknown = next(&ann, "AAAA").await.unwrap_err();
            for client in [&bob, &other] {
                assert_eq!(next(client, &cursor).await.unwrap_err().rpc(), unknown.rpc());
            }
            // The list changes between two pages: nothing that stays is left out or repeated.
            let fewer: Vec<_> = names.iter().filter(|name| **name != "tool-0999").copied().collect();
            many.set_tools(
                fewer.iter().map(|name| json!({ "name": name, "inputSchema": { "type": "object" } })).collect(),
            );
            while ann.tools().await.unwrap().len() != 2499 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            assert_eq!(next(&ann, &cursor).await.unwrap().tools[0].name, "many__tool-1000");
        })
        .await;
    }
}

/// A result that a server calls public is private where the policy distinguishes principals.
#[tokio::test]
async fn s24_a_view_that_differs_between_principals_is_private() {
    in_time("s24", async {
        let server = || {
            let resources = json!([{ "uri": "far://one", "name": "one" }]);
            let evil = Evil::new(STATELESS, json!([]), resources, |_| {
                let contents = json!([{ "uri": "far://one", "text": "one" }]);
                let public = json!({ "contents": contents, "ttlMs": 60_000, "cacheScope": "public" });
                Box::pin(async move { value(&public) })
            });
            evil.service()
        };
        let rules = r#"[{"deny":{"principal":"bob","resource":"far/*"}},{"allow":{}}]"#;
        let policy = Policy::new(vec![Layer::new("policy", serde_json::from_str::<Vec<_>>(rules).unwrap())]);
        for (policy, scope) in [(Policy::allow_all(), "public"), (policy, "private")] {
            let host = Host::builder().server("far", server()).policy(policy).build();
            let ann = connect(able(STATELESS).0, authenticated("ann", host.service())).await;
            ann.resources().await.unwrap();
            let read = ann.request::<ReadResource>(ReadResourceParams::new("far://one")).raw_outcome();
            let Outcome::Complete(text) = read.await.unwrap() else { panic!("it asks") };
            let scope_of = |text: &JsonText| text.parse::<Value>().unwrap()["cacheScope"].clone();
            assert_eq!(scope_of(&text), scope);
            let list = ann.request::<ListTools>(PaginatedParams::new()).raw_outcome();
            let Outcome::Complete(text) = list.await.unwrap() else { panic!("it asks") };
            assert_eq!(scope_of(&text), "private", "lists of a host are never shared");
        }
    })
    .await;
}

/// What one principal may not see is not in its lists, although another principal listed before.
#[tokio::test]
async fn s24_lists_are_those_of_the_principal() {
    let rules = r#"[{"deny":{"principal":"bob","tool":"files/who"}},{"allow":{}}]"#;
    let policy = Policy::new(vec![Layer::new("policy", serde_json::from_str::<Vec<_>>(rules).unwrap())]);
    let host = Host::builder().server("files", server("files", STATELESS).build()).policy(policy).build();
    for &version in ProtocolVersion::ALL {
        in_time(version, async {
            for (principal, sees) in [("ann", true), ("bob", false), ("ann", true)] {
                let client = connect(able(version).0, authenticated(principal, host.service())).await;
                let tools = client.tools().await.unwrap();
                assert_eq!(tools.iter().any(|tool| tool.name == "files__who"), sees, "{principal}");
                assert_eq!(client.call("files__who", ()).await.is_ok(), sees, "{principal}");
            }
        })
        .await;
    }
}

/// A policy that is replaced counts at once: lists that were made before are not given any more.
#[tokio::test]
async fn s24_a_new_policy_replaces_the_lists_of_the_old_one() {
    let target: Arc<dyn Service> = Arc::new(server("files", STATELESS).build());
    let config = |rules: &str| {
        let files = couplet_host::Server::new(id("files"), target.clone()).launch(Digest::of("files"));
        let policy = Policy::new(vec![Layer::new("policy", serde_json::from_str::<Vec<_>>(rules).unwrap())]);
        Host::builder().add(files).policy(policy)
    };
    let deny = [
        r#"[{"deny":{"tool":"files/who"}},{"allow":{}}]"#,
        r#"[{"deny":{"principal":"bob","tool":"files/who"}},{"allow":{}}]"#,
        r#"[{"deny":{"principal":"ann","tool":"files/who"}},{"allow":{}}]"#,
    ];
    for &version in ProtocolVersion::ALL {
        in_time(version, async {
            let host = config(r#"[{"allow":{}}]"#).build();
            let mut clients = Vec::new();
            for principal in ["ann", "bob"] {
                clients.push((principal, connect(able(version).0, authenticated(principal, host.service())).await));
            }
            // Each policy follows one with other lists, and the first comes again at the end.
            for rules in [r#"[{"allow":{}}]"#, deny[0], deny[1], deny[2], r#"[{"allow":{}}]"#] {
                host.replace(config(rules)).await;
                for (principal, client) in &clients {
                    let is_denied = rules == deny[0] || rules.contains(principal);
                    let tools = client.tools().await.unwrap();
                    let sees = tools.iter().any(|tool| tool.name == "files__who");
                    assert_eq!(sees, !is_denied, "{version}, {principal}: {rules}");
                    assert_eq!(client.call("files__who", ()).await.is_ok(), sees, "{version}, {principal}: {rules}");
                }
            }
        })
        .await;
    }
}
