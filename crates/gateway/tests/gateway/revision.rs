//! The revision of the protocol that a configuration sets for a server.

use couplet_server::{Ctx, Server, tool};
use couplet_types::ProtocolVersion;
use serde_json::json;

use crate::kit::{File, SHORT, Upstream, client};

async fn spoken(ctx: Ctx) -> String {
    ctx.peer().version.as_str().to_owned()
}

#[tokio::test]
async fn the_revision_of_a_server_is_that_of_the_file() {
    let server = Upstream::serve(Server::new("upstream", "1.0.0").tool(tool("spoken", spoken))).await;
    let text = |more: &str| format!(r#"{{ "mcpServers": {{ "far": {} }}, "names": "bare" }}"#, server.entry(more));
    let file = File::new(&text(""));
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    let client = client(&gateway, None).await;
    let latest = client.call("spoken", ()).await.unwrap().text();
    let others: Vec<_> = ProtocolVersion::ALL.iter().map(|version| version.as_str()).filter(|v| *v != latest).collect();
    for version in others.iter().rev().take(3) {
        file.write(&text(&format!(r#", "revision": "{version}""#)));
        gateway.reload().await.unwrap();
        gateway.ready(SHORT).await;
        assert_eq!(client.call("spoken", ()).await.unwrap().text(), *version);
    }
    file.write(&text(r#", "revision": "2025-11-26""#));
    let error = gateway.reload().await.unwrap_err().to_string();
    assert!(error.contains("`2025-11-26` is not a revision of the protocol: expected one of 20"), "{error}");
    let schema = couplet_gateway::schema();
    let named = &schema["$defs"]["Revision"]["enum"];
    assert_eq!(*named, json!(ProtocolVersion::ALL.iter().map(|version| version.as_str()).collect::<Vec<_>>()));
    gateway.close().await;
}
