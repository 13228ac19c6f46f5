//! Roots and logging, both deprecated since 2026-07-28: the directories of a client, and log messages to it. In a session
//! the client sets the log level once; in the stateless revision every request carries it.

use std::sync::{Arc, Mutex};

use couplet::{
    ProtocolVersion,
    prelude::*,
    types::{LoggingLevel, Root},
};

/// Returns the client's roots.
#[tool]
async fn place(ctx: Ctx) -> Result<String, ToolError> {
    ctx.debug("looking around").await;
    let roots = ctx.roots().await?;
    ctx.warn(format!("{} folder(s)", roots.len())).await;
    Ok(roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(" "))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let moves: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = moves.clone();
    let server = Server::new("guide", "1.0.0").tool(place).on_notification(move |note| {
        if note.method.ends_with("roots/list_changed") {
            heard.lock().unwrap().push(note.method.to_string());
        }
    });
    let server = server.build();
    for version in [ProtocolVersion::V2024_11_05, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = lines.clone();
        let client = Client::new("editor", "1.0.0").versions([version]).roots([Root::new("file:///old")]);
        let client = client.log_level(LoggingLevel::Info);
        let client = client.on_log(move |line| log.lock().unwrap().push(line.data.get().to_owned()));
        let client = client.connect(server.clone()).await?;
        assert_eq!(client.call("place", ()).await?.into_result()?.text(), "file:///old");

        client.set_roots([Root::new("file:///new"), Root::new("file:///shared")]).await?;
        assert_eq!(client.call("place", ()).await?.into_result()?.text(), "file:///new file:///shared");
        // Messages below the level are not sent.
        println!("{version}: {:?}", lines.lock().unwrap());
        assert_eq!(*lines.lock().unwrap(), [r#""1 folder(s)""#, r#""2 folder(s)""#]);
    }
    assert_eq!(moves.lock().unwrap().len(), 2, "where there is a session, the server is told");
    Ok(())
}
