//! Tools behind a search.

use couplet_core::{Caller, IntoService, Revision};
use couplet_middleware::{Item, Visibility};
use couplet_server::{Server, tool};
use couplet_transform::{ToolSearch, ToolTransform, Transform};
use serde_json::{Value, json};

use crate::kit::{authenticated, connect, find, in_each_revision, mounted, names, proxied, said, server, works};

/// A server with many tools.
fn large() -> Server {
    (0..300).fold(server(), |server, at| {
        let kind = ["invoice", "customer", "order"][at % 3];
        server.tool(tool(format!("get_{kind}_{at}"), move || at.to_string()).description(format!("Gets a {kind}.")))
    })
}

async fn search(client: &couplet_client::Client, tool: &str, query: &str) -> Vec<Value> {
    let text = said(client, tool, json!({ "query": query })).await;
    let found: Option<Value> = serde_json::from_str(&text).ok();
    found.map(|found| found["tools"].as_array().unwrap().clone()).unwrap_or_default()
}

#[test]
fn tools_are_found_and_called() {
    in_each_revision(async |version| {
        let searched = ToolSearch::new(large()).limit(5).always(["plain"]).into_service();
        let behind = ToolSearch::new(proxied(large().into_service(), version).await).limit(5).always(["plain"]);
        let ways = [(searched.clone(), ""), (mounted(searched), "m_"), (behind.into_service(), "")];
        for (service, prefix) in ways {
            let client = connect(service, version).await;
            let (search_tools, call_tool) = (format!("{prefix}search_tools"), format!("{prefix}call_tool"));
            assert_eq!(names(&client).await, [search_tools.clone(), call_tool.clone(), format!("{prefix}plain")]);
            let hints = find(&client, &call_tool).await.annotations;
            let destroys = hints.and_then(|hints| hints.destructive_hint);
            assert_eq!(destroys, Revision::of(version).has_tool_annotations().then_some(true));

            assert_eq!(search(&client, &search_tools, "an invoice").await.len(), 5);
            let found = search(&client, &search_tools, "invoice 33").await;
            assert_eq!(found[0]["name"], "get_invoice_33");
            assert!(found[0]["inputSchema"].is_object());
            assert_eq!(search(&client, &search_tools, "tenant").await[0]["name"], "echo", "by an argument");
            assert!(said(&client, &search_tools, json!({ "query": "zebra" })).await.contains("No tool matches"));

            let called = json!({ "name": "get_invoice_33" });
            assert_eq!(said(&client, &call_tool, called).await, "33");
            let with_arguments = json!({ "name": "echo", "arguments": { "q": "x" } });
            assert!(said(&client, &call_tool, with_arguments).await.contains(r#""q":"x""#));
            let direct = said(&connect(server(), version).await, "change", json!({})).await;
            assert_eq!(said(&client, &call_tool, json!({ "name": "change" })).await, direct, "elicitation");
            for unknown in ["none", "call_tool", "search_tools"] {
                let called = said(&client, &call_tool, json!({ "name": unknown })).await;
                assert!(called.contains(&format!("there is no tool `{unknown}`")), "{called}");
                assert!(!works(&client, &call_tool, json!({ "name": unknown })).await);
            }
        }
    });
}

#[test]
fn a_search_knows_a_change_at_once() {
    in_each_revision(async |version| {
        let inner = server().build();
        let client = connect(ToolSearch::new(inner.clone()), version).await;
        assert!(search(&client, "search_tools", "weather").await.is_empty());
        inner.add_tool(tool("weather_today", || "rain")).unwrap();
        assert_eq!(search(&client, "search_tools", "weather").await[0]["name"], "weather_today");
    });
}

/// What is cached for one caller is not for another.
#[test]
fn callers_find_what_they_see() {
    in_each_revision(async |version| {
        let rule = |caller: Option<&Caller>, item: Item<'_>| match item {
            Item::Tool("plain") => caller.is_some_and(|caller| &**caller.principal() == "ada"),
            _ => true,
        };
        let service = ToolSearch::new(Visibility::new(server(), rule)).always(["plain"]).into_service();
        for (caller, sees) in [("ada", true), ("bob", false), ("ada", true)] {
            let client = connect(authenticated(service.clone(), Caller::new(caller)), version).await;
            assert_eq!(names(&client).await.contains(&"m_plain".to_owned()), sees);
            assert_eq!(search(&client, "m_search_tools", "plain").await.len(), usize::from(sees));
            assert_eq!(works(&client, "m_call_tool", json!({ "name": "plain" })).await, sees);
            assert_eq!(works(&client, "m_plain", json!({})).await, sees);
        }
    });
}

#[test]
fn renamed_tools_are_found_by_their_new_names() {
    in_each_revision(async |version| {
        let change = ToolTransform::new().name("simple").description("A zebra.");
        let service = Transform::new(server()).tool("plain", change).hide_tools("secret");
        let client = connect(ToolSearch::new(service), version).await;
        assert_eq!(search(&client, "search_tools", "zebra").await[0]["name"], "simple");
        assert!(search(&client, "search_tools", "plain secret").await.is_empty());
        assert_eq!(said(&client, "call_tool", json!({ "name": "simple" })).await, "plain");
        assert!(!works(&client, "call_tool", json!({ "name": "plain" })).await);
    });
}
