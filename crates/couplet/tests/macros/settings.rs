//! The keys of the attributes, setters on definitions, and types with the names of extractors.

use std::{thread, time::Duration};

use couplet::{
    Server,
    core::{JsonText, Sender, Service, message::Params},
    prompt, resource,
    schemars::JsonSchema,
    serde::Deserialize,
    server::{
        Extension, IntoTool, ToolData,
        extract::{self, RawArgs},
    },
    tool,
    types::{Annotations, Icon, Meta, PromptArgument, Tool, ToolAnnotations},
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

/// Data for an extension of the test.
#[derive(Debug)]
struct Colour(&'static str);

impl ToolData for Colour {
    fn extension(&self) -> &'static str {
        "com.example/colour"
    }

    fn describe(&self, tool: &mut Tool) {
        tool.title = Some(format!("{} {}", tool.title.take().unwrap_or_default(), self.0));
    }
}

const SCOPES: [&str; 2] = ["a", "b"];

/// Every key that is not tested elsewhere.
#[tool(
    title = "Described",
    annotations = ToolAnnotations::new().title("Hints"),
    read_only,
    timeout = Duration::from_secs(5),
    icons = [Icon::new("https://example.com/i.png")],
    meta = Meta::default(),
    input_schema = json!({ "type": "object", "properties": { "any": {} } }),
    output_schema = json!({ "type": "object" }),
    scopes = SCOPES,
    extension_data(Colour("red"), Colour("blue")),
)]
fn described(_: RawArgs) {}

#[tool(timeout = none, extension_data = Colour("green"), scopes = ["a"])]
fn unlimited() {}

#[resource(
    "notes://secret",
    size = 6,
    annotations = Annotations::new().priority(1.0),
    unlisted,
    scopes = ["notes:read"],
    icons = [Icon::new("https://example.com/i.png")],
    meta = Meta::default()
)]
fn secret() -> &'static str {
    "secret"
}

#[resource("notes://by/{author}", complete_from(author = ["ada", "alan"]))]
fn by(author: String) -> String {
    author
}

#[prompt(
    arguments = [PromptArgument::new("topic")],
    scopes("audit"),
    icons = [Icon::new("https://example.com/i.png")],
    meta = Meta::default()
)]
fn audit(_: RawArgs) -> &'static str {
    "Audit it."
}

#[prompt(complete_from(level = ["child", "student"]))]
fn explain(level: String) -> String {
    format!("Explain it to a {level}.")
}

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
    let server: Server = Server::new("test", "1")
        .extension(Extension::new("com.example/colour"))
        .tool(described)
        .tool(thread_name.into_tool().title("Thread"))
        .tool(unlimited);
    let tools = server.build().tools();
    let described = &tools[0];
    assert_eq!(described.icons.as_ref().map(Vec::len), Some(1));
    assert!(described.meta.is_some());
    assert_eq!(described.input_schema.get(), r#"{"properties":{"any":{}},"type":"object"}"#);
    assert_eq!(described.output_schema.as_ref().unwrap().get(), r#"{"type":"object"}"#);
    let hints = described.annotations.as_ref().unwrap();
    assert_eq!((hints.title.as_deref(), hints.read_only_hint), (Some("Hints"), Some(true)));
    assert_eq!(described.title.as_deref(), Some("Described red blue"));
    assert_eq!(tools[1].title.as_deref(), Some("Thread"));
    assert_eq!(tools[2].title.as_deref(), Some(" green"));
}

#[test]
fn resources_and_prompts_have_the_same_keys() {
    let server: Server = Server::new("test", "1").resource(secret).prompt(audit);
    let server = server.build();
    let (resource, prompt) = (&server.resources()[0], &server.prompts()[0]);
    assert_eq!((resource.size, resource.annotations.as_ref().unwrap().priority), (Some(6), Some(1.0)));
    assert_eq!((resource.icons.as_ref().map(Vec::len), resource.meta.is_some()), (Some(1), true));
    assert_eq!((prompt.icons.as_ref().map(Vec::len), prompt.meta.is_some()), (Some(1), true));
    assert_eq!(prompt.arguments.as_ref().unwrap()[0].name, "topic");
    for (method, params, want) in [
        ("resources/read", r#"{"uri":"notes://secret"}"#, "notes:read"),
        ("prompts/get", r#"{"name":"audit"}"#, "audit"),
    ] {
        let params = Params::from_text(JsonText::new(params).unwrap()).unwrap();
        assert_eq!(server.required_scopes(method, &params, Sender::default()).unwrap().join(" "), want);
    }
}

#[tokio::test]
async fn unlisted_resources_are_not_listed_and_lists_complete() {
    let server = Server::new("test", "1").resource(secret).resource(by).prompt(explain);
    let mut client = Client::new(server).await;
    assert_eq!(client.ask("resources/list", json!({})).await["resources"], json!([]));
    for (reference, argument, typed, want) in [
        (json!({ "type": "ref/resource", "uri": "notes://by/{author}" }), "author", "al", "alan"),
        (json!({ "type": "ref/prompt", "name": "explain" }), "level", "s", "student"),
    ] {
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": typed } });
        assert_eq!(client.ask("completion/complete", params).await["completion"]["values"], json!([want]));
    }
}

/// The clock is paused: it moves only when nothing else can.
#[tokio::test(start_paused = true)]
async fn a_tool_can_have_no_timeout() {
    #[tool(timeout = none)]
    async fn patient() -> &'static str {
        tokio::time::sleep(Duration::from_secs(100_000)).await;
        "done"
    }

    #[tool(timeout = Duration::from_secs(1))]
    async fn hasty() -> &'static str {
        tokio::time::sleep(Duration::from_secs(100_000)).await;
        "done"
    }

    let mut client = Client::new(Server::new("test", "1").tool(patient).tool(hasty)).await;
    assert_eq!(client.call("patient", json!({})).await, "done");
    assert_eq!(client.call("hasty", json!({})).await, "error: the handler took longer than 1 s");
}
