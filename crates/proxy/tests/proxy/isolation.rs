//! The callers that share a connection.

use couplet_client::Client;
use couplet_proxy::{Isolation, Proxy};
use couplet_server::{Ctx, Server, tool};
use couplet_types::RpcError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::{Cable, SESSIONS, authenticated};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn who(ctx: Ctx) -> Result<String, RpcError> {
    let answer = ctx.elicit::<Name>("name", "who are you?").await?;
    Ok(answer.accepted().map_or_else(|_| "no name".to_owned(), |n| n.name))
}

/// Two sessions of each of two principals.
#[tokio::test]
async fn sessions_share_connections_as_configured() {
    for (isolation, connections) in [(Isolation::Session, 4), (Isolation::Principal, 2), (Isolation::Shared, 1)] {
        let server = Server::new("far", "1").versions([SESSIONS]).tool(tool("one", || 1)).tool(tool("who", who));
        let cable = Cable::new();
        let proxy = Proxy::builder(Client::new("proxy", "1")).isolation(isolation);
        let proxy = proxy.connect(cable.to(server.build())).await.unwrap();
        let mut clients = Vec::new();
        for (principal, name) in [("ann", "ann-1"), ("ann", "ann-2"), ("bob", "bob-1"), ("bob", "bob-2")] {
            let client = Client::new(name, "1").versions([SESSIONS]);
            let client = client.on_elicit(move |ask| async move {
                tokio::task::yield_now().await;
                ask.accept(json!({ "name": name }))
            });
            clients.push((name, client.connect(authenticated(principal, &proxy)).await.unwrap()));
        }
        for (name, client) in &clients {
            assert_eq!(client.call("one", ()).await.unwrap().text(), "1", "{name}, {isolation:?}");
        }
        assert_eq!(cable.connected(), connections, "{isolation:?}");
        // Shared or not, each answers for itself.
        let calls = clients.into_iter().map(|(name, client)| {
            tokio::spawn(async move {
                for _ in 0..5 {
                    assert_eq!(client.call("who", ()).await.unwrap().text(), name, "{isolation:?}");
                }
            })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
    }
}
