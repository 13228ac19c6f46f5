//! A gateway: remote servers behind one server. Neither side knows the revision of the other.

use couplet::{ProtocolVersion, prelude::*, proxy::Proxy};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Consent {
    /// Really?
    yes: bool,
}

/// Deletes a branch after confirmation.
#[tool]
async fn delete(branch: String, ctx: Ctx) -> Result<String, ToolError> {
    ctx.progress(0.5, "looking for the branch").await;
    let consent = ctx.elicit::<Consent>("consent", format!("Delete `{branch}`?")).await?.accepted()?;
    Ok(if consent.yes { format!("`{branch}` is gone") } else { "nothing is done".to_owned() })
}

/// A remote server: here in memory, in practice `Command::new(..)` or a URL.
fn remote(version: ProtocolVersion) -> impl couplet::core::Connect {
    Server::new("git", "1.0.0").versions([version]).tool(delete).build()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let (old, new) = (ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28);
    for (near, far) in [(new, old), (old, new), (new, new), (old, old)] {
        let git = Proxy::connect(Client::new("gateway", "1.0.0"), remote(far)).await?;
        let gateway = Server::new("gateway", "1.0.0").tool(tool("ping", || "pong")).mount("git", git.service()).build();

        let client = Client::new("demo", "1.0.0")
            .versions([near])
            .on_elicit(|ask| async move { ask.accept(json!({ "yes": ask.message().contains("old") })) })
            .connect(gateway)
            .await?;
        let names: Vec<_> = client.tools().await?.into_iter().map(|t| t.name).collect();
        assert_eq!(names, ["ping", "git_delete"]);
        let gone = client.call("git_delete", json!({ "branch": "old" })).await?.into_result()?.text();
        assert_eq!(gone, "`old` is gone", "the server's question came all the way here, and the answer went back");
        assert_eq!(
            client.call("git_delete", json!({ "branch": "main" })).await?.into_result()?.text(),
            "nothing is done"
        );
        println!("{near} over {far}: {gone}");
        client.close().await?;
    }
    Ok(())
}
