//! A script of steps with the servers that people use: `INTEROP_SCRIPT` names its file. `UNIQUE` in a step stands for an id
//! that no other call has. A client either does each step once, and reports those that fail, or repeats all of them.

use std::{
    env, fs,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rmcp::model::*;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Client, Handler, Outcome, Wrong, counted, text};

/// How long a call may take to begin, and a change to be notified.
const LIMIT: Duration = Duration::from_secs(6);
/// How long a change takes after its cause.
const CHANGE: Duration = Duration::from_millis(300);
/// How long there is a subscription: it may end with its replica.
const SUBSCRIPTION: Duration = Duration::from_secs(2);

#[derive(Clone, Default, Deserialize)]
pub(crate) struct Step {
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
    /// What a tool says if it causes changes from now on.
    #[serde(default)]
    starts: String,
}

/// The steps, and what the current one answers to a server.
pub(crate) struct Script {
    steps: Vec<Value>,
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
    pub(crate) fn answer(&self, handler: &Handler, message: &str) -> Value {
        self.note(handler, message).answers
    }

    /// The message of a model.
    pub(crate) fn say(&self, handler: &Handler, text: &str) -> String {
        self.note(handler, text).sample
    }

    fn note(&self, handler: &Handler, message: &str) -> Step {
        let mut now = self.now();
        now.1.push(message.to_owned());
        if handler.calls.is_own(&now.0.asks) && !handler.calls.is_own(message) {
            handler.calls.note_wrong(format!("the question for another client: {message}"));
        }
        now.0.clone()
    }

    /// The names of all steps.
    pub(crate) fn names(&self) -> Vec<String> {
        self.steps.iter().filter_map(|step| step["step"].as_str()).map(str::to_owned).collect()
    }

    /// Does all steps.
    ///
    /// # Errors
    /// If any of them has failed.
    pub(crate) async fn play(&self, client: &Client, handler: &Handler) -> Outcome {
        let mut failed = 0;
        for name in self.names() {
            match self.one(&name, client, handler).await {
                Ok(()) => println!("ok {name}"),
                Err(why) => {
                    failed += 1;
                    println!("failed {name} {why}");
                }
            }
        }
        if failed == 0 { Ok(()) } else { Err(format!("{failed} steps have failed").into()) }
    }

    /// Does a step.
    ///
    /// # Errors
    /// `Wrong` if the server says or asks something else.
    pub(crate) async fn one(&self, name: &str, client: &Client, handler: &Handler) -> Outcome {
        let template = self.steps.iter().find(|step| step["step"] == name);
        let template = template.ok_or_else(|| format!("there is no step `{name}`"))?;
        let step: Step = serde_json::from_str(&template.to_string().replace("UNIQUE", &handler.calls.new_id()))?;
        *self.now() = (step.clone(), Vec::new());
        let said = perform(client, handler, &step).await?;
        let asked = self.now().1.join("\n");
        let missing: Vec<_> = step.says.iter().filter(|words| !said.contains(*words)).collect();
        match missing.is_empty() && asked.contains(&step.asks) {
            true => Ok(()),
            false => Err(Wrong(format!("{name}: {missing:?} not in {said:?}, asked {asked:?}")).into()),
        }
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
            let said = step.call(client).await?;
            let heard = handler.heard_at_least(step.progress).await.len();
            if heard < step.progress { Err(Wrong(format!("progress {heard}")).into()) } else { Ok(said) }
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
        "cancel" => cancel(client, handler, step).await,
        "subscribe" => subscribe(client, handler, step).await,
        "task" => counted::task_text(client, handler, step.params()).await,
        other => Err(format!("there is no step `{other}`").into()),
    }
}

impl Step {
    fn params(&self) -> CallToolRequestParams {
        CallToolRequestParams::new(self.name.clone()).with_arguments(self.arguments.clone())
    }

    /// The text of the tool's result.
    async fn call(&self, client: &Client) -> Outcome<String> {
        text(&client.call_tool(self.params()).await?)
    }
}

/// Subscribes to a resource until a change is heard.
async fn subscribe(client: &Client, handler: &Handler, step: &Step) -> Outcome<String> {
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        let until = Instant::now() + SUBSCRIPTION;
        // A load balancer chooses the replica that is asked for changes.
        let cause = || async {
            loop {
                if step.call(client).await?.contains(&step.starts) {
                    return Ok((Instant::now() < until).then_some(CHANGE));
                }
            }
        };
        if let Some(uri) = counted::changed(client, handler, &step.uri, cause).await? {
            return Ok(uri);
        }
    }
    Err(format!("no change was notified within {LIMIT:?}").into())
}

/// Cancels a call when its first progress is heard.
async fn cancel(client: &Client, handler: &Handler, step: &Step) -> Outcome<String> {
    handler.forget_progress();
    // A call that is dropped is cancelled.
    let heard = tokio::select! {
        ended = step.call(client) => return Err(format!("the call ended: {ended:?}").into()),
        heard = handler.heard_at_least(1) => heard,
    };
    if heard.is_empty() { Err("there was no progress".into()) } else { Ok(String::new()) }
}
