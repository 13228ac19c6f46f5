//! A person takes longer than a server may.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use couplet_auth::client::OAuth;
use couplet_client::Client;
use couplet_types::ProtocolVersion;
use http::Response;
use serde_json::{Value, json};

use crate::world::{REDIRECT, SERVER, World};

/// A server that says what it is, in either era, to whoever has a token.
fn world() -> World {
    let world = World::new();
    world.rule(|seen| {
        if seen.url != SERVER || seen.header("authorization").is_none() {
            return None;
        }
        let message: Value = serde_json::from_str(&seen.body).ok()?;
        let result = match message["method"].as_str()? {
            "server/discover" => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0,
                "cacheScope": "private",
            }),
            "initialize" => json!({
                "protocolVersion": message["params"]["protocolVersion"], "capabilities": {},
                "serverInfo": { "name": "test", "version": "1" },
            }),
            _ => return Some(Response::builder().status(202).body(Bytes::new()).unwrap()),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
        Some(Response::builder().header("content-type", "application/json").body(answer.into()).unwrap())
    });
    world
}

#[tokio::test(start_paused = true)]
async fn no_deadline_passes_while_a_person_logs_in() {
    use ProtocolVersion::{V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
    for version in [V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28] {
        let world = world();
        let visitor = world.clone();
        let oauth = world.at_home(OAuth::new("Test").handle_redirect(REDIRECT, move |page| {
            let back = visitor.visit(&page);
            async move {
                tokio::time::sleep(Duration::from_secs(250)).await;
                Ok(back)
            }
        }));
        let target = couplet_http::connect(SERVER).client(Arc::new(world.clone())).authorize(oauth);
        let client = Client::new("test", "1").versions([version]).connect(target).await.unwrap();
        assert_eq!(client.server().version, version);
        assert_eq!(world.inner().pages.len(), 1);
        client.close().await.unwrap();
    }
}
