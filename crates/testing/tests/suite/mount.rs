//! One server inside of another, in every revision.

use std::sync::Arc;

use couplet::{
    client::{Change, Client, Filter},
    core::{BoxFuture, Call, Description, Hub, Reply, ResultBody, Service},
    server::{
        Ctx, Next, Server, ServerHandle,
        extract::{Args, Completing, Path},
        prompt, resource, tool,
    },
    types::{
        CompletionReference, ContentBlock, Implementation, ProtocolVersion, Resource, ResourcesCapability, RpcError,
        ServerCapabilities, ToolsCapability,
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

#[derive(Deserialize, JsonSchema)]
struct Sure {
    yes: bool,
}

fn weather() -> Server {
    Server::new("weather", "1")
        .tool(tool("today", |Args(City { city }): Args<City>| format!("rain in {city}")))
        .tool(tool("change", |ctx: Ctx| async move {
            ctx.progress_with(1.0, Some(2.0), None).await;
            let sure = ctx.elicit::<Sure>("sure", "really?").await?;
            Ok::<_, RpcError>(format!("{:?}", sure.accepted().ok().map(|s| s.yes)))
        }))
        .tool(tool("links", || {
            let inside = Resource::new("sky://now", "now");
            let web = Resource::new("https://example.com/", "web");
            vec![ContentBlock::link(inside), ContentBlock::link(web)]
        }))
        .resource(resource("sky://now", || "grey").subscribable())
        .resource(
            resource("sky://at/{hour}", |Path(hour): Path<u8>| format!("grey at {hour}"))
                .complete("hour", |t: Completing| vec![format!("{}0", t.value)]),
        )
        .resource(resource("urn:sky:1", || "first"))
        .prompt(
            prompt("ask", |Args(City { city }): Args<City>| format!("how is {city}?"))
                .complete_from("city", ["Oslo", "Rome"]),
        )
}

/// Three levels: a tool of the innermost is `town_weather_today`.
fn nested() -> (ServerHandle, ServerHandle) {
    let weather = weather().build();
    let town = Server::new("town", "1").tool(tool("mayor", || "Ada")).mount("weather", weather.clone());
    let land = Server::new("land", "1").tool(tool("anthem", || "la la")).mount("town", town);
    (land.build(), weather)
}

async fn client(server: ServerHandle, version: ProtocolVersion) -> Client {
    Client::new("c", "1")
        .versions([version])
        .on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) })
        .connect(server)
        .await
        .expect("a connection")
}

#[tokio::test]
async fn what_is_inside_has_another_name_outside() {
    for &version in ProtocolVersion::ALL {
        let (land, _) = nested();
        let client = client(land, version).await;
        let names: Vec<_> = client.tools().await.unwrap().into_iter().map(|t| t.name).collect();
        let inside = ["town_weather_today", "town_weather_change", "town_weather_links"];
        assert_eq!(names, ["anthem", "town_mayor", inside[0], inside[1], inside[2]], "{version}");
        assert_eq!(client.call("anthem", ()).await.unwrap().text(), "la la");
        assert_eq!(client.call("town_mayor", ()).await.unwrap().text(), "Ada");
        let today = client.call("town_weather_today", json!({ "city": "Oslo" })).await.unwrap();
        assert_eq!(today.text(), "rain in Oslo", "{version}");
        for unknown in ["today", "weather_today", "town_today", "town_weather_", "town_weather_none"] {
            let error = client.call(unknown, ()).await.unwrap_err();
            assert_eq!(error.rpc().unwrap().code, -32602, "{version}: {unknown}");
        }
        let prompts = client.prompts().await.unwrap();
        assert_eq!(prompts[0].name, "town_weather_ask", "{version}");
        let asked = client.prompt("town_weather_ask", json!({ "city": "Rome" })).await.unwrap();
        assert_eq!(asked.messages[0].content.as_text(), Some("how is Rome?"), "{version}");
    }
}

#[tokio::test]
async fn resources_have_the_prefix_in_their_path() {
    for &version in ProtocolVersion::ALL {
        let (land, _) = nested();
        let client = client(land, version).await;
        let uris: Vec<_> = client.resources().await.unwrap().into_iter().map(|r| r.uri).collect();
        assert_eq!(uris, ["sky://town/weather/now", "urn:sky:1"], "{version}");
        let templates = client.resource_templates().await.unwrap();
        assert_eq!(templates[0].uri_template, "sky://town/weather/at/{hour}", "{version}");
        for (uri, text) in [(&*uris[0], "grey"), ("sky://town/weather/at/7", "grey at 7"), ("urn:sky:1", "first")] {
            let read = client.read(uri).await.unwrap();
            assert_eq!((&*read.all_text(), &*read.contents[0].uri), (text, uri), "{version}");
        }
        assert!(client.read("sky://now").await.is_err(), "{version}");
        // Clients of older revisions read the address in a text.
        let links = client.call("town_weather_links", ()).await.unwrap();
        let printed = serde_json::to_string(links.content()).unwrap();
        assert!(printed.contains("https://example.com/"), "{version}: {printed}");
        if let ContentBlock::ResourceLink(link) = &links.content()[0] {
            assert_eq!(link.uri, uris[0], "{version}");
        }
    }
}

#[tokio::test]
async fn completions_questions_and_progress_come_through() {
    for &version in ProtocolVersion::ALL {
        let (land, _) = nested();
        let client = client(land, version).await;
        let prompt = CompletionReference::prompt("town_weather_ask");
        assert_eq!(client.complete(prompt, "city", "o").await.unwrap().values, ["Oslo"], "{version}");
        let template = CompletionReference::resource("sky://town/weather/at/{hour}");
        assert_eq!(client.complete(template, "hour", "1").await.unwrap().values, ["10"], "{version}");
        let (tell, mut told) = tokio::sync::mpsc::channel(8);
        let changed = client
            .call("town_weather_change", ())
            .on_progress(move |p| {
                let _ = tell.try_send(p.progress);
            })
            .await;
        assert_eq!(told.try_recv().ok(), Some(1.0), "{version}");
        match version {
            // There, nobody can be asked.
            ProtocolVersion::V2024_11_05 | ProtocolVersion::V2025_03_26 => {
                assert!(changed.unwrap().is_error(), "{version}");
            }
            _ => assert_eq!(changed.unwrap().text(), "Some(true)", "{version}"),
        }
    }
}

#[tokio::test]
async fn changes_inside_are_told_outside() {
    for &version in ProtocolVersion::ALL {
        let (land, weather) = nested();
        let client = client(land, version).await;
        let uri = "sky://town/weather/now";
        let filter = Filter::new().tools().prompts().resources().resource(uri);
        let mut changes = client.listen(filter).await.unwrap();
        weather.updated("sky://other");
        weather.updated("sky://now");
        assert_eq!(changes.next().await, Some(Change::Updated(uri.into())), "{version}");
        weather.add_tool(tool("storm", || "boom")).unwrap();
        assert_eq!(changes.next().await, Some(Change::Tools), "{version}");
        assert_eq!(client.call("town_weather_storm", ()).await.unwrap().text(), "boom", "{version}");
        assert!(weather.remove_prompt("ask"));
        assert_eq!(changes.next().await, Some(Change::Prompts), "{version}");
        assert!(client.prompts().await.unwrap().is_empty(), "{version}");
    }
}

/// The first tool inside makes the server outside one that has tools.
#[tokio::test]
async fn what_can_be_done_inside_can_be_done_outside() {
    for &version in ProtocolVersion::ALL {
        let inside = Server::new("inside", "1").resource(resource("a://b", || "b").subscribable()).build();
        let outside = Server::new("outside", "1").mount("in", inside.clone()).build();
        let before = client(outside.clone(), version).await;
        let can = &before.server().capabilities;
        assert!(can.tools.is_none() && can.prompts.is_none(), "{version}");
        assert_eq!(can.resources.as_ref().unwrap().subscribe, Some(true), "{version}");
        inside.add_tool(tool("new", || "new")).unwrap();
        let after = client(outside, version).await;
        assert!(after.server().capabilities.tools.is_some(), "{version}");
        assert_eq!(after.call("in_new", ()).await.unwrap().text(), "new", "{version}");
    }
}

#[tokio::test]
async fn lists_are_one_list_page_by_page() {
    let many = |name: &str, count: usize| {
        let tools = (0..count).map(|i| format!("t{i}"));
        tools.fold(Server::new(name, "1").page_size(2), |server, name| server.tool(tool(name, || "")))
    };
    for &version in ProtocolVersion::ALL {
        let server = many("own", 3).mount("a", many("a", 5)).mount("none", many("none", 0)).mount("b", many("b", 1));
        let client = client(server.build(), version).await;
        let mut pages = client.tool_pages();
        let mut sizes = Vec::new();
        let mut names = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.unwrap();
            sizes.push(page.len());
            names.extend(page.into_iter().map(|t| t.name));
        }
        assert_eq!(names.len(), 9, "{version}: {names:?}");
        assert_eq!((&*names[0], &*names[3], &*names[8]), ("t0", "a_t0", "b_t0"), "{version}");
        assert!(sizes.iter().all(|size| (1..=3).contains(size)), "{version}: {sizes:?}");
        let request = couplet::types::ListToolsParams::new().cursor("bW91bnQ6OTo");
        assert!(client.request::<couplet::types::ListTools>(request).await.is_err(), "{version}");
    }
}

#[test]
fn prefixes_can_be_told_apart() {
    let inside = || Server::new("inside", "1").build();
    let refused = |prefixes: &[&str]| {
        let mount = || prefixes.iter().fold(Server::<()>::new("s", "1"), |s, p| s.mount(p, inside()));
        std::panic::catch_unwind(mount).is_err()
    };
    assert!(!refused(&["a", "b", "ab", "a-b"]));
    for wrong in [&["a", "a"][..], &["a", "a_b"], &["a_b", "a"], &[""], &["a b"]] {
        assert!(refused(wrong), "{wrong:?}");
    }
}

/// A service by hand, as a proxy is one.
struct Broken(Hub);

impl Service for Broken {
    fn describe(&self) -> Arc<Description> {
        let can = ServerCapabilities::new().tools(ToolsCapability::new());
        Arc::new(Description::new(Implementation::new("broken", "1"), can))
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        Box::pin(async move { panic!("{}", call.method) })
    }

    fn hub(&self) -> &Hub {
        &self.0
    }
}

/// A mounted server that is out of order fails by itself.
#[tokio::test]
async fn one_that_is_out_of_order_does_not_harm_the_others() {
    for &version in ProtocolVersion::ALL {
        let refusing = Server::new("refusing", "1")
            .tool(tool("a", || ""))
            .middleware(|_: Call, _: Next| async { Reply::from(RpcError::internal("not today")) });
        let broken: Arc<dyn Service> = Arc::new(Broken(Hub::new()));
        let server = Server::new("s", "1").tool(tool("own", || "fine")).mount("refusing", refusing).mount("b", broken);
        let client = client(server.build(), version).await;
        for name in ["refusing_a", "b_a"] {
            let error = client.call(name, ()).await.unwrap_err();
            assert_eq!(error.rpc().unwrap().code, -32603, "{version}: {name}");
        }
        assert_eq!(client.call("own", ()).await.unwrap().text(), "fine", "{version}");
    }
    let refusing = Server::new("refusing", "1")
        .tool(tool("a", || ""))
        .middleware(|_: Call, _: Next| async { Reply::from(RpcError::internal("not today")) });
    let server = Server::new("s", "1").tool(tool("own", || "fine")).mount("refusing", refusing);
    let client = client(server.build(), ProtocolVersion::V2026_07_28).await;
    assert_eq!(client.tools().await.unwrap().len(), 1);
}

/// A server that takes no `null` for a text, and knows one resource without a path.
struct Strict(&'static str, Hub);

impl Service for Strict {
    fn describe(&self) -> Arc<Description> {
        let can = ServerCapabilities::new().tools(ToolsCapability::new()).resources(ResourcesCapability::new());
        Arc::new(Description::new(Implementation::new("strict", "1"), can))
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let own = self.0;
        Box::pin(async move {
            let cursor = call.params.get("cursor");
            if cursor.is_some_and(|cursor| cursor.as_str() == "null") {
                return RpcError::invalid_params("`cursor`: expected string, received null").into();
            }
            let read = call.params.read_opt::<String>("uri").ok().flatten();
            Reply::Complete(ResultBody::value(&match (&*call.method, read.as_deref()) {
                ("tools/list", _) => json!({ "tools": [{ "name": "t", "inputSchema": { "type": "object" } }] }),
                ("resources/list", _) => json!({ "resources": [{ "name": own, "uri": own }] }),
                ("resources/read", Some(uri)) if uri == own => json!({ "contents": [{ "uri": uri, "text": own }] }),
                ("resources/read", Some(uri)) => return call.revision.resource_not_found(uri).into(),
                _ => json!({}),
            }))
        })
    }

    fn hub(&self) -> &Hub {
        &self.1
    }
}

fn strict(own: &'static str) -> Arc<dyn Service> {
    Arc::new(Strict(own, Hub::new()))
}

#[tokio::test]
async fn attack_10_a_mounted_server_that_takes_no_null_is_listed() {
    for &version in ProtocolVersion::ALL {
        let server = Server::new("s", "1").mount("a", strict("urn:a")).mount("b", strict("urn:b")).build();
        let client = client(server.clone(), version).await;
        let names: Vec<_> = client.tools().await.unwrap().into_iter().map(|t| t.name).collect();
        assert_eq!(names, ["a_t", "b_t"], "{version}");
        assert!(server.mounts().iter().all(|mount| mount.failure.is_none()), "{version}");
    }
}

/// An address without a path does not say whose it is.
#[tokio::test]
async fn resources_without_a_path_are_found_in_any_mounted_server() {
    for &version in ProtocolVersion::ALL {
        let server = Server::new("s", "1").mount("a", strict("urn:a")).mount("b", strict("urn:b")).build();
        let client = client(server, version).await;
        for uri in ["urn:a", "urn:b"] {
            assert_eq!(client.read(uri).await.unwrap().all_text(), uri, "{version}");
        }
        let missing = client.read("urn:c").await.unwrap_err();
        assert!(matches!(missing.rpc().unwrap().code, -32002 | -32602), "{version}: {missing}");
    }
}

#[tokio::test]
async fn a_mount_that_fails_is_seen() {
    let refusing = Server::new("refusing", "1")
        .tool(tool("a", || ""))
        .middleware(|_: Call, _: Next| async { Reply::from(RpcError::internal("not today")) });
    let server = Server::new("s", "1").mount("bad", refusing).mount("good", strict("urn:a")).build();
    let client = client(server.clone(), ProtocolVersion::V2026_07_28).await;
    assert_eq!(client.tools().await.unwrap().len(), 1);
    let states: Vec<_> = server.mounts().into_iter().map(|m| (m.prefix, m.failure)).collect();
    assert_eq!(states, [("bad".to_owned(), Some("not today".to_owned())), ("good".to_owned(), None)]);
}
