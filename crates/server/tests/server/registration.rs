//! What is registered: later, with a state, in place of another, and what is said of it.

use std::time::Duration;

use couplet_core::{Call, Reply};
use couplet_server::{
    IntoPrompt, IntoResource, IntoTool, Next, Server, ToolBuilder,
    extract::{Args, State},
    handler::Plain,
    prompt, resource,
    schemars::{self, JsonSchema},
    tool,
};
use couplet_types::{Icon, Meta, ToolAnnotations};
use serde::Deserialize;
use serde_json::json;

use crate::support::Client;

#[derive(Clone)]
struct Name(&'static str);

/// What `#[tool]` leaves behind: a function that makes the tool.
fn greet() -> ToolBuilder<impl Fn(State<Name>) -> String + Clone + Send + Sync + 'static, (Plain, State<Name>)> {
    tool("greet", |State(Name(name)): State<Name>| format!("Hello, {name}!"))
}

#[tokio::test]
async fn tools_with_a_state_are_added_at_run_time() {
    let server = Server::new("s", "1").advertise_empty_lists().build();
    server.add_tool(greet.with_state(Name("Ada"))).unwrap();
    let me = |State(Name(name)): State<Name>| name;
    server.add_resource(resource("name://me", me).with_state(Name("Ada"))).unwrap();
    server.add_prompt(prompt("me", me).with_state(Name("Ada"))).unwrap();
    let mut client = Client::of(server, None).await;
    assert_eq!(client.call("greet", json!({})).await, "Hello, Ada!");
    let read = client.ask("resources/read", json!({ "uri": "name://me" })).await;
    assert_eq!(read["contents"][0]["text"], "Ada");
    let got = client.ask("prompts/get", json!({ "name": "me" })).await;
    assert_eq!(got["messages"][0]["content"]["text"], "Ada");
}

#[tokio::test]
async fn definitions_can_be_described_later() {
    let icons = || vec![Icon::new("https://example.com/i.png")];
    let greet = greet.into_tool().icons(icons()).meta(Meta::default()).annotations(ToolAnnotations::default());
    let greet = greet.timeout(Duration::from_secs(1)).title("Greet").scopes(["greet"]).idempotent();
    let server = Server::new("s", "1")
        .tool(greet)
        .resource(resource("name://me", || "me").into_resource().icons(icons()).title("Me"))
        .prompt(prompt("me", || "me").into_prompt().icons(icons()).description("Mine."))
        .with_state(Name("Ada"))
        .build();
    let (tool, resource, prompt) = (&server.tools()[0], &server.resources()[0], &server.prompts()[0]);
    assert_eq!((tool.icons.as_ref().unwrap().len(), tool.title.as_deref()), (1, Some("Greet")));
    assert_eq!(tool.annotations.as_ref().unwrap().idempotent_hint, Some(true));
    assert_eq!((resource.icons.as_ref().unwrap().len(), resource.title.as_deref()), (1, Some("Me")));
    assert_eq!((prompt.icons.as_ref().unwrap().len(), prompt.description.as_deref()), (1, Some("Mine.")));
    assert!(Client::of(server, None).await.call("greet", json!({})).await.contains("`greet`"), "it has a scope");
}

#[tokio::test]
async fn a_tool_is_replaced_in_its_place() {
    let server = Server::new("s", "1").tool(tool("a", || "old")).tool(tool("b", || "b")).build();
    assert!(server.replace_tool(tool("a", || "new")).unwrap());
    assert!(!server.replace_tool(tool("c", || "c")).unwrap());
    assert!(server.replace_tool(tool("", || "c")).is_err());
    let names: Vec<String> = server.tools().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(Client::of(server, None).await.call("a", json!({})).await, "new");
}

#[tokio::test]
async fn a_resource_is_replaced_in_its_place() {
    let server =
        Server::new("s", "1").resource(resource("x://a", || "old")).resource(resource("x://b", || "b")).build();
    assert!(server.replace_resource(resource("x://a", || "new")).unwrap());
    assert!(!server.replace_resource(resource("x://c", || "c")).unwrap());
    assert!(server.replace_resource(resource("no uri", || "c")).is_err());
    let uris: Vec<String> = server.resources().into_iter().map(|resource| resource.uri).collect();
    assert_eq!(uris, ["x://a", "x://b", "x://c"]);
    let read = Client::of(server, None).await.ask("resources/read", json!({ "uri": "x://a" })).await;
    assert_eq!(read["contents"][0]["text"], "new");
}

#[tokio::test]
async fn enums_of_prompts_are_completed() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Level {
        Child,
        /// Knows a lot.
        Student,
    }
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Explain {
        expr: String,
        level: Option<Level>,
        short: bool,
    }
    let explain = prompt("explain", |Args(_): Args<Explain>| "Explain.").complete_from("short", ["mine"]);
    let mut client = Client::new(Server::new("s", "1").prompt(explain)).await;
    for (argument, typed, want) in
        [("level", "", json!(["child", "student"])), ("level", "s", json!(["student"])), ("short", "", json!(["mine"]))]
    {
        let reference = json!({ "type": "ref/prompt", "name": "explain" });
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": typed } });
        assert_eq!(client.ask("completion/complete", params).await["completion"]["values"], want, "{argument} {typed}");
    }
}

#[tokio::test]
async fn middleware_sees_the_tool_and_can_answer_for_it() {
    async fn guard(call: Call, next: Next) -> Reply {
        match call.tool_name().as_deref() {
            Some("locked") => Reply::tool_error(&call, format!("locked: {}", call.arguments().as_str())),
            _ => next.run(call).await,
        }
    }
    let server =
        Server::new("s", "1").middleware(guard).tool(tool("open", || "open")).tool(tool("locked", || "locked"));
    let mut client = Client::new(server).await;
    assert_eq!(client.call("open", json!({})).await, "open");
    let params = json!({ "name": "locked", "arguments": { "a": 1 }, "_meta": { "progressToken": 1 } });
    let refused = client.ask("tools/call", params).await;
    assert_eq!((&refused["isError"], &refused["content"][0]["text"]), (&json!(true), &json!(r#"locked: {"a":1}"#)));
    assert_eq!(client.call("locked", json!(null)).await, "error: locked: {}");
}
