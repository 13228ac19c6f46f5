//! The steps of the suite.

use std::env;

use rmcp::model::*;
use serde_json::{Value, json};

use crate::{Client, Handler, Outcome, counted, expect, text, tool};

#[derive(Clone, Copy)]
pub(crate) enum Step {
    Tools,
    Call,
    Resource,
    Prompt,
    Complete,
    Progress,
    Elicit,
    Sample,
    Cancel,
    Subscribe,
    Resume,
    Task,
    Mark,
    Confirm,
}

const ALL: [(&str, Step); 14] = [
    ("tools", Step::Tools),
    ("call", Step::Call),
    ("resource", Step::Resource),
    ("prompt", Step::Prompt),
    ("complete", Step::Complete),
    ("progress", Step::Progress),
    ("elicit", Step::Elicit),
    ("sample", Step::Sample),
    ("cancel", Step::Cancel),
    ("subscribe", Step::Subscribe),
    ("resume", Step::Resume),
    ("task", Step::Task),
    ("mark", Step::Mark),
    ("confirm", Step::Confirm),
];

/// The names of the steps in the environment, or of all.
pub(crate) fn wanted() -> Vec<String> {
    match env::var("INTEROP_STEPS") {
        Ok(names) => names.split_whitespace().map(str::to_owned).collect(),
        Err(_) => ALL.map(|(name, _)| name.to_owned()).to_vec(),
    }
}

impl Step {
    pub(crate) fn named(name: &str) -> Outcome<Self> {
        let known = ALL.iter().find(|(known, _)| *known == name);
        known.map(|(_, step)| *step).ok_or_else(|| format!("there is no step `{name}`").into())
    }

    /// Does the step, `repeated` while replicas come and go.
    pub(crate) async fn run(self, client: &Client, handler: &Handler, repeated: bool) -> Outcome {
        match self {
            Self::Tools => tools(client).await,
            Self::Call => call(client).await,
            Self::Resource => resource(client).await,
            Self::Prompt => prompt(client).await,
            Self::Complete => complete(client).await,
            Self::Progress => progress(client, handler).await,
            Self::Elicit => elicit(client).await,
            Self::Sample => counted::sample(client, handler).await,
            Self::Cancel => counted::cancel(client, handler).await,
            Self::Subscribe => counted::subscribe(client, handler, repeated).await,
            Self::Resume => counted::resume(client, handler).await,
            Self::Task => counted::task(client, handler).await,
            Self::Mark => counted::mark(client, handler).await,
            Self::Confirm => counted::confirm(client, handler).await,
        }
    }
}

async fn tools(client: &Client) -> Outcome {
    let tools = client.list_all_tools().await?;
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    names.retain(|name| ["add", "count", "greet"].contains(name));
    names.sort_unstable();
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

async fn complete(client: &Client) -> Outcome {
    let topics = client.complete_prompt_simple("explain", "topic", "M").await?;
    expect("the topics", topics, vec!["MCP".to_owned()])
}
