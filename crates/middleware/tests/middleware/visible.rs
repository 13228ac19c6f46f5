//! Visibility: lists and calls never disagree.

use std::{sync::Arc, time::Duration};

use couplet_client::Client;
use couplet_core::{Caller, Metric, Service};
use couplet_middleware::{Item, Tags, Visibility};
use couplet_server::{
    Ctx, Extension, Server,
    extract::{Args, Path},
    prompt, resource, tool,
};
use couplet_types::{CompletionReference, ProtocolVersion, RpcError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::{Count, as_caller, in_each_revision};

/// All items; a rule is a set of them.
const ITEMS: [Item<'static>; 7] = [
    Item::Tool("read"),
    Item::Tool("inner_write"),
    Item::Prompt("greet"),
    Item::Resource("test://menu"),
    Item::Resource("test://notes/1"),
    Item::Resource("test://notes/7"),
    Item::ResourceTemplate("test://notes/{id}"),
];

/// A server with another one mounted. `test://notes/1` is listed, `test://notes/7` is not.
fn server() -> Server {
    let inner: Server = Server::new("inner", "1").tool(tool("write", || "written"));
    Server::new("s", "1")
        .mount("inner", inner)
        .tool(tool("read", || "read"))
        .prompt(prompt("greet", || "hello"))
        .resource(resource("test://menu", || "soup"))
        .resource(resource("test://notes/1", || "one"))
        .resource(resource("test://notes/{id}", |Path(id): Path<String>| id).complete_from("id", ["1", "7"]))
}

async fn with_rule(mask: u32, version: ProtocolVersion) -> Client {
    let rule = move |_: Option<&Caller>, item: Item<'_>| match ITEMS.iter().position(|known| *known == item) {
        Some(index) => mask & (1 << index) != 0,
        None => true,
    };
    let service: Arc<dyn Service> = Arc::new(Visibility::new(server(), rule));
    couplet_testing::connect(service, version).await.unwrap()
}

/// Every rule over these items, in every revision.
#[test]
fn lists_and_calls_agree_for_every_rule() {
    in_each_revision(async |version| {
        for mask in 0..1 << ITEMS.len() {
            let client = with_rule(mask, version).await;
            agrees(&client, mask).await;
        }
    });
}

async fn agrees(client: &Client, mask: u32) {
    let shows = |item: Item<'_>| {
        let index = ITEMS.iter().position(|known| *known == item).unwrap();
        mask & (1 << index) != 0
    };
    let tools: Vec<String> = client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    for name in ["read", "inner_write"] {
        assert_eq!(tools.iter().any(|tool| tool == name), shows(Item::Tool(name)), "{mask:b}: {name} is listed");
        let called = client.call(name, json!({})).await.is_ok();
        assert_eq!(called, shows(Item::Tool(name)), "{mask:b}: {name} is called");
    }
    let prompts = client.prompts().await.unwrap();
    assert_eq!(prompts.len() == 1, shows(Item::Prompt("greet")), "{mask:b}");
    assert_eq!(client.prompt("greet", json!({})).await.is_ok(), shows(Item::Prompt("greet")), "{mask:b}");
    let listed: Vec<String> = client.resources().await.unwrap().into_iter().map(|resource| resource.uri).collect();
    for uri in ["test://menu", "test://notes/1"] {
        assert_eq!(listed.iter().any(|listed| listed == uri), shows(Item::Resource(uri)), "{mask:b}: {uri} is listed");
        assert_eq!(client.read(uri).await.is_ok(), shows(Item::Resource(uri)), "{mask:b}: {uri} is read");
    }
    let templates = client.resource_templates().await.unwrap();
    let template = "test://notes/{id}";
    let is_listed = templates.iter().any(|listed| listed.uri_template == template);
    assert_eq!(is_listed, shows(Item::ResourceTemplate(template)), "{mask:b}");
    let uri = "test://notes/7";
    let is_readable = shows(Item::Resource(uri)) && is_listed;
    assert_eq!(client.read(uri).await.is_ok(), is_readable, "{mask:b}: {uri} is read");
}

#[test]
fn hidden_names_are_not_suggested() {
    in_each_revision(async |version| {
        let shown = with_rule(u32::MAX, version).await;
        let message = |error: couplet_core::Error| error.rpc().unwrap().message.clone();
        assert!(message(shown.call("raed", json!({})).await.unwrap_err()).contains("`read`"));
        let hidden = with_rule(0, version).await;
        let said = message(hidden.call("raed", json!({})).await.unwrap_err());
        assert_eq!(said, "there is no tool `raed`");
        let said = message(hidden.call("read", json!({})).await.unwrap_err());
        assert_eq!(said, "there is no tool `read`");
        // A hidden name is as unknown as any other, and no error suggests one.
        let templates = |name: &str| CompletionReference::resource(format!("test://{name}/{{id}}"));
        for (what, reference) in [
            ("prompt `greet`", CompletionReference::prompt("greet")),
            ("prompt `graet`", CompletionReference::prompt("graet")),
            ("resource template `test://notes/{id}`", templates("notes")),
            ("resource template `test://nodes/{id}`", templates("nodes")),
            ("resource template `test://menu`", CompletionReference::resource("test://menu")),
        ] {
            let said = message(hidden.complete(reference, "id", "a").await.unwrap_err());
            assert_eq!(said, format!("there is no {what}"));
        }
        let said = message(shown.complete(templates("nodes"), "id", "a").await.unwrap_err());
        assert!(said.contains("did you mean `test://notes/{id}`"), "{said}");
    });
}

#[test]
fn the_caller_decides() {
    in_each_revision(async |version| {
        let rule = |caller: Option<&Caller>, item: Item<'_>| match item {
            Item::Tool("inner_write") => caller.is_some_and(|caller| caller.has_scope("admin")),
            _ => true,
        };
        for (caller, sees) in [(Caller::new("ada").with_scopes(["admin"]), 2), (Caller::new("bob"), 1)] {
            // The caller is set by an outer server, as a transport would do it.
            let inner: Arc<dyn Service> = Arc::new(Visibility::new(server(), rule));
            let outer: Server = Server::new("outer", "1").middleware(as_caller(caller)).mount("m", inner);
            let client = couplet_testing::connect(outer.build(), version).await.unwrap();
            assert_eq!(client.tools().await.unwrap().len(), sees);
            assert_eq!(client.call("m_inner_write", json!({})).await.is_ok(), sees == 2);
        }
    });
}

/// A server with a tool that enables and disables others.
fn with_tags() -> Visibility {
    let tags = Tags::new().tools("admin", ["delete"]).resources("admin", ["test://log"]).disabled("admin");
    let handle = tags.clone();
    let switch = tool("switch", move |Args(Switch { tag, on }): Args<Switch>, ctx: Ctx| {
        let tags = handle.clone();
        async move {
            if on {
                tags.enable(&ctx, &tag)?;
            } else {
                tags.disable(&ctx, &tag)?;
            }
            Ok::<_, RpcError>("switched")
        }
    });
    let server: Server = Server::new("s", "1")
        .tool(switch)
        .tool(tool("delete", || "deleted"))
        .resource(resource("test://log", || "log"))
        .resource(resource("test://menu", || "soup"));
    Visibility::by_tags(server, tags)
}

#[derive(Deserialize, JsonSchema)]
struct Switch {
    tag: String,
    on: bool,
}

async fn sees_all(client: &Client) -> bool {
    let tools = client.tool_pages().next().await.unwrap().unwrap().len();
    let resources = client.resource_pages().next().await.unwrap().unwrap().len();
    let called = client.call("delete", json!({})).await.is_ok();
    let read = client.read("test://log").no_cache().await.is_ok();
    let all = [tools == 2, resources == 2, called, read];
    assert!(all.iter().all(|one| *one == all[0]), "lists and calls disagree: {all:?}");
    all[0]
}

#[test]
fn a_session_enables_tags_for_itself_alone() {
    let with_sessions = Count::default();
    in_each_revision(async |version| {
        let service: Arc<dyn Service> = Arc::new(with_tags());
        let one = couplet_testing::connect(service.clone(), version).await.unwrap();
        let two = couplet_testing::connect(service, version).await.unwrap();
        assert!(!sees_all(&one).await && !sees_all(&two).await);
        if one.call("switch", json!({ "tag": "admin", "on": true })).await.is_err() {
            // An anonymous caller without a session.
            assert!(!sees_all(&one).await);
            return;
        }
        with_sessions.add();
        assert!(sees_all(&one).await && !sees_all(&two).await);
        assert!(one.call("switch", json!({ "tag": "none", "on": true })).await.is_err());
        one.call("switch", json!({ "tag": "admin", "on": false })).await.unwrap();
        assert!(!sees_all(&one).await);
    });
    assert_eq!(with_sessions.get(), 4, "four revisions have sessions");
}

#[test]
fn an_authenticated_caller_has_tags_without_a_session() {
    in_each_revision(async |version| {
        let service: Arc<dyn Service> = Arc::new(with_tags());
        let connect = async |name: &str| {
            let outer: Server =
                Server::new("outer", "1").middleware(as_caller(Caller::new(name))).mount("m", service.clone());
            couplet_testing::connect(outer.build(), version).await.unwrap()
        };
        let (ada, bob) = (connect("ada").await, connect("bob").await);
        ada.call("m_switch", json!({ "tag": "admin", "on": true })).await.unwrap();
        assert!(ada.call("m_delete", json!({})).await.is_ok());
        assert!(bob.call("m_delete", json!({})).await.is_err());
    });
}

/// What operators see and what a shutdown does is that of the server inside.
#[test]
fn metrics_and_shutdowns_reach_the_server() {
    let extension = Extension::new("com.example/counted")
        .metrics(|| vec![Metric::gauge("example_orders", "orders in progress", 3)])
        .on_drain(|_| std::future::ready(()));
    let visible = Visibility::new(server().extension(extension), |_: Option<&Caller>, _: Item<'_>| true);
    assert_eq!(visible.metrics().len(), 1);
    assert!(visible.drain(Duration::ZERO).is_some());
}
