//! The client of the interop suite, with `rmcp`: `rmcp-client <revision> http <url>` or `rmcp-client <revision> stdio
//! <program> [argument..]`, or `rmcp-client <revision> rolled|killed <url> <name> <seconds>` while replicas of the server
//! come and go.
//!
//! The revision may be `auto`. The program prints the one that was agreed on, and a line for each step that went as it
//! should.

mod rolling;

use std::{
    env,
    fmt::{self, Debug},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient,
    model::*,
    service::{NotificationContext, RequestContext, RunningService},
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::{Value, json};
use tokio::process::Command;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;
type Client = RunningService<RoleClient, Handler>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let handler = Handler::default();
    let client = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [revision, "http", url] => connect(&handler, revision, url).await?,
        [revision, "stdio", program, rest @ ..] => {
            let mut command = Command::new(program);
            command.args(rest);
            let transport = TokioChildProcess::new(command)?;
            handler.clone().serve_with_lifecycle(transport, lifecycle(revision)?).await?
        }
        [revision, mode @ ("rolled" | "killed"), url, name, seconds] => {
            return rolling::run(*mode == "killed", (revision, url), name, seconds.parse()?).await;
        }
        _ => return Err("usage: rmcp-client <revision> http <url> | <revision> stdio <program> [argument..]".into()),
    };
    check_server(&client)?;
    for step in Step::SUITE {
        step.run(&client, &handler).await?;
        println!("ok {}", step.name());
    }
    client.cancel().await?;
    Ok(())
}

async fn connect(handler: &Handler, revision: &str, url: &str) -> Outcome<Client> {
    let transport = StreamableHttpClientTransport::from_uri(url);
    Ok(handler.clone().serve_with_lifecycle(transport, lifecycle(revision)?).await?)
}

fn check_server(client: &Client) -> Outcome {
    let server = client.peer_info().ok_or("the server said nothing about itself")?;
    println!("revision {}", server.protocol_version);
    expect("the server's name", server.server_info.as_ref().map(|info| info.name.as_str()), Some("interop"))
}

#[derive(Clone, Copy)]
enum Step {
    Tools,
    Call,
    Resource,
    Prompt,
    Progress,
    Elicit,
}

impl Step {
    const SUITE: [Self; 6] = [Self::Tools, Self::Call, Self::Resource, Self::Prompt, Self::Progress, Self::Elicit];

    const fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Call => "call",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
            Self::Progress => "progress",
            Self::Elicit => "elicit",
        }
    }

    async fn run(self, client: &Client, handler: &Handler) -> Outcome {
        match self {
            Self::Tools => tools(client, handler).await,
            Self::Call => call(client).await,
            Self::Resource => resource(client).await,
            Self::Prompt => prompt(client).await,
            Self::Progress => progress(client, handler).await,
            Self::Elicit => elicit(client).await,
        }
    }
}

fn lifecycle(revision: &str) -> Outcome<ClientLifecycleMode> {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match revision {
        "auto" => Ok(ClientLifecycleMode::Auto { preferred_versions, legacy_version: None }),
        "2025-11-25" => Ok(ClientLifecycleMode::Initialize),
        "2026-07-28" => Ok(ClientLifecycleMode::Discover { preferred_versions }),
        other => Err(format!("`{other}` is not for this client").into()),
    }
}

/// How far, of how much, and a message.
type Heard = (f64, Option<f64>, Option<String>);

#[derive(Clone, Default)]
struct Handler {
    heard: Arc<Mutex<Vec<Heard>>>,
    /// The calls whose executions are counted, while replicas come and go.
    counted: Option<Arc<rolling::Calls>>,
}

impl Handler {
    /// The progress of the call that has just ended, in order. This client hears of notifications in tasks of their own,
    /// which may run after the result is there.
    async fn heard(&self) -> Vec<Heard> {
        let heard = || self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for _ in 0..1000 {
            if heard().len() >= 3 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut heard = heard();
        heard.sort_by(|a, b| a.0.total_cmp(&b.0));
        heard
    }

    fn forget_progress(&self) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("interop", "1.0.0"))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(request).map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        if let (Some(calls), Some(message)) = (&self.counted, request["message"].as_str())
            && message.starts_with("Confirm ")
        {
            let id = calls.asked(message).map_err(|wrong| ErrorData::invalid_params(wrong, None))?;
            return Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "id": id })));
        }
        let field = |name: &str| request["requestedSchema"]["properties"][name]["type"].clone();
        let asked = (&request["message"], field("name"), field("age"));
        if asked != (&json!("Who are you?"), json!("string"), json!("integer")) {
            return Err(ErrorData::invalid_params(format!("the question: {asked:?}"), None));
        }
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "name": "Ada", "age": 36 })))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push((params.progress, params.total, params.message));
    }
}

async fn tools(client: &Client, handler: &Handler) -> Outcome {
    let tools = client.list_all_tools().await?;
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    names.sort_unstable();
    let counted = handler.counted.is_some();
    names.retain(|name| !(counted && ["confirm", "mark"].contains(name)));
    expect("the tools", names, vec!["add", "count", "greet"])?;
    let add = tools.iter().find(|tool| tool.name == "add").ok_or("there is no tool `add`")?;
    expect("the description", add.description.as_deref(), Some("Adds two integers."))?;
    expect("the type of `a`", &add.input_schema["properties"]["a"]["type"], &json!("integer"))
}

async fn call(client: &Client) -> Outcome {
    let result = client.call_tool(tool("add", json!({ "a": 2, "b": 3 }))).await?;
    expect("the sum", result.structured_content.as_ref(), Some(&json!({ "sum": 5 })))?;
    expect("the text", serde_json::from_str::<Value>(&text(&result)?)?, json!({ "sum": 5 }))
}

async fn resource(client: &Client) -> Outcome {
    let listed = client.list_all_resources().await?;
    let told: Vec<_> = listed.iter().map(|r| (r.uri.as_str(), r.mime_type.as_deref())).collect();
    expect("the resources", told, vec![("interop://greeting", Some("text/plain"))])?;
    let read = client.read_resource(ReadResourceRequestParams::new("interop://greeting")).await?;
    let [ResourceContents::TextResourceContents { text, .. }] = read.contents.as_slice() else {
        return Err(format!("the contents: {:?}", read.contents).into());
    };
    expect("the contents", text.as_str(), "Hello from a resource")
}

async fn prompt(client: &Client) -> Outcome {
    let listed = client.list_all_prompts().await?;
    expect("the prompts", listed.iter().map(|p| p.name.as_str()).collect(), vec!["explain"])?;
    let Value::Object(arguments) = json!({ "topic": "MCP" }) else { return Err("not an object".into()) };
    let result = client.get_prompt(GetPromptRequestParams::new("explain").with_arguments(arguments)).await?;
    let told = result.messages.iter().map(|m| (&m.role, m.content.as_text().map(|t| t.text.as_str())));
    expect("the messages", told.collect(), vec![(&Role::User, Some("Explain MCP, please."))])
}

async fn progress(client: &Client, handler: &Handler) -> Outcome {
    handler.forget_progress();
    let result = client.call_tool(tool("count", json!({ "to": 3 }))).await?;
    expect("the text", text(&result)?.as_str(), "counted to 3")?;
    let all = [1.0, 2.0, 3.0].map(|n| (n, Some(3.0), Some(format!("step {n}"))));
    expect("the progress", handler.heard().await, all.to_vec())
}

async fn elicit(client: &Client) -> Outcome {
    let result = client.call_tool(tool("greet", json!({}))).await?;
    expect("the text", text(&result)?.as_str(), "Hello Ada, 36")
}

fn tool(name: &'static str, arguments: Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    CallToolRequestParams::new(name).with_arguments(arguments)
}

/// The text of a result.
///
/// # Errors
/// The same, if the tool has failed.
fn text(result: &CallToolResult) -> Outcome<String> {
    let text: String = result.content.iter().filter_map(|block| block.as_text()).map(|t| t.text.as_str()).collect();
    if result.is_error.unwrap_or_default() { Err(text.into()) } else { Ok(text) }
}

/// A value that is not the expected one.
#[derive(Debug)]
struct Wrong(String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

fn expect<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Outcome {
    if found == expected { Ok(()) } else { Err(Wrong(format!("{what}: {found:?}, not {expected:?}")).into()) }
}
