//! Errors of handlers, with their causes.

use std::{error::Error, fmt};

use couplet_server::{Server, ToolError, resource, tool};
use serde_json::json;

use crate::support::Client;

/// An error in words, with what caused it: as `anyhow` makes them by `context`.
#[derive(Debug)]
struct Context(&'static str, Option<Box<Context>>);

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Context {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.1.as_deref().map(|cause| cause as _)
    }
}

fn chain(texts: &[&'static str]) -> Context {
    let (first, rest) = texts.split_first().unwrap();
    Context(first, (!rest.is_empty()).then(|| Box::new(chain(rest))))
}

const CHAIN: [&str; 3] = ["starting up", "loading the config", "no such file"];

#[tokio::test]
async fn errors_are_told_with_their_causes() {
    let server = Server::new("s", "1")
        .tool(tool("std", || Err::<(), _>(chain(&CHAIN))))
        .tool(tool("tool-error", || Err::<(), ToolError>(chain(&CHAIN).into())))
        .tool(tool("boxed", || Err::<(), Box<dyn Error + Send + Sync>>(chain(&CHAIN).into())))
        .tool(tool("quoted", || Err::<(), _>(chain(&["cannot load: no such file", "no such file"]))))
        .tool(tool("long", || Err::<(), _>(chain(&["up", "x".repeat(5_000).leak(), "down"]))))
        .resource(resource("test://it", || Err::<String, _>(chain(&CHAIN))));
    let mut client = Client::new(server).await;
    for (tool, want) in [
        ("std", "error: starting up: loading the config: no such file"),
        ("tool-error", "error: starting up: loading the config: no such file"),
        ("boxed", "error: starting up: loading the config: no such file"),
        ("quoted", "error: cannot load: no such file"),
        ("long", "error: up: …"),
    ] {
        assert_eq!(client.call(tool, json!({})).await, want, "{tool}");
    }
    let read = client.ask("resources/read", json!({ "uri": "test://it" })).await;
    assert_eq!(read["message"], "starting up: loading the config: no such file");
}
