//! The client that the official conformance suite expects: `conformance-client <url>`, with the scenario in the
//! environment.

mod auth;

use std::{env, process::ExitCode, time::Duration};

use couplet::{
    ProtocolVersion,
    client::ClientBuilder,
    prelude::*,
    skills::{ClientSkills, LoadSkills},
    types::{CreateMessageResult, RawJson, Root},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// Shorter than the suite's timeout of 30 seconds, which does not always apply.
const DEADLINE: Duration = Duration::from_secs(25);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(url) = env::args().nth(1) else {
        eprintln!("usage: conformance-client <url>");
        return ExitCode::from(2);
    };
    match tokio::time::timeout(DEADLINE, run(&url)).await {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        Err(_) => {
            eprintln!("not done after {DEADLINE:?}");
            ExitCode::FAILURE
        }
    }
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

async fn run(url: &str) -> Outcome {
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let mut target = couplet::http::connect(url);
    if scenario.starts_with("auth/") {
        target = target.authorize(auth::oauth(&scenario)?);
    }
    let client = builder().connect(target).await?;
    let done = match scenario.as_str() {
        "initialize" | "json-schema-ref-no-deref" => client.tools().await.map(drop).map_err(Into::into),
        "tools_call" => tools_call(&client).await,
        "elicitation-sep1034-client-defaults" => call(&client, "test_client_elicitation_defaults").await,
        "sse-retry" => call(&client, "test_reconnection").await,
        "sep-2322-client-request-state" => rounds(&client).await,
        "http-standard-headers" | "request-metadata" => everything(&client).await,
        "http-custom-headers" => custom_headers(&client).await,
        "http-invalid-tool-headers" => valid_tools(&client).await,
        "json-schema-2020-12-preservation" => preserve(&client).await,
        "sep-2640-client-no-prefetch" => client.skills().await.map(drop).map_err(Into::into),
        name if name.starts_with("sep-2640-client-verify") => load_skills(&client).await,
        _ => everything(&client).await,
    };
    client.close().await?;
    done
}

fn builder() -> ClientBuilder {
    let builder = Client::new("conformance-client", "1.0.0")
        .on_elicit(|ask| async move { ask.accept(ask.defaults()) })
        .on_sample(|_| async { Ok(CreateMessageResult::new("a-model", "an answer")) })
        .roots([Root::new("file:///project")])
        .extension(ClientSkills::new());
    let version = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").ok();
    match version.and_then(|v| v.parse::<ProtocolVersion>().ok()) {
        Some(version) => builder.versions([version]),
        None => builder,
    }
}

async fn call(client: &Client, tool: &str) -> Outcome {
    client.tools().await?;
    client.call(tool, json!({})).await?;
    Ok(())
}

async fn tools_call(client: &Client) -> Outcome {
    client.tools().await?;
    client.call("add_numbers", json!({ "a": 2, "b": 3 })).await?;
    Ok(())
}

/// Sends the unrelated call while the first one waits for its second round.
async fn rounds(client: &Client) -> Outcome {
    client.tools().await?;
    let (echo, unrelated) = tokio::join!(async { client.call("test_mrtr_echo_state", json!({})).await }, async {
        client.call("test_mrtr_unrelated", json!({})).await
    });
    echo?;
    unrelated?;
    client.call("test_mrtr_no_state", json!({})).await?;
    client.call("test_mrtr_no_result_type", json!({})).await?;
    Ok(())
}

async fn everything(client: &Client) -> Outcome {
    for tool in client.tools().await? {
        client.call(tool.name, json!({})).await?;
    }
    for resource in client.resources().await? {
        client.read(resource.uri).await?;
    }
    for prompt in client.prompts().await? {
        client.prompt(prompt.name, json!({})).await?;
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct ToolCall {
    name: String,
    arguments: Value,
}

async fn custom_headers(client: &Client) -> Outcome {
    let context: Context = serde_json::from_str(&env::var("MCP_CONFORMANCE_CONTEXT")?)?;
    client.tools().await?;
    for ToolCall { name, arguments } in context.tool_calls {
        client.call(name, arguments).await?;
    }
    Ok(())
}

async fn valid_tools(client: &Client) -> Outcome {
    for tool in client.tools().await? {
        client.call(tool.name, json!({ "region": "us-west1" })).await?;
    }
    Ok(())
}

/// Loads every skill and its files; a file that differs from its listing is an error.
async fn load_skills(client: &Client) -> Outcome {
    for entry in client.skills().await? {
        let skill = client.load_skill(&entry).await?;
        if let couplet::skills::Files::Listed(files) = &entry.files {
            for file in files.iter().filter(|file| file.uri != entry.uri) {
                skill.file(&file.uri).await?;
            }
        }
    }
    Ok(())
}

async fn preserve(client: &Client) -> Outcome {
    let tools = client.tools().await?;
    let schema = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool").map(|tool| &tool.input_schema);
    let schema: RawJson = schema.cloned().ok_or("the tool is not listed")?;
    client.call("json_schema_echo", json!({ "schema": schema.parse::<Value>()? })).await?;
    Ok(())
}
