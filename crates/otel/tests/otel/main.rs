//! What is seen of requests from outside, on both sides, in every revision.

#![expect(clippy::unwrap_used, reason = "a test that fails says so")]

mod propagation;
mod spans;

use couplet_client::{Client, ClientBuilder};
use couplet_server::{Server, ToolError, prompt, resource, tool};
use couplet_types::ProtocolVersion;

fn server() -> Server {
    Server::new("server", "1.0.0")
        .tool(tool("echo", || "said"))
        .tool(tool("fail", || Err::<String, _>(ToolError::new("it failed"))))
        .tool(tool("stuck", || async { std::future::pending::<String>().await }))
        .prompt(prompt("plan", || "text"))
        .resource(resource("a://b", || "text"))
}

fn client(version: ProtocolVersion) -> ClientBuilder {
    Client::new("client", "1.0.0").versions([version])
}

/// Does one thing of each kind, and most of them go wrong.
async fn talk(client: &Client) {
    client.call("echo", ()).await.unwrap();
    assert!(client.call("fail", ()).await.unwrap().is_error());
    client.call("missing", ()).await.unwrap_err();
    client.prompt("plan", ()).await.unwrap();
    client.read("a://b").await.unwrap();
    client.tools().await.unwrap();
    let stuck = tokio::spawn(client.call("stuck", ()).into_future());
    settle().await;
    stuck.abort();
    settle().await;
}

async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}
