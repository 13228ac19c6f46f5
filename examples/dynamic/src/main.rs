//! Tools that are added and removed at run time. Subscribed clients are notified, in every revision.

use couplet::{ProtocolVersion, client::Filter, core::Change, prelude::*};
use serde_json::json;

/// Adds a greeting as a new tool.
#[tool]
async fn learn(name: String, greeting: String, ctx: Ctx) -> Result<String, ToolError> {
    ctx.server().add_tool(tool(name.clone(), move || greeting.clone()).description("Says what was learned."))?;
    Ok(format!("`{name}` is a tool now"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    for &version in ProtocolVersion::ALL {
        let server = Server::new("parrot", "1.0.0").tool(learn).build();
        let client = Client::new("demo", "1.0.0").versions([version]).connect(server.clone()).await?;
        let mut changes = client.listen(Filter::new().tools()).await?;

        client.call("learn", json!({ "name": "hello", "greeting": "Hello there!" })).await?.into_result()?;
        assert_eq!(changes.next().await, Some(Change::Tools), "the client was told");
        let names: Vec<_> = client.tools().await?.into_iter().map(|t| t.name).collect();
        assert_eq!(names, ["learn", "hello"]);
        assert_eq!(client.call("hello", ()).await?.into_result()?.text(), "Hello there!");

        let again = client.call("learn", json!({ "name": "hello", "greeting": "Again!" })).await?;
        assert!(again.is_error(), "a name is taken once");

        assert!(server.remove_tool("hello"));
        assert_eq!(changes.next().await, Some(Change::Tools));
        assert_eq!(client.tools().await?.len(), 1);
        println!("{version}: {names:?}, then one less");
        client.close().await?;
    }
    Ok(())
}
