//! An extension that nobody but its author knows: everything that the registries offer, in every revision.

use couplet_client::{Client, Filter, Outcome};
use couplet_core::{ExtensionEvent, JsonText, Project, Reply, ResultBody, Revision};
use couplet_server::{Extension, Server, ServerHandle, ToolCall, ToolData, ToolNext, tool};
use couplet_testing::{Wire, types::*};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const ID: &str = "com.example/clock";

/// The method of the extension, as a client sends it.
#[derive(Clone, Copy, Debug)]
struct Now;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct NowParams {
    zone: String,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta>,
}

impl HasMeta for NowParams {
    fn meta(&self) -> Option<&Meta> {
        self.meta.as_ref()
    }
    fn meta_mut(&mut self) -> &mut Option<Meta> {
        &mut self.meta
    }
}

impl Project for NowParams {
    fn project(&mut self, _: Revision) {}
}

impl Request for Now {
    const METHOD: &'static str = "clock/now";
    const EXTENSION: Option<&'static str> = Some(ID);
    const NAMED_BY: Option<&'static str> = Some("zone");
    type Params = NowParams;
    type Result = EmptyResult;
}

/// Marks a tool that answers with a ticket.
#[derive(Debug)]
struct Ticketed;

impl ToolData for Ticketed {
    fn extension(&self) -> &'static str {
        ID
    }
    fn describe(&self, tool: &mut Tool) {
        tool.description = Some("gives tickets".to_owned());
    }
}

fn clock() -> Extension {
    Extension::new(ID)
        .settings(&json!({ "zones": ["UTC"] }))
        .named_method("clock/now", "zone", |call, _| async move {
            let zone: String = call.params.read("zone").unwrap_or_default();
            Reply::Complete(ResultBody::value(&json!({ "zone": zone })))
        })
        .open_method("clock/open", |_, _| async { Reply::Complete(ResultBody::empty()) })
        .result_type("ticket")
        .filter("zones")
        .tool_middleware(|asked: ToolCall, next: ToolNext| async move {
            let takes = !asked.call.revision.has_sessions() && asked.call.peer.extension(ID).is_some();
            if asked.data::<Ticketed>().is_none() || !takes {
                return next.run(asked.call).await;
            }
            Reply::Extension { kind: "ticket".into(), done: ResultBody::value(&json!({ "ticket": 7 })) }
        })
}

fn server() -> ServerHandle {
    let unknown = Extension::new("com.example/other")
        .method("other/odd", |_, _| async { Reply::Extension { kind: "odd".into(), done: ResultBody::empty() } });
    Server::new("app", "1.0.0")
        .tool(tool("slow", || "done").extension_data(Ticketed))
        .extension(clock())
        .extension(unknown)
        .build()
}

async fn wire(version: ProtocolVersion, capabilities: Value) -> (Wire, Value) {
    let capabilities = serde_json::from_value(capabilities).expect("capabilities");
    let mut wire = Wire::with(server(), version, capabilities, Default::default());
    let greeting = wire.open().await;
    (wire, greeting)
}

#[tokio::test]
async fn a_server_declares_gates_and_answers() {
    for &version in ProtocolVersion::ALL {
        let alone = !Revision::of(version).has_sessions();
        let (mut with, greeting) = wire(version, json!({ "extensions": { ID: {}, "com.example/other": {} } })).await;
        let settings = &greeting["result"]["capabilities"]["extensions"][ID];
        assert_eq!(*settings, json!({ "zones": ["UTC"] }), "{version}");
        assert_eq!(with.request("clock/now", json!({ "zone": "UTC" })).await["result"]["zone"], "UTC", "{version}");

        let (mut without, _) = wire(version, json!({})).await;
        let error = without.request("clock/now", json!({ "zone": "UTC" })).await["error"].take();
        assert_eq!(error["code"], if alone { -32021 } else { -32600 }, "{version}");
        assert_eq!(error["data"]["requiredCapabilities"]["extensions"], json!({ ID: {} }), "{version}");
        assert!(without.request("clock/open", json!({})).await.get("result").is_some(), "{version}");

        let ticket = with.request("tools/call", json!({ "name": "slow" })).await["result"].take();
        let plain = without.request("tools/call", json!({ "name": "slow" })).await["result"].take();
        assert_eq!(plain["content"][0]["text"], "done", "{version}");
        assert_eq!(ticket["resultType"], if alone { json!("ticket") } else { Value::Null }, "{version}");
        assert_eq!(ticket["ticket"], if alone { json!(7) } else { Value::Null }, "{version}");
        let odd = with.request("other/odd", json!({})).await;
        assert_eq!(odd["error"]["code"], -32603, "a kind that no extension has, {version}");
        let listed = with.request("tools/list", json!({})).await;
        assert_eq!(listed["result"]["tools"][0]["description"], "gives tickets", "{version}");
    }
}

#[tokio::test]
async fn those_who_asked_are_told_the_latest() {
    let server = server();
    let capabilities = serde_json::from_value(json!({ "extensions": { ID: {} } })).unwrap();
    let mut wire = Wire::with(server.clone(), ProtocolVersion::V2026_07_28, capabilities, Default::default());
    wire.start("subscriptions/listen", json!({ "notifications": { "zones": ["UTC"], "others": 1 } }));
    let acknowledged = wire.next().await.unwrap();
    assert_eq!(acknowledged["params"]["notifications"], json!({ "zones": ["UTC"] }));
    for (zone, at) in [("UTC", 1), ("CET", 2), ("UTC", 3)] {
        server.publish(ExtensionEvent::new("zones", zone, "notifications/clock", json!({ "at": at })));
    }
    server.publish(
        ExtensionEvent::new("zones", "UTC", "notifications/clock/x", json!({})).for_principal(Some("eve".into())),
    );
    let told = wire.ready();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["method"], &told[0]["params"]["at"]), (&json!("notifications/clock"), &json!(3)));
    assert!(told[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].is_number());

    let (mut without, _) = self::wire(ProtocolVersion::V2026_07_28, json!({})).await;
    let refused = without.request("subscriptions/listen", json!({ "notifications": { "zones": [] } })).await;
    assert_eq!(refused["error"]["code"], -32021);
}

fn client(version: ProtocolVersion) -> couplet_client::ClientBuilder {
    Client::new("check", "1.0.0").versions([version])
}

fn accepting() -> couplet_client::Extension {
    couplet_client::Extension::new(ID).result("tools/call", "ticket", |_, result: JsonText| async move {
        assert!(result.as_str().contains("\"ticket\":7"));
        Ok(JsonText::new(r#"{"content":[{"type":"text","text":"from the ticket"}]}"#).expect("JSON"))
    })
}

#[tokio::test]
async fn a_client_declares_sends_accepts_and_hears() {
    for &version in ProtocolVersion::ALL {
        let alone = !Revision::of(version).has_sessions();
        let server = server();
        let with = client(version).extension(accepting()).connect(server.clone()).await.unwrap();
        with.request::<Now>(NowParams { zone: "UTC".into(), meta: None }).await.unwrap();
        let text = with.call("slow", ()).await.unwrap().text();
        assert_eq!(text, if alone { "from the ticket" } else { "done" }, "{version}");
        let first = with.call_outcome("slow", ()).await.unwrap();
        assert_eq!(matches!(first, Outcome::Extension { .. }), alone, "{version}: {first:?}");
        if alone {
            let mut changes = with.listen(Filter::new().topic("zones", "UTC")).await.unwrap();
            server.publish(ExtensionEvent::new("zones", "UTC", "notifications/clock", json!({ "at": 5 })));
            let Some(couplet_client::Change::Extension(news)) = changes.next().await else { panic!("no news") };
            assert_eq!(news.method, "notifications/clock");
        }
        let without = client(version).connect(server).await.unwrap();
        let refused = without.request::<Now>(NowParams::default()).await.unwrap_err();
        assert!(refused.to_string().contains(ID), "{version}: {refused}");
    }
}

#[tokio::test]
async fn a_kind_that_the_client_does_not_know_is_an_error() {
    let silent = couplet_client::Extension::new(ID);
    let client = client(ProtocolVersion::V2026_07_28).extension(silent).connect(server()).await.unwrap();
    let error = client.call("slow", ()).await.unwrap_err();
    assert!(error.to_string().contains("unknown type `ticket`"), "{error}");
}

#[test]
#[should_panic(expected = "tool `slow` needs the extension `com.example/clock`")]
fn a_tool_for_an_extension_needs_it() {
    let _ = Server::new("app", "1.0.0").tool(tool("slow", || "done").extension_data(Ticketed)).build();
}
