//! The client of the interop suite: `interop-client <revision> http <url>` or `interop-client <revision> stdio
//! <program> [argument..]`.
//!
//! The revision may be `auto`. The program prints the one that was agreed on, and a line for each step that went as it
//! should. `INTEROP_STEPS` names the steps; without it there are all.

mod more;

use std::{
    env,
    process::ExitCode,
    sync::{Arc, Mutex},
};

use couplet::{
    ProtocolVersion,
    client::{ClientBuilder, Elicitation},
    prelude::*,
    tasks::ClientTasks,
    types::{CreateMessageParams, CreateMessageResult, ElicitResult, Role, RpcError},
};
use couplet_interop::expect;
use serde_json::{Value, json};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// What this client does, unless it gets a shorter list.
const STEPS: &str =
    "tools call resource prompt complete progress elicit sample cancel subscribe resume task mark confirm";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &[&str]) -> Outcome {
    let client = match arguments {
        [revision, "http", url] => builder(revision)?.connect(couplet::http::connect(*url)).await?,
        [revision, "stdio", program, rest @ ..] => builder(revision)?.connect(Command::new(program).args(rest)).await?,
        _ => return Err("usage: interop-client <revision> http <url> | <revision> stdio <program> [argument..]".into()),
    };
    println!("revision {}", client.server().version);
    let name = client.server().info.as_ref().map(|info| info.name.as_str());
    expect("the server's name", name, Some("interop"))?;
    let steps = env::var("INTEROP_STEPS").unwrap_or_else(|_| STEPS.to_owned());
    for step in steps.split_whitespace() {
        one(step, &client).await.map_err(|error| format!("{step}: {error}"))?;
        println!("ok {step}");
    }
    client.close().await?;
    Ok(())
}

async fn one(step: &str, client: &Client) -> Outcome {
    match step {
        "tools" => tools(client).await,
        "call" => call(client).await,
        "resource" => resource(client).await,
        "prompt" => prompt(client).await,
        "complete" => more::complete(client).await,
        "progress" => progress(client).await,
        "elicit" => elicit(client).await,
        "sample" => more::sample(client).await,
        "cancel" => more::cancel(client).await,
        "subscribe" => more::subscribe(client).await,
        "resume" => more::resume(client).await,
        "task" => more::task(client).await,
        "mark" => more::mark(client).await,
        "confirm" => more::confirm(client).await,
        _ => Err("this client has no such step".into()),
    }
}

/// A client that may speak this revision and no other, or with `auto` all that there are, and answers everything.
fn builder(revision: &str) -> Outcome<ClientBuilder> {
    let versions: Vec<ProtocolVersion> = match revision {
        "auto" => ProtocolVersion::ALL.to_vec(),
        _ => vec![revision.parse().map_err(|_| format!("there is no revision `{revision}`"))?],
    };
    let client = Client::new("interop", "1.0.0").versions(versions).extension(ClientTasks::new());
    Ok(client.on_elicit(|ask| async move { answer(ask) }).on_sample(|ask| async move { say(&ask) }))
}

fn answer(ask: Elicitation) -> Result<ElicitResult, RpcError> {
    if let Some(id) = ask.message().strip_prefix("Confirm ").filter(|id| more::is_own(id)) {
        let id = id.to_owned();
        return ask.accept(json!({ "id": id }));
    }
    let fields: Value = ask.params().requested_schema.as_ref().and_then(|s| s.parse().ok()).unwrap_or_default();
    let kinds = ["name", "age"].map(|field| fields["properties"][field]["type"].as_str());
    match (ask.message(), kinds) {
        ("Who are you?", [Some("string"), Some("integer")]) => ask.accept(json!({ "name": "Ada", "age": 36 })),
        _ => ask.decline(),
    }
}

/// The answer of a model that repeats what it is asked to.
fn say(ask: &CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
    let asked: String = ask.messages.iter().map(|message| message.content.all_text()).collect();
    match asked.strip_prefix("Say ").filter(|id| more::is_own(id)) {
        Some(id) => Ok(CreateMessageResult::new("interop-model", id)),
        None => Err(RpcError::invalid_params(format!("the question: {asked}"))),
    }
}

async fn tools(client: &Client) -> Outcome {
    let tools = client.tools().await?;
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    names.retain(|name| ["add", "count", "greet"].contains(name));
    names.sort_unstable();
    expect("the tools", names, vec!["add", "count", "greet"])?;
    let add = tools.iter().find(|tool| tool.name == "add").ok_or("there is no tool `add`")?;
    expect("the description", add.description.as_deref(), Some("Adds two integers."))?;
    let schema: Value = add.input_schema.parse()?;
    expect("the type of `a`", &schema["properties"]["a"]["type"], &json!("integer"))?;
    Ok(())
}

async fn call(client: &Client) -> Outcome {
    let result = client.call("add", json!({ "a": 2, "b": 3 })).await?;
    if result.is_error() {
        return Err(result.text().into());
    }
    expect("the sum", result.structured::<Value>()?, json!({ "sum": 5 }))?;
    expect("the text", serde_json::from_str::<Value>(&result.text())?, json!({ "sum": 5 }))?;
    Ok(())
}

async fn resource(client: &Client) -> Outcome {
    let listed = client.resources().await?;
    expect("the resources", listed.iter().map(|r| r.uri.as_str()).collect(), vec!["interop://greeting"])?;
    expect("the media type", listed[0].mime_type.as_deref(), Some("text/plain"))?;
    let read = client.read("interop://greeting").await?;
    expect("the contents", (read.contents.len(), read.all_text().as_str()), (1, "Hello from a resource"))?;
    Ok(())
}

async fn prompt(client: &Client) -> Outcome {
    let listed = client.prompts().await?;
    expect("the prompts", listed.iter().map(|p| p.name.as_str()).collect(), vec!["explain"])?;
    let messages = client.prompt("explain", json!({ "topic": "MCP" })).await?.messages;
    let told: Vec<_> = messages.iter().map(|m| (m.role, m.content.as_text().unwrap_or_default())).collect();
    expect("the messages", told, vec![(Role::User, "Explain MCP, please.")])?;
    Ok(())
}

async fn progress(client: &Client) -> Outcome {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = heard.clone();
    let result = client
        .call("count", json!({ "to": 3 }))
        .on_progress(move |p| {
            let line = format!("{} of {}: {}", p.progress, p.total.unwrap_or_default(), p.message.unwrap_or_default());
            hear.lock().expect("nobody panics here").push(line);
        })
        .await?;
    expect("the text", (result.is_error(), result.text().as_str()), (false, "counted to 3"))?;
    let heard = heard.lock().map_err(|e| e.to_string())?.clone();
    let all = ["1 of 3: step 1", "2 of 3: step 2", "3 of 3: step 3"].map(str::to_owned);
    expect("the progress", heard, all.to_vec())?;
    Ok(())
}

async fn elicit(client: &Client) -> Outcome {
    let result = client.call("greet", json!({})).await?;
    expect("the text", (result.is_error(), result.text().as_str()), (false, "Hello Ada, 36"))?;
    Ok(())
}
