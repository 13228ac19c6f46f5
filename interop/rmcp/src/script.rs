//! A script of steps with the servers that people use: `INTEROP_SCRIPT` names its file. A step that fails does not end the
//! program: each of them is reported.

use std::{
    env, fs,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::model::*;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Client, Handler, Outcome, text};

#[derive(Clone, Default, Deserialize)]
pub(crate) struct Step {
    step: String,
    #[serde(rename = "do")]
    what: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
    #[serde(default)]
    uri: String,
    #[serde(default)]
    argument: Map<String, Value>,
    /// What the server has to say.
    says: Vec<String>,
    /// What it has to ask.
    #[serde(default)]
    asks: String,
    /// The answer to a form.
    #[serde(default)]
    answers: Value,
    /// The message of a model.
    #[serde(default)]
    sample: String,
    /// The notifications of progress.
    #[serde(default)]
    progress: usize,
}

/// The steps, and what the current one answers to a server.
pub(crate) struct Script {
    steps: Vec<Step>,
    now: Mutex<(Step, Vec<String>)>,
}

impl Script {
    /// The script that is wanted, if one is.
    pub(crate) fn wanted() -> Outcome<Option<Self>> {
        let Ok(path) = env::var("INTEROP_SCRIPT") else { return Ok(None) };
        Ok(Some(Self { steps: serde_json::from_str(&fs::read_to_string(path)?)?, now: Mutex::default() }))
    }

    fn now(&self) -> MutexGuard<'_, (Step, Vec<String>)> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fields of a form.
    pub(crate) fn answer(&self, message: &str) -> Value {
        let mut now = self.now();
        now.1.push(message.to_owned());
        now.0.answers.clone()
    }

    /// The message of a model.
    pub(crate) fn say(&self, text: &str) -> String {
        let mut now = self.now();
        now.1.push(text.to_owned());
        now.0.sample.clone()
    }

    /// Does all steps.
    ///
    /// # Errors
    /// If any of them has failed.
    pub(crate) async fn play(&self, client: &Client, handler: &Handler) -> Outcome {
        let mut failed = 0;
        for step in &self.steps {
            *self.now() = (step.clone(), Vec::new());
            let done = perform(client, handler, step).await.and_then(|said| {
                let asked = self.now().1.join("\n");
                let missing: Vec<_> = step.says.iter().filter(|words| !said.contains(*words)).collect();
                match missing.is_empty() && asked.contains(&step.asks) {
                    true => Ok(()),
                    false => Err(format!("{missing:?} not in {said:?}, asked {asked:?}").into()),
                }
            });
            match done {
                Ok(()) => println!("ok {}", step.step),
                Err(why) => {
                    failed += 1;
                    println!("failed {} {why}", step.step);
                }
            }
        }
        if failed == 0 { Ok(()) } else { Err(format!("{failed} steps have failed").into()) }
    }
}

/// Does a step, and returns all that the server said.
async fn perform(client: &Client, handler: &Handler, step: &Step) -> Outcome<String> {
    match step.what.as_str() {
        "tools" => {
            let tools = client.list_all_tools().await?;
            Ok(tools.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>().join("\n"))
        }
        "call" => {
            handler.forget_progress();
            let call = CallToolRequestParams::new(step.name.clone()).with_arguments(step.arguments.clone());
            let said = text(&client.call_tool(call).await?)?;
            let heard = handler.heard_at_least(step.progress).await.len();
            if heard < step.progress { Err(format!("progress {heard}").into()) } else { Ok(said) }
        }
        "read" => {
            let read = client.read_resource(ReadResourceRequestParams::new(step.uri.clone())).await?;
            let texts = read.contents.iter().filter_map(|content| match content {
                ResourceContents::TextResourceContents { text, .. } => Some(text.as_str()),
                _ => None,
            });
            Ok(texts.collect::<Vec<_>>().join("\n"))
        }
        "prompt" => {
            let prompt = GetPromptRequestParams::new(step.name.clone()).with_arguments(step.arguments.clone());
            let messages = client.get_prompt(prompt).await?.messages;
            let texts = messages.iter().filter_map(|message| message.content.as_text().map(|text| text.text.as_str()));
            Ok(texts.collect::<Vec<_>>().join("\n"))
        }
        "complete" => {
            let member = |name: &str| step.argument.get(name).and_then(Value::as_str).unwrap_or_default();
            Ok(client.complete_prompt_simple(&step.name, member("name"), member("value")).await?.join("\n"))
        }
        other => Err(format!("there is no step `{other}`").into()),
    }
}
