//! What `#[tool]` can set, what can be set later, and types with the names of extractors.

use std::{thread, time::Duration};

use couplet::{
    Server,
    schemars::JsonSchema,
    serde::Deserialize,
    server::{IntoTool, extract},
    tool,
    types::{Icon, Meta},
};
use serde_json::json;

use crate::support::Client;

/// A type of the user's own that is called like an extractor.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(crate = "couplet::serde", rename_all = "lowercase")]
#[schemars(crate = "couplet::schemars")]
enum State {
    Open,
    Closed,
}

#[tool]
fn find(state: State, other: Option<State>, extract::State(n): extract::State<u8>) -> String {
    format!("{state:?} {other:?} {n}")
}

#[tool(blocking)]
fn thread_name() -> bool {
    thread::current().name().is_some_and(|name| name.starts_with("tokio"))
}

#[tool(
    timeout = Duration::from_secs(5),
    icons = vec![Icon::new("https://example.com/i.png")],
    meta = Meta::default(),
    output_schema = json!({ "type": "object" }),
)]
fn described() {}

#[tokio::test]
async fn a_type_called_state_is_an_argument() {
    let mut client = Client::new(Server::new("test", "1").tool(find).with_state(7)).await;
    assert_eq!(client.call("find", json!({ "state": "open", "other": "closed" })).await, "Open Some(Closed) 7");
}

#[tokio::test]
async fn blocking_functions_run_elsewhere() {
    let mut client = Client::new(Server::new("test", "1").tool(thread_name)).await;
    assert_eq!(client.call("thread_name", json!({})).await, "true");
}

#[test]
fn attributes_and_definitions_set_the_same() {
    let server: Server = Server::new("test", "1").tool(described).tool(thread_name.into_tool().title("Thread"));
    let tools = server.build().tools();
    assert_eq!(tools[0].icons.as_ref().map(Vec::len), Some(1));
    assert_eq!(tools[0].output_schema.as_ref().unwrap().get(), r#"{"type":"object"}"#);
    assert_eq!(tools[1].title.as_deref(), Some("Thread"));
}
