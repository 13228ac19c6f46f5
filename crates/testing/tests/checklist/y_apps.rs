//! Lines 447 to 450: views of tools, on the server and in the host.

use std::panic::{AssertUnwindSafe, catch_unwind};

use couplet_apps::{
    AppTool, Apps, Bridge, ClientApps, Csp, Host, HostApps, MIME_TYPE, Permission, Permissions, ShowsApps, View,
    ViewEvent,
};
use couplet_core::ErrorKind;
use couplet_server::{Ctx, IntoResource, Json, Server, ServerHandle, resource, tool};
use couplet_testing::types::{APPS_EXTENSION, Implementation, Meta, Tool};
use serde_json::{Value, json};

use crate::kit::{RawServer, STATELESS, call, client, open, result, revisions, text};

const PAGE: &str = "<!doctype html>\n<title>Weather</title>";
const URI: &str = "ui://weather/now";

fn view() -> View {
    let permissions = Permissions::default().with(Permission::Geolocation);
    View::new(URI, PAGE)
        .csp(Csp::new().connect(["https://api.example.com"]))
        .permissions(permissions)
        .prefers_border(true)
}

async fn weather(ctx: Ctx) -> &'static str {
    if ctx.shows_apps() { "Sunny: see the view." } else { "Sunny, 21 degrees, rain tomorrow." }
}

fn server() -> ServerHandle {
    Server::new("s", "1")
        .extension(Apps::new().view(view()))
        .tool(tool("weather", weather).view(URI))
        .tool(tool("refresh", || Json(json!({ "degrees": 22 }))).app_only())
        .tool(tool("secret", || "s").model_only())
        .tool(tool("plain", || "p"))
        .build()
}

/// Revisions before 2025-06-18 have no `_meta` on tools, and with it no views.
fn has_views(version: couplet_testing::types::ProtocolVersion) -> bool {
    revisions("2025-06-18"..).contains(&version)
}

#[tokio::test]
async fn line_447_views_are_resources_that_exist() {
    for &version in revisions(..) {
        let mut wire = open(server(), version, json!({})).await;
        let read = wire.request("resources/read", json!({ "uri": URI })).await["result"]["contents"][0].take();
        assert_eq!((&read["uri"], &read["mimeType"]), (&json!(URI), &json!(MIME_TYPE)), "{version}");
        assert_eq!(read["text"], PAGE, "{version}");
        let tools = wire.request("tools/list", json!({})).await["result"]["tools"].take();
        if has_views(version) {
            let ui = json!({ "csp": { "connectDomains": ["https://api.example.com"] },
                             "permissions": { "geolocation": {} }, "prefersBorder": true });
            assert_eq!(read["_meta"]["ui"], ui, "{version}");
            assert_eq!(tools[0]["_meta"]["ui"], json!({ "resourceUri": URI }), "{version}");
            assert_eq!(tools[1]["_meta"]["ui"], json!({ "visibility": ["app"] }), "{version}");
            assert_eq!(tools[2]["_meta"]["ui"], json!({ "visibility": ["model"] }), "{version}");
        }
        for name in ["weather", "refresh"] {
            assert!(!text(&call(&mut wire, name, json!({})).await).is_empty(), "{version}: {name} says something");
        }
    }
    type Build = fn() -> ServerHandle;
    let wrong: [(Build, &str); 8] = [
        (|| with("ui://nowhere", Apps::new()).build(), "there is no view `ui://nowhere`"),
        (|| with("https://example.com", Apps::new()).build(), "must begin with `ui://`"),
        (|| with("ui://a", Apps::new()).resource(resource("ui://a", || PAGE)).build(), "is not a view"),
        (
            || with("ui://a", Apps::new().view(View::new("ui://a", PAGE).csp(Csp::new().connect(["*"])))).build(),
            "`*` in its",
        ),
        (|| with("ui://a", Apps::new()).resource(by_hand(json!({ "csp": "none" }))).build(), "`_meta.ui` is invalid"),
        (|| with("ui://a", Apps::new().view(View::new("https://a", PAGE))).build(), "must begin with `ui://`"),
        (
            || with("ui://a", Apps::new().view(View::new("ui://a", "Hello"))).build(),
            "must begin with `<!doctype html>`",
        ),
        (|| Server::new("s", "1").tool(tool("t", || "t").view("ui://a")).build(), "needs the extension"),
    ];
    for (build, why) in wrong {
        let panic = catch_unwind(AssertUnwindSafe(build)).unwrap_err();
        let said = panic.downcast_ref::<String>().unwrap();
        assert!(said.contains(why), "{said}");
    }
    let late = server().add_tool(tool("late", || "t").view("ui://nowhere")).unwrap_err();
    assert!(late.to_string().contains("there is no view"), "{late}");
    server().add_tool(tool("late", || "t").view(URI)).unwrap();
}

/// A view that is listed by hand.
fn by_hand(ui: Value) -> impl IntoResource<()> {
    resource("ui://a", || PAGE).mime_type(MIME_TYPE).meta(Meta::new().with("ui", ui))
}

fn with(uri: &str, apps: Apps) -> Server {
    Server::new("s", "1").extension(apps).tool(tool("t", || "t").view(uri))
}

#[tokio::test]
async fn line_448_a_tool_knows_whether_its_view_is_seen() {
    for &version in revisions(..) {
        for (settings, seen) in [
            (json!({ "mimeTypes": [MIME_TYPE] }), true),
            (json!({ "mimeTypes": ["text/plain", MIME_TYPE] }), true),
            (json!({ "mimeTypes": ["text/plain"] }), false),
            (json!({ "mimeTypes": MIME_TYPE }), false),
            (json!({}), false),
        ] {
            let can = json!({ "extensions": { APPS_EXTENSION: settings } });
            let mut wire = open(server(), version, can).await;
            let said = call(&mut wire, "weather", json!({})).await;
            assert_eq!(text(&said).contains("see the view"), seen, "{version} {settings}");
        }
        let mut wire = open(server(), version, json!({})).await;
        assert!(text(&call(&mut wire, "weather", json!({})).await).contains("21 degrees"), "{version}");
    }
}

/// A tool as a server lists it.
fn listed(name: &str, ui: Value) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" }, "_meta": { "ui": ui } })
}

#[tokio::test]
async fn line_449_a_host_declares_fetches_and_shuts_in() {
    for &version in revisions(..).iter().filter(|v| has_views(**v)) {
        let host = client(version).extension(ClientApps::new()).connect(server()).await.unwrap();
        let tools = host.tools().await.unwrap();
        let view = host.view_of(&tools[0]).await.unwrap().unwrap();
        assert_eq!((view.uri.as_str(), view.html.as_str()), (URI, PAGE), "{version}");
        assert!(view.policy().contains("connect-src https://api.example.com;"), "{version}");
        assert_eq!(view.meta.permissions.unwrap().allow(), "geolocation", "{version}");
        assert!(host.view_of(&tools[3]).await.unwrap().is_none(), "{version}");
        assert_eq!(
            text(&json!({ "result": host.call("weather", ()).await.unwrap().into_inner() })),
            "Sunny: see the view."
        );

        // A server that says too much is taken at no more than it may say.
        for (contents, fine) in [
            (json!({ "mimeType": MIME_TYPE, "text": PAGE }), true),
            (json!({ "mimeType": "text/html; profile=mcp-app", "blob": "PCFkb2N0eXBlIGh0bWw+" }), true),
            (json!({ "mimeType": "text/html", "text": PAGE }), false),
            (json!({ "text": PAGE }), false),
            (json!({ "mimeType": MIME_TYPE, "blob": "?" }), false),
        ] {
            let raw = RawServer::speaking(version, json!({ "tools": {}, "resources": {} }), move |m| {
                if m.get("id").is_none() {
                    return vec![];
                }
                let mut contents = contents.clone();
                contents["uri"] = json!("ui://x");
                contents["_meta"] = json!({ "ui": { "csp": { "connectDomains": ["*"], "resourceDomains": ["https://cdn.example.com"] } } });
                vec![result(
                    m,
                    json!({ "resultType": "complete", "contents": [contents], "ttlMs": 0, "cacheScope": "private" }),
                )]
            });
            let host = client(version).extension(ClientApps::new()).connect(raw.clone()).await.unwrap();
            let tool: Tool = serde_json::from_value(listed("t", json!({ "resourceUri": "ui://x" }))).unwrap();
            match host.view_of(&tool).await {
                Ok(view) => {
                    let policy = view.unwrap().policy();
                    assert!(fine && policy.contains("connect-src 'none';"), "{version}: {policy}");
                    assert!(policy.contains("script-src 'self' 'unsafe-inline' https://cdn.example.com;"), "{version}");
                }
                Err(error) => assert!(!fine && error.kind() == ErrorKind::Protocol, "{version}: {error}"),
            }
            assert_eq!(raw.seen_of("resources/read").len(), 1, "{version}");
            let declared = match version {
                STATELESS => {
                    raw.seen_of("resources/read")[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
                        .take()
                }
                _ => raw.seen_of("initialize")[0]["params"]["capabilities"].take(),
            };
            assert_eq!(declared["extensions"][APPS_EXTENSION], json!({ "mimeTypes": [MIME_TYPE] }), "{version}");
        }
    }
    let strict = [
        "default-src 'none'",
        "script-src 'self' 'unsafe-inline'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "media-src 'self' data:",
        "font-src 'self'",
        "connect-src 'none'",
        "frame-src 'none'",
        "object-src 'none'",
        "base-uri 'self'",
    ];
    assert_eq!(Csp::new().policy(), strict.map(|d| format!("{d};")).join(" "));
    let all = Csp::new()
        .connect(["https://a.com"])
        .resources(["https://b.com"])
        .frames(["https://c.com"])
        .base(["https://d.com"]);
    let policy = all.policy();
    for (directive, origin) in
        [("connect-src", "a"), ("img-src 'self' data:", "b"), ("frame-src", "c"), ("base-uri", "d")]
    {
        assert!(policy.contains(&format!("{directive} https://{origin}.com;")), "{policy}");
    }
    assert!(policy.contains("default-src 'none';") && policy.contains("object-src 'none';"));
}

#[tokio::test]
async fn line_450_tools_are_for_whom_they_say() {
    for &version in revisions(..).iter().filter(|v| has_views(**v)) {
        let host = client(version).extension(ClientApps::new()).connect(server()).await.unwrap();
        let names: Vec<_> = host.model_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["weather", "secret", "plain"], "{version}");

        let mut bridge = Bridge::new(Host::new(Implementation::new("h", "1")), host.app_tools().await.unwrap());
        bridge.receive(&json!({ "jsonrpc": "2.0", "id": 0, "method": "ui/initialize", "params": {} }));
        bridge.receive(&json!({ "jsonrpc": "2.0", "method": "ui/notifications/initialized" }));
        for (name, allowed) in [
            ("weather", true),
            ("refresh", true),
            ("plain", true),
            ("secret", false),
            ("tool_of_another_server", false),
        ] {
            let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name } });
            match bridge.receive(&ask) {
                ViewEvent::CallTool(id, params) => {
                    assert!(allowed, "{version} {name}");
                    let called = host.call(params.name, json!({})).await.unwrap().into_inner();
                    assert_eq!(bridge.answer(&id, &called)["result"]["content"][0]["type"], "text", "{version}");
                }
                ViewEvent::Answer(refusal) => {
                    assert!(!allowed, "{version} {name}");
                    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!(1), &json!(-32000)), "{version}");
                }
                other => panic!("{version} {name}: {other:?}"),
            }
        }
    }
}
