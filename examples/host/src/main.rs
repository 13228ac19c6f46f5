//! A host: two servers under unique names, used by the program itself and served to a client as one server.

use std::sync::Arc;

use couplet::{core::Service, host::Host, prelude::*};

/// A server: here in memory, in practice a `Command` or a URL.
fn server(name: &str, tool_name: &'static str, answer: &'static str) -> Arc<dyn Service> {
    let server: Server = Server::new(name, "1.0.0").tool(tool(tool_name, move || answer));
    Arc::new(server.build())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let host = Host::builder()
        .server("files", server("files", "read", "a text"))
        .server("mail", server("mail", "read", "a letter"))
        .build();

    // As a client: a server that ended is started again.
    let mut names: Vec<_> = host.tools().await?.into_iter().map(|tool| tool.name).collect();
    names.sort();
    assert_eq!(names, ["files__read", "mail__read"]);
    assert_eq!(host.call("mail__read", serde_json::json!({})).await?.into_result()?.text(), "a letter");

    // As a server, for any client: over stdio or HTTP, or in memory as here.
    let client = Client::new("demo", "1.0.0").connect(host.service()).await?;
    assert_eq!(client.call("files__read", ()).await?.into_result()?.text(), "a text");
    println!("{names:?}");
    client.close().await?;
    host.close().await;
    Ok(())
}
