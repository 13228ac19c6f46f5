//! `#[tool]`.

use std::sync::Arc;

use couplet::{
    Server,
    core::{self, Call, JsonText, Sender, Service, message::Params},
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
    server::{
        Ctx, Json, Next, ToolError,
        extract::{Args, Auth, FromCall, FromRef, Invocation, RawArgs, Rejection, State},
    },
    tool,
    types::Meta,
};
use serde_json::json;

use crate::support::Client;

/// Adds two numbers.
#[tool]
fn add(
    /// The first number.
    a: f64,
    b: f64,
) -> f64 {
    a + b
}

#[derive(Clone)]
struct Api(&'static str);

#[derive(Clone)]
struct App {
    api: Api,
}

impl FromRef<App> for Api {
    fn from_ref(app: &App) -> Self {
        app.api.clone()
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "couplet::serde")]
#[schemars(crate = "couplet::schemars")]
struct Forecast {
    sky: String,
    days: u8,
    unit: Option<String>,
}

/// The weather of the coming days.
///
/// * Cities only.
#[tool(name = "weather.forecast", title = "Forecast", destructive = false, idempotent, open_world)]
async fn forecast(
    #[serde(rename = "town", alias = "city")]
    #[schemars(length(min = 1))]
    mut city: String,
    State(api): State<Api>,
    /// How far ahead.
    #[default(3)]
    days: u8,
    unit: Option<String>,
    #[default("plain")] style: String,
    #[default] exact: bool,
    ctx: Ctx,
) -> Result<Json<Forecast>, ToolError> {
    ctx.progress(0.5, "looking").await;
    city.push_str(&style);
    if exact {
        return Err(ToolError::new(format!("nothing exact is known of {city}")));
    }
    Ok(Json(Forecast { sky: api.0.to_owned(), days, unit }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "couplet::serde")]
#[schemars(crate = "couplet::schemars")]
struct Whole {
    text: String,
}

/// Ignored, because the attribute says something else.
#[tool(description = concat!("Repeats", " text."), read_only)]
#[allow(clippy::unused_async)]
async fn echo(Args(Whole { text }): Args<Whole>, _raw: RawArgs, _meta: Meta) -> String {
    text
}

/// Who calls.
struct Caller(String);

impl<S: Sync> FromCall<S> for Caller {
    async fn from_call(invocation: &Invocation, _: &S) -> Result<Self, Rejection> {
        Ok(Self(invocation.call.peer.info.as_ref().map_or_else(String::new, |info| info.name.clone())))
    }
}

#[tool]
fn who(r#type: String, #[extract] Caller(name): Caller, nobody: Option<State<App>>) -> String {
    format!("{} {name}, {}", r#type, nobody.is_some())
}

#[tool]
fn nothing() {}

#[tool]
fn hidden() -> impl couplet::server::reply::IntoReply<couplet::server::reply::ToolKind> + use<> {
    "hidden"
}

fn server() -> Server {
    Server::new("test", "1")
        .tool(add)
        .tool(forecast)
        .tool(echo)
        .tool(who)
        .tool(nothing)
        .tool(hidden)
        .with_state(App { api: Api("rain") })
}

#[tokio::test]
async fn listings_come_from_the_function() {
    let listed = Client::new(server()).await.ask("tools/list", json!({})).await;
    assert_eq!(
        listed["tools"][0],
        json!({
            "name": "add",
            "description": "Adds two numbers.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "a": { "type": "number", "description": "The first number." },
                    "b": { "type": "number" },
                },
                "required": ["a", "b"],
            },
        })
    );
    let weather = &listed["tools"][1];
    assert_eq!(weather["name"], "weather.forecast");
    assert_eq!(weather["title"], "Forecast");
    assert_eq!(weather["description"], "The weather of the coming days.\n\n* Cities only.");
    assert_eq!(
        weather["annotations"],
        json!({ "destructiveHint": false, "idempotentHint": true, "openWorldHint": true })
    );
    assert_eq!(weather["inputSchema"]["required"], json!(["town"]));
    let properties = &weather["inputSchema"]["properties"];
    assert_eq!(properties["town"], json!({ "type": "string", "minLength": 1 }));
    assert_eq!(properties["days"]["default"], 3);
    assert_eq!(properties["days"]["description"], "How far ahead.");
    assert_eq!(properties["style"]["default"], "plain");
    assert_eq!(properties.get("ctx"), None);
    assert_eq!(weather["outputSchema"]["properties"]["sky"], json!({ "type": "string" }));
    assert_eq!(listed["tools"][2]["description"], "Repeats text.");
    assert_eq!(listed["tools"][2]["annotations"], json!({ "readOnlyHint": true }));
    assert_eq!(listed["tools"][3]["inputSchema"]["required"], json!(["type"]));
    assert_eq!(
        listed["tools"][4]["inputSchema"],
        json!({ "type": "object", "properties": {}, "additionalProperties": false })
    );
}

#[tokio::test]
async fn calls_reach_the_function() {
    let mut client = Client::new(server()).await;
    for (tool, arguments, want) in [
        ("add", json!({ "a": 1, "b": 2 }), "3"),
        ("add", json!({ "a": 1 }), "error: argument `b` is missing (required)"),
        ("weather.forecast", json!({ "town": "Oslo" }), r#"{"sky":"rain","days":3,"unit":null}"#),
        (
            "weather.forecast",
            json!({ "city": "Oslo", "days": 5, "unit": "K" }),
            r#"{"sky":"rain","days":5,"unit":"K"}"#,
        ),
        ("weather.forecast", json!({ "town": "Oslo ", "exact": true }), "error: nothing exact is known of Oslo plain"),
        ("echo", json!({ "text": "a" }), "a"),
        ("who", json!({ "type": "client" }), "client test, true"),
        ("nothing", json!({}), ""),
        ("hidden", json!({}), "hidden"),
    ] {
        assert_eq!(client.call(tool, arguments.clone()).await, want, "{tool} {arguments}");
    }
}

#[tokio::test]
async fn the_function_itself_is_callable() {
    assert_eq!(add::call(1.0, 2.0), 3.0);
    let echoed = echo::call(Args(Whole { text: "a".to_owned() }), raw_args(), Meta::default()).await;
    assert_eq!(echoed, "a");
}

fn raw_args() -> RawArgs {
    RawArgs(couplet::core::JsonText::empty_object())
}

#[tokio::test]
async fn a_tool_can_be_made_inside_a_function() {
    #[tool]
    fn inner(n: u32) -> u32 {
        n + 1
    }
    let mut client = Client::new(Server::new("test", "1").tool(inner)).await;
    assert_eq!(client.call("inner", json!({ "n": 1 })).await, "2");
}

/// Deletes a file.
#[tool(scopes("files:read", "files:write"), destructive)]
fn delete(who: Option<Auth<String>>, name: String) -> String {
    format!("{name} is gone, by {:?}", who.map(|who| who.to_string()))
}

/// Who asks is no argument; and what they must be allowed to do is asked for by name.
#[tokio::test]
async fn callers() {
    let server = Server::new("files", "1.0.0").tool(delete).build();
    let params = r#"{"name":"delete","arguments":{"name":"a"}}"#;
    let needed = |method: &str| {
        let params = Params::from_text(JsonText::new(params).unwrap()).unwrap();
        server.required_scopes(method, &params, Sender::default()).map(|scopes| scopes.join(" "))
    };
    assert_eq!(needed("tools/call").as_deref(), Some("files:read files:write"));
    assert_eq!(needed("prompts/get"), None);
    for (scopes, allowed) in [(&["files:read"][..], false), (&["files:write", "files:read"], true)] {
        let caller = core::Caller::new("ada").with_scopes(scopes.iter().copied()).with_claims("Ada".to_owned());
        let caller = Arc::new(caller);
        let known = move |mut call: Call, next: Next| {
            call.caller = Some(caller.clone());
            next.run(call)
        };
        let mut client = Client::new(Server::new("files", "1.0.0").middleware(known).tool(delete)).await;
        let listed = client.ask("tools/list", json!({})).await;
        assert_eq!(listed["tools"][0]["inputSchema"]["required"], json!(["name"]), "{listed}");
        let answer = client.ask("tools/call", serde_json::from_str(params).unwrap()).await;
        match allowed {
            true => assert_eq!(answer["content"][0]["text"], "a is gone, by Some(\"Ada\")", "{answer}"),
            false => assert_eq!(answer["data"]["scopes"], json!(["files:read", "files:write"]), "{answer}"),
        }
    }
}
