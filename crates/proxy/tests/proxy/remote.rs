//! The server behind the proxy.

use std::sync::atomic::{AtomicUsize, Ordering};

use couplet_server::{
    Ctx, Json, Server, ToolError,
    extract::{Args, Path},
    prompt, resource, tool,
};
use couplet_types::{ContentBlock, CreateMessageParams, LoggingLevel, ProtocolVersion, RpcError, SamplingMessage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct Word {
    word: String,
}

#[derive(Deserialize, JsonSchema)]
struct Sure {
    yes: bool,
}

/// How many calls of `wait` are under way, and how many were dropped.
pub(crate) static WAITING: AtomicUsize = AtomicUsize::new(0);
pub(crate) static DROPPED: AtomicUsize = AtomicUsize::new(0);

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

pub(crate) fn server(version: ProtocolVersion) -> Server {
    Server::new("far", "1.2.3")
        .versions([version])
        .instructions("Far away.")
        .page_size(4)
        .tool(tool("echo", |Args(word): Args<Word>| Json(word)).title("Echo"))
        .tool(tool("sound", || ContentBlock::audio("AAEC", "audio/wav")))
        .tool(tool("fail", || Err::<(), _>(ToolError::new("no luck"))))
        .tool(tool("refuse", || Err::<(), _>(RpcError::new(-32001, "not today").with_data(json!({ "when": "later" })))))
        .tool(tool("work", work))
        .tool(tool("sure", sure))
        .tool(tool("think", think))
        .tool(tool("wait", wait))
        .resource(resource("far://one", || "first").subscribable())
        .resource(resource("far://{n}/page", |Path(n): Path<u8>| format!("page {n}")).complete_from("n", ["1", "12"]))
        .prompt(
            prompt("ask", |Args(Word { word }): Args<Word>| format!("what is {word}?"))
                .complete_from("word", ["a", "b"]),
        )
}

async fn work(ctx: Ctx) -> &'static str {
    ctx.log(LoggingLevel::Debug, "details").await;
    ctx.progress_with(1.0, Some(2.0), Some("half".to_owned())).await;
    ctx.log(LoggingLevel::Warning, "careful").await;
    ctx.progress_with(2.0, Some(2.0), None).await;
    "worked"
}

/// Asks twice, so that there is a second round.
async fn sure(ctx: Ctx) -> Result<String, ToolError> {
    let first = ctx.elicit::<Sure>("first", "are you sure?").await?.accepted()?.yes;
    let second = ctx.elicit::<Sure>("second", "positively?").await?.accepted()?.yes;
    Ok(format!("{first} {second}"))
}

async fn think(ctx: Ctx) -> Result<String, RpcError> {
    let question = SamplingMessage::user("one sentence, please");
    let thought = ctx.sample("thought", CreateMessageParams::new(vec![question], 50)).await?;
    let roots = ctx.roots().await?;
    Ok(format!("{} in {}", thought.content.all_text(), roots[0].uri))
}

async fn wait() {
    let _guard = Guard;
    WAITING.fetch_add(1, Ordering::SeqCst);
    std::future::pending::<()>().await;
}
