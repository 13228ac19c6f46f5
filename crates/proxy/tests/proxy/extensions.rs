//! Extensions of the server, used through the proxy. Tasks are in `tasks.rs`.

use couplet_client::{Client, Extension as ClientExtension};
use couplet_core::{ExtensionMethod, ExtensionSpec, Reply, ResultBody};
use couplet_proxy::Proxy;
use couplet_server::{Extension, Server, tool};
use couplet_types::{Meta, ProtocolVersion, Request};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::kit::{SESSIONS, STATELESS};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Zone {
    zone: String,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta>,
}

couplet_core::extension_messages!(Zone);

struct GetClock;

impl Request for GetClock {
    const METHOD: &'static str = "clock/get";
    const EXTENSION: Option<&'static str> = Some("com.example/clock");
    const NAMED_BY: Option<&'static str> = Some("zone");
    type Params = Zone;
    type Result = Zone;
}

#[tokio::test]
async fn methods_of_an_extension_go_through() {
    for version in [SESSIONS, STATELESS] {
        let clock = Extension::new("com.example/clock").named_method("clock/get", "zone", |call, _| async move {
            let zone: String = call.params.read("zone").unwrap();
            Reply::Complete(ResultBody::value(&json!({ "zone": format!("{zone} noon") })))
        });
        let server = Server::new("far", "1").versions([version]).extension(clock).tool(tool("one", || 1)).build();
        let known = ExtensionSpec::new("com.example/clock").method(ExtensionMethod::new("clock/get").named_by("zone"));
        let proxy = Proxy::builder(Client::new("proxy", "1").extension(ClientExtension::new("com.example/clock")))
            .extension(known)
            .connect(server)
            .await
            .unwrap();
        let client = Client::new("near", "1")
            .versions([version])
            .extension(ClientExtension::new("com.example/clock"))
            .connect(proxy.service())
            .await
            .unwrap();
        let zone = client.request::<GetClock>(Zone { zone: "UTC".into(), meta: None }).await.unwrap();
        assert_eq!(zone.zone, "UTC noon", "{version}");
    }
}

/// The methods of an extension that was not configured are not served.
#[tokio::test]
async fn an_unknown_extension_is_declared_only() {
    let server = Server::new("far", "1").extension(Extension::new("com.example/clock")).tool(tool("one", || 1)).build();
    let proxy = Proxy::connect(Client::new("proxy", "1"), server).await.unwrap();
    let client = Client::new("near", "1")
        .versions([ProtocolVersion::V2026_07_28])
        .extension(ClientExtension::new("com.example/clock"))
        .connect(proxy.service())
        .await
        .unwrap();
    assert!(client.server().capabilities.extensions.as_ref().is_some_and(|all| all.contains_key("com.example/clock")));
    let refused = client.request::<GetClock>(Zone { zone: "UTC".into(), meta: None }).await.unwrap_err();
    assert_eq!(refused.rpc().unwrap().code, -32601);
}
