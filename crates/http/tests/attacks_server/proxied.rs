//! Callers behind a proxy that is served over HTTP.

use std::sync::Arc;

use couplet_client::Client;
use couplet_core::{Limits, Transport};
use couplet_http::server::HttpTransport;
use couplet_proxy::Proxy;
use couplet_server::{Ctx, Server, ToolError, tool};
use couplet_types::ProtocolVersion;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::{net::TcpListener, sync::Notify};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn who(ctx: Ctx) -> Result<String, ToolError> {
    Ok(ctx.elicit::<Name>("who", "who are you?").await?.accepted()?.name)
}

/// A user who leaves a form open must not hold up another one, however each of them speaks.
#[tokio::test]
async fn attack_10_an_open_form_behind_a_proxy_blocks_no_other_caller() {
    let far = Server::new("far", "1").versions([ProtocolVersion::V2025_11_25]);
    let far = far.tool(tool("who", who)).tool(tool("one", || 1)).build();
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let proxy = Proxy::connect(Client::new("proxy", "1"), far.clone()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        tokio::spawn(HttpTransport::from_listener(listener).serve(proxy.service(), Limits::default()));

        let asked = Arc::new(Notify::new());
        let asking = asked.clone();
        let stuck = Client::new("stuck", "1").versions([version]).on_elicit(move |_| {
            asking.notify_one();
            std::future::pending()
        });
        let stuck = stuck.connect(couplet_http::connect(&*url)).await.unwrap();
        let call = tokio::spawn(async move { stuck.call("who", ()).await });
        asked.notified().await;

        let other = Client::new("other", "1").versions([version]).connect(couplet_http::connect(&*url)).await.unwrap();
        assert_eq!(other.call("one", ()).await.unwrap().text(), "1", "{version}");
        call.abort();
    }
}
