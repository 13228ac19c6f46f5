//! The client of the interop suite, with `rmcp`: `rmcp-client <revision> http <url>` or `rmcp-client <revision> stdio
//! <program> [argument..]`, or `rmcp-client <revision> rolled|killed <url> <name> <seconds>` while replicas of the server
//! come and go.
//!
//! The revision may be `auto`. The program prints the one that was agreed on, and a line for each step that went as it
//! should. `INTEROP_STEPS` names the steps; without it there are all.

mod calls;
mod counted;
mod handler;
mod rolling;
mod script;
mod steps;

use std::{
    env,
    fmt::{self, Debug},
    process,
    sync::Arc,
};

use rmcp::{
    ClientLifecycleMode, ClientServiceExt, RoleClient,
    model::*,
    service::RunningService,
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::Value;
use tokio::process::Command;

use calls::Calls;
use handler::Handler;
use script::Script;
use steps::Step;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;
type Client = RunningService<RoleClient, Handler>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let script = Script::wanted()?.map(Arc::new);
    let handler = Handler::new(Arc::new(Calls::new(&format!("rmcp{}", process::id()))), script.clone());
    let client = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [revision, "http", url] => connect(&handler, revision, url).await?,
        [revision, "stdio", program, rest @ ..] => {
            let mut command = Command::new(program);
            command.args(rest);
            let transport = TokioChildProcess::new(command)?;
            handler.clone().serve_with_lifecycle(transport, lifecycle(revision)?).await?
        }
        [revision, mode @ ("rolled" | "killed"), url, name, seconds] => {
            let calls = Arc::new(Calls::new(name));
            return rolling::run(*mode == "killed", (revision, url), (calls, script), seconds.parse()?).await;
        }
        _ => return Err("usage: rmcp-client <revision> http <url> | <revision> stdio <program> [argument..]".into()),
    };
    check_server(&client, &handler)?;
    if let Some(script) = handler.script.clone() {
        script.play(&client, &handler).await?;
        client.cancel().await?;
        return Ok(());
    }
    for name in steps::wanted() {
        Step::named(&name)?.run(&client, &handler, false).await.map_err(|error| format!("{name}: {error}"))?;
        handler.calls.check()?;
        println!("ok {name}");
    }
    client.cancel().await?;
    Ok(())
}

async fn connect(handler: &Handler, revision: &str, url: &str) -> Outcome<Client> {
    let transport = StreamableHttpClientTransport::from_uri(url);
    Ok(handler.clone().serve_with_lifecycle(transport, lifecycle(revision)?).await?)
}

fn check_server(client: &Client, handler: &Handler) -> Outcome {
    let server = client.peer_info().ok_or("the server said nothing about itself")?;
    println!("revision {}", server.protocol_version);
    if handler.script.is_some() {
        return Ok(());
    }
    expect("the server's name", server.server_info.as_ref().map(|info| info.name.as_str()), Some("interop"))
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
