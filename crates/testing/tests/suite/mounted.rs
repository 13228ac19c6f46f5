//! The extensions of a server that is mounted in another one, in every revision.

use std::time::Duration;

use couplet_apps::{AppTool, Apps, ClientApps, HostApps, View};
use couplet_client::Client;
use couplet_core::{Caller, Change, Filter, Reply, ResultBody, Revision, Service};
use couplet_server::{Ctx, Extension, Server, ServerHandle, ToolError, resource, tool};
use couplet_skills::{ClientSkills, LoadSkills, Skill, Skills};
use couplet_tasks::{CallTask, Called, ClientTasks, Task, TaskTool, Tasks};
use couplet_testing::{Wire, types::*};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

const CLOCK: &str = "com.example/clock";
const RELATED: &str = "io.modelcontextprotocol/related-task";

#[derive(Deserialize, JsonSchema)]
struct Sure {
    yes: bool,
}

fn clock(settings: Value) -> Extension {
    Extension::new(CLOCK)
        .settings(&settings)
        .method("clock/now", |_, server: ServerHandle| async move {
            Reply::Complete(ResultBody::value(&json!({ "by": server.describe().info.name })))
        })
        .filter("zones")
}

/// Mounted twice over: its names begin with `town` and `shop`.
fn nested(inside: &ServerHandle) -> ServerHandle {
    let town = Server::new("town", "1").mount("shop", inside.clone());
    Server::new("land", "1").tool(tool("anthem", || "la la")).mount("town", town).build()
}

async fn wire(server: ServerHandle, version: ProtocolVersion, capabilities: Value) -> (Wire, Value) {
    let capabilities = serde_json::from_value(capabilities).expect("capabilities");
    let mut wire = Wire::with(server, version, capabilities, Default::default());
    let greeting = wire.open().await;
    (wire, greeting)
}

#[tokio::test]
async fn an_extension_is_declared_gated_and_called() {
    for &version in ProtocolVersion::ALL {
        let inside = Server::new("inside", "1").extension(clock(json!({ "zones": ["UTC"] }))).build();
        let beside = Server::new("beside", "1").extension(clock(json!({ "format": "ISO" })));
        let outside = Server::new("outside", "1").mount("in", inside.clone()).mount("by", beside).build();
        let (mut with, greeting) = wire(outside.clone(), version, json!({ "extensions": { CLOCK: {} } })).await;
        let settings = &greeting["result"]["capabilities"]["extensions"][CLOCK];
        assert_eq!(*settings, json!({ "zones": ["UTC"], "format": "ISO" }), "{version}");
        let answer = with.request("clock/now", json!({})).await;
        assert_eq!(answer["result"]["by"], "inside", "{version}: {answer}");
        let (mut without, _) = wire(outside, version, json!({})).await;
        let refused = without.request("clock/now", json!({})).await;
        assert_eq!(refused["error"]["data"]["requiredCapabilities"]["extensions"], json!({ CLOCK: {} }), "{version}");
        if !Revision::of(version).has_sessions() {
            with.start("subscriptions/listen", json!({ "notifications": { "zones": ["UTC"] } }));
            assert_eq!(with.next().await.unwrap()["params"]["notifications"], json!({ "zones": ["UTC"] }));
            let event = couplet_core::ExtensionEvent::new("zones", "UTC", "notifications/clock", json!({ "at": 1 }));
            inside.publish(event);
            assert_eq!(with.next().await.unwrap()["params"]["at"], 1);
        }
    }
}

fn refusal(build: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(build).expect_err("it is refused");
    panic.downcast_ref::<String>().expect("a message").clone()
}

#[test]
fn settings_that_differ_are_refused_with_both_servers() {
    let message = refusal(|| {
        let inside = Server::new("inside", "1").extension(clock(json!({ "zones": ["UTC"] })));
        let outside = Server::<()>::new("outside", "1").extension(clock(json!({ "zones": ["CET"] })));
        let _ = outside.mount("in", inside).build();
    });
    for part in [CLOCK, "`zones`", "the server `outside`", "the mounted server `in`"] {
        assert!(message.contains(part), "{message}");
    }
    let message = refusal(|| {
        let method =
            |id: &str| Extension::new(id).method("clock/now", |_, _| async { Reply::Complete(ResultBody::empty()) });
        let inside = |id: &str| Server::<()>::new("inside", "1").extension(method(id));
        let _ = Server::<()>::new("outside", "1")
            .mount("a", inside("com.example/a"))
            .mount("b", inside("com.example/b"))
            .build();
    });
    for part in ["clock/now", "com.example/a", "com.example/b", "the mounted server `a`", "the mounted server `b`"] {
        assert!(message.contains(part), "{message}");
    }
}

fn shop() -> ServerHandle {
    let ask = |ctx: Ctx| async move {
        let sure = ctx.elicit::<Sure>("sure", "sure?").await?.accepted()?;
        Ok::<_, ToolError>(format!("sure: {}", sure.yes))
    };
    let link = || vec![ContentBlock::link(Resource::new("shelf://top", "top"))];
    let hold = || async { std::future::pending::<String>().await };
    Server::new("shop", "1")
        .extension(Tasks::in_memory().list().poll_interval(Duration::from_millis(1)))
        .resource(resource("shelf://top", || "top"))
        .tool(tool("ask", ask).task(Task::optional()))
        .tool(tool("link", link).task(Task::optional()))
        .tool(tool("hold", hold).task(Task::optional()))
        .build()
}

/// The revisions that have tasks.
const WITH_TASKS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

#[tokio::test]
async fn tasks_are_found_by_their_ids() {
    for version in WITH_TASKS {
        let own = Tasks::in_memory().poll_interval(Duration::from_millis(1));
        let outside = Server::new("mall", "1")
            .extension(own)
            .tool(tool("own", || "own").task(Task::optional()))
            .mount("a", shop())
            .mount("b", Server::new("floor", "1").mount("c", shop()))
            .build();
        let client = Client::new("c", "1")
            .versions([version])
            .extension(ClientTasks::new())
            .on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) })
            .connect(outside)
            .await
            .unwrap();
        for (name, prefix, text) in
            [("own", "", Some("own")), ("a_ask", "a:", Some("sure: true")), ("b_c_ask", "b:c:", Some("sure: true"))]
        {
            let Called::Task(task) = client.call_task(name, ()).await.unwrap() else { panic!("{version}: {name}") };
            assert!(task.id().starts_with(prefix), "{version}: {name} {}", task.id());
            assert_eq!(task.id().contains(':'), !prefix.is_empty(), "{version}: {}", task.id());
            assert_eq!(Some(&*task.wait().await.unwrap().text()), text, "{version}: {name}");
        }
        let Called::Task(task) = client.call_task("b_c_link", ()).await.unwrap() else { panic!("{version}") };
        let result = task.wait().await.unwrap();
        let ContentBlock::ResourceLink(link) = &result.content()[0] else { panic!("{version}: {result:?}") };
        assert_eq!(link.uri, "shelf://b/c/top", "{version}");
        let Called::Task(task) = client.call_task("b_c_hold", ()).await.unwrap() else { panic!("{version}") };
        task.cancel().await.unwrap();
        assert_eq!(task.state().await.unwrap().status, TaskStatus::Cancelled, "{version}");
        for unknown in ["a:none", "none", "b:none", "b:c:"] {
            let error = client.task(unknown).state().await.unwrap_err();
            assert_eq!(error.rpc().unwrap().code, -32602, "{version}: {unknown}");
        }
    }
}

/// Everything that names a task of a session names it as it is called outside.
#[tokio::test]
async fn a_session_hears_of_tasks_by_their_outside_ids() {
    let capabilities = json!({ "elicitation": {}, "tasks": {} });
    let (mut wire, greeting) = wire(nested(&shop()), ProtocolVersion::V2025_11_25, capabilities).await;
    assert!(greeting["result"]["capabilities"]["tasks"]["list"].is_object(), "{greeting}");
    let created = wire.request("tools/call", json!({ "name": "town_shop_ask", "task": {} })).await;
    let id = created["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{created}")).to_owned();
    assert!(id.starts_with("town:shop:"), "{id}");
    let waiting = wire.start("tasks/result", json!({ "taskId": id }));
    let (mut asked, mut told) = (None, Vec::new());
    while asked.is_none() {
        let message = wire.next().await.expect("a message");
        match message["method"].as_str() {
            Some("elicitation/create") => asked = Some(message),
            Some("notifications/tasks/status") => told.push(message),
            other => panic!("{other:?} {message}"),
        }
    }
    let asked = asked.unwrap();
    assert_eq!(asked["params"]["_meta"][RELATED]["taskId"], id, "{asked}");
    let answer = json!({ "action": "accept", "content": { "yes": true } });
    wire.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer }));
    let result = wire.response(waiting).await;
    assert_eq!(result["result"]["content"][0]["text"], "sure: true", "{result}");
    assert_eq!(result["result"]["_meta"][RELATED]["taskId"], id, "{result}");
    told.extend(wire.ready());
    assert!(!told.is_empty());
    assert!(told.iter().all(|note| note["params"]["taskId"] == id), "{told:?}");
    let listed = wire.request("tasks/list", json!({})).await;
    assert_eq!(listed["result"]["tasks"][0]["taskId"], id, "{listed}");
    let got = wire.request("tasks/get", json!({ "taskId": id })).await;
    assert_eq!(got["result"]["taskId"], id, "{got}");
}

#[tokio::test]
async fn a_subscription_to_a_task_has_its_outside_id() {
    let capabilities = json!({ "elicitation": {}, "extensions": { TASKS_EXTENSION: {} } });
    let (mut wire, greeting) = wire(nested(&shop()), ProtocolVersion::V2026_07_28, capabilities).await;
    assert!(greeting["result"]["capabilities"]["extensions"][TASKS_EXTENSION].is_object(), "{greeting}");
    let created = wire.request("tools/call", json!({ "name": "town_shop_hold" })).await;
    let id = created["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{created}")).to_owned();
    assert_eq!(created["result"]["resultType"], "task");
    wire.start("subscriptions/listen", json!({ "notifications": { "taskIds": [id] } }));
    assert_eq!(wire.next().await.unwrap()["params"]["notifications"]["taskIds"], json!([id]));
    let cancelled = wire.start("tasks/cancel", json!({ "taskId": id }));
    let note = wire.next().await.unwrap();
    let note = if note.get("method").is_some() { note } else { wire.next().await.unwrap() };
    assert_eq!((&note["method"], &note["params"]["taskId"]), (&json!("notifications/tasks"), &json!(id)), "{note}");
    let _ = cancelled;
}

fn skilled(name: &str) -> Skills {
    let skill = Skill::new(name, "How to do it.", "Begin.").file("notes/a.md", "a note");
    Skills::new().page_size(1).skill(skill)
}

#[tokio::test]
async fn skills_are_listed_and_read_under_the_prefix() {
    for &version in ProtocolVersion::ALL {
        for has_own in [false, true] {
            let inside =
                Server::new("inside", "1").extension(skilled("refunds").skill(Skill::new("b", "B.", "B."))).build();
            let land = Server::new("land", "1").mount("town", Server::new("town", "1").mount("shop", inside));
            let land = if has_own { land.extension(skilled("own")) } else { land };
            let client = Client::new("c", "1").versions([version]).extension(ClientSkills::new());
            let client = client.connect(land.build()).await.unwrap();
            let skills = client.skills().await.unwrap();
            let uris: Vec<_> = skills.iter().map(|skill| skill.uri.as_str()).collect();
            let own: &[&str] = if has_own { &["skill://own/SKILL.md"] } else { &[] };
            let mounted = ["skill://town/shop/refunds/SKILL.md", "skill://town/shop/b/SKILL.md"];
            assert_eq!(uris, [own, &mounted].concat(), "{version}");
            for skill in &skills {
                assert_eq!(skill.check(), Ok(()), "{version}");
                let loaded = client.load_skill(skill).await.unwrap();
                assert!(loaded.is_verified(), "{version}: {}", skill.uri);
            }
            let entry = client.skill(mounted[0]).await.unwrap();
            let loaded = client.load_skill(&entry).await.unwrap();
            assert_eq!(loaded.file("notes/a.md").await.unwrap(), b"a note", "{version}");
            let folder = client.skill_directory("skill://town/shop/refunds").all().await.unwrap();
            let folder: Vec<_> = folder.iter().map(|entry| entry.uri.as_str()).collect();
            assert_eq!(folder, [mounted[0], "skill://town/shop/refunds/notes"], "{version}");
            let missing = client.skill("skill://town/shop/none/SKILL.md").await.unwrap_err();
            assert_eq!(missing.rpc().unwrap().code, -32602, "{version}: {missing}");
            let missing = client.skill("skill://none/SKILL.md").await.unwrap_err();
            assert_eq!(missing.rpc().unwrap().code, -32602, "{version}: {missing}");
        }
    }
}

#[tokio::test]
async fn the_view_of_a_tool_is_found_under_the_prefix() {
    for &version in ProtocolVersion::ALL {
        let view = View::new("ui://weather/forecast", "<!doctype html><title>Forecast</title>");
        let weather = Server::new("weather", "1")
            .extension(Apps::new().view(view))
            .tool(tool("today", || "rain").view("ui://weather/forecast"))
            .tool(tool("plain", || "plain"))
            .build();
        let client = Client::new("c", "1").versions([version]).extension(ClientApps::new());
        let client = client.connect(nested(&weather)).await.unwrap();
        assert!(client.server().capabilities.extensions.as_ref().is_some_and(|all| all.contains_key(APPS_EXTENSION)));
        let uri = "ui://town/shop/weather/forecast";
        assert!(client.read(uri).await.unwrap().all_text().contains("Forecast"), "{version}");
        let tools = client.tools().await.unwrap();
        let today = tools.iter().find(|tool| tool.name == "town_shop_today").unwrap();
        // Tools of older revisions have no metadata.
        if matches!(version, ProtocolVersion::V2024_11_05 | ProtocolVersion::V2025_03_26) {
            assert!(today.meta.is_none(), "{version}");
            continue;
        }
        assert_eq!(serde_json::to_value(&today.meta).unwrap()["ui"]["resourceUri"], uri, "{version}");
        let view = client.view_of(today).await.unwrap().expect("a view");
        assert!(view.html.contains("Forecast"), "{version}");
        let plain = tools.iter().find(|tool| tool.name == "town_shop_plain").unwrap();
        assert!(client.view_of(plain).await.unwrap().is_none(), "{version}");
    }
}

/// A list that a mounted server made for one caller must not be cached for others.
#[tokio::test]
async fn a_private_list_stays_private() {
    let inside = Server::new("inside", "1").hide_forbidden().tool(tool("purge", || "").scopes(["admin"]));
    let outside = Server::new("outside", "1").tool(tool("open", || "")).mount("in", inside).build();
    for (caller, count) in [(Caller::new("ann").with_scopes(["admin"]), 2), (Caller::new("bob"), 1)] {
        let mut wire = Wire::new(outside.clone(), ProtocolVersion::V2026_07_28);
        wire.connection().set_caller(Some(std::sync::Arc::new(caller)));
        let listed = wire.request("tools/list", json!({})).await;
        assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(count), "{listed}");
        assert_eq!(listed["result"]["cacheScope"], "private", "{listed}");
    }
}

/// A change of the skills inside is a change of the resources outside.
#[tokio::test]
async fn changes_of_skills_are_told() {
    let skills = skilled("refunds");
    let handle = skills.handle();
    let inside = Server::new("inside", "1").extension(skills).build();
    let outside = Server::new("outside", "1").mount("in", inside.clone()).build();
    let changes = outside.hub().subscribe(Filter::new().resources());
    handle.replace(&inside, Skill::new("more", "More.", "More.")).unwrap();
    assert_eq!(changes.take(), Some(Change::Resources));
}
