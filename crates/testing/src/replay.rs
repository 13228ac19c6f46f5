//! Comparison of a handler in one run and in rounds.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use couplet_core::{Backchannel, BoxFuture, JsonText, Limits, Service, sync::lock};
use couplet_types::{Elicit, ElicitParams, InputRequest, ProtocolVersion, RawJson, Request, RpcError};
use serde_json::{Value, json};

use crate::{
    Wire,
    rounds::{Replayed, Way},
};

/// A check that a handler does the same in one run and in rounds, in every revision.
///
/// With clients of 2026-07-28 a handler runs again from the top after each input request; with others it waits. The
/// check runs it both ways in every revision, and fails if its input requests or its result differ, or if one of the
/// [watched](Replay::watch) counters grows more: the side effect that it counts belongs into a `step`.
///
/// ```
/// use couplet_server::{Ctx, Server, ToolError, schemars::JsonSchema, tool};
/// use couplet_testing::Replay;
/// use serde_json::json;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// #[derive(serde::Deserialize, JsonSchema)]
/// struct Age {
///     age: u64,
/// }
///
/// static OPENED: AtomicU64 = AtomicU64::new(0);
///
/// async fn register(ctx: Ctx) -> Result<String, ToolError> {
///     let _file = ctx.step("open", || async { OPENED.fetch_add(1, Ordering::Relaxed) }).await?;
///     loop {
///         let answer = ctx.elicit::<Age>("age", "How old are you? (18 or more)").await?.accepted()?;
///         if answer.age >= 18 {
///             return Ok(format!("welcome, {}", answer.age));
///         }
///     }
/// }
///
/// # couplet_testing::block_on(async {
/// let server = || Server::new("club", "1.0.0").tool(tool("register", register)).build();
/// let result = Replay::tool(server, "register", json!({}))
///     .answers([json!({ "age": 7 }), json!({ "age": 30 })])
///     .watch("files opened", || OPENED.load(Ordering::Relaxed))
///     .check()
///     .await
///     .unwrap();
/// assert_eq!(result["content"][0]["text"], "welcome, 30");
/// # });
/// ```
#[must_use = "nothing is checked until `check` is called"]
pub struct Replay {
    server: Box<dyn Fn() -> Arc<dyn Service> + Send + Sync>,
    method: &'static str,
    params: Value,
    answers: Vec<Value>,
    watched: Vec<(String, Box<dyn Fn() -> u64 + Send + Sync>)>,
}

impl Replay {
    /// Checks a tool call. Each run gets a new server.
    pub fn tool<S: Service>(server: impl Fn() -> S + Send + Sync + 'static, name: &str, arguments: Value) -> Self {
        Self::new(server, "tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// Checks a prompt. Each run gets a new server.
    pub fn prompt<S: Service>(server: impl Fn() -> S + Send + Sync + 'static, name: &str, arguments: Value) -> Self {
        Self::new(server, "prompts/get", json!({ "name": name, "arguments": arguments }))
    }

    /// Checks a resource. Each run gets a new server.
    pub fn resource<S: Service>(server: impl Fn() -> S + Send + Sync + 'static, uri: &str) -> Self {
        Self::new(server, "resources/read", json!({ "uri": uri }))
    }

    fn new<S: Service>(server: impl Fn() -> S + Send + Sync + 'static, method: &'static str, params: Value) -> Self {
        let server = Box::new(move || Arc::new(server()) as Arc<dyn Service>);
        Self { server, method, params, answers: Vec::new(), watched: Vec::new() }
    }

    /// Sets the responses to the input requests, in order: for form elicitation the content, and `null` to decline; for
    /// URL elicitation anything but `null` to accept; for other requests the whole result.
    pub fn answers(mut self, answers: impl IntoIterator<Item = Value>) -> Self {
        self.answers.extend(answers);
        self
    }

    /// Adds a counter of side effects. It is read before and after each run, and must not grow more in rounds than in
    /// one run.
    pub fn watch(mut self, name: impl Into<String>, count: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.watched.push((name.into(), Box::new(count)));
        self
    }

    /// Runs the handler both ways in every revision. Returns its result in the newest one.
    ///
    /// # Errors
    /// The first difference, or an input request without a response.
    pub async fn check(self) -> Result<Value, Difference> {
        let mut last = Value::Null;
        for &version in ProtocolVersion::ALL {
            let straight = self.run(version, Way::Straight).await;
            let rounds = self.run(version, Way::Rounds).await;
            if let Some(what) = straight.differs(&rounds) {
                return Err(Difference(format!("{} in {version}: {what}", self.name())));
            }
            last = rounds.outcome.unwrap_or_else(|error| error);
        }
        Ok(last)
    }

    fn name(&self) -> String {
        let name = self.params.get("name").or(self.params.get("uri")).and_then(Value::as_str);
        format!("`{}`", name.unwrap_or(self.method))
    }

    async fn run(&self, version: ProtocolVersion, way: impl Fn(Script) -> Way) -> Run {
        let count = || self.watched.iter().map(|(_, count)| count());
        let script = Script::new(self.answers.clone());
        let service = Replayed::new((self.server)(), way(script.clone()));
        let able = json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} }, "roots": {} });
        let able = serde_json::from_value(able).expect("capabilities");
        let mut wire = Wire::with(service, version, able, Limits::default());
        wire.open().await;
        let before: Vec<u64> = count().collect();
        let mut answer = wire.request(self.method, self.params.clone()).await;
        let grown = self
            .watched
            .iter()
            .zip(count().zip(before))
            .map(|((name, _), (now, then))| (name.clone(), now.wrapping_sub(then)));
        let outcome = match answer.get("result") {
            Some(_) => Ok(answer["result"].take()),
            None => Err(answer["error"].take()),
        };
        Run { outcome, asked: script.asked(), missing: script.missing(), grown: grown.collect() }
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("method", &self.method).field("params", &self.params).finish_non_exhaustive()
    }
}

/// A difference between a handler in rounds and in one run.
pub struct Difference(String);

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The same as `Display`, because a test shows it when it unwraps.
impl fmt::Debug for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Difference {}

/// The outcome of one run.
struct Run {
    outcome: Result<Value, Value>,
    asked: Vec<String>,
    missing: Option<String>,
    grown: Vec<(String, u64)>,
}

impl Run {
    /// Returns how a run in rounds differs from this one.
    fn differs(&self, rounds: &Self) -> Option<String> {
        if let Some(question) = self.missing.as_ref().or(rounds.missing.as_ref()) {
            return Some(format!("there is no answer to `{question}`: `answers` needs one for each question"));
        }
        if let (Ok(_), Err(error)) = (&self.outcome, &rounds.outcome) {
            return Some(error["message"].as_str().unwrap_or("it fails in rounds").to_owned());
        }
        for ((name, once), (_, often)) in self.grown.iter().zip(&rounds.grown) {
            if once != often {
                let why = "what comes before a question runs once per round: put it into a `step`";
                return Some(format!("`{name}` grew by {once} in one run and by {often} in rounds; {why}"));
            }
        }
        if self.asked != rounds.asked {
            return Some(format!("it asks {:?} in one run and {:?} in rounds", self.asked, rounds.asked));
        }
        let told = |run: &Self| run.outcome.clone().unwrap_or_else(|error| error);
        (self.outcome != rounds.outcome).then(|| {
            format!(
                "its answer is {} in one run and {} in rounds: put what differs into a `step`",
                told(self),
                told(rounds)
            )
        })
    }
}

/// Scripted responses in the order of the input requests. Clones share the script.
#[derive(Clone)]
pub(crate) struct Script(Arc<Mutex<State>>);

struct State {
    answers: std::vec::IntoIter<Value>,
    asked: Vec<String>,
    missing: Option<String>,
}

impl Script {
    fn new(answers: Vec<Value>) -> Self {
        Self(Arc::new(Mutex::new(State { answers: answers.into_iter(), asked: Vec::new(), missing: None })))
    }

    /// The input requests, sorted: some may be concurrent.
    fn asked(&self) -> Vec<String> {
        let mut asked = self.state().asked.clone();
        asked.sort();
        asked
    }

    fn missing(&self) -> Option<String> {
        self.state().missing.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        lock(&self.0)
    }

    fn answer(&self, ask: &InputRequest) -> Result<Value, RpcError> {
        let form = ask.parse::<Elicit>().ok().filter(|_| ask.method == Elicit::METHOD);
        let mut state = self.state();
        let question = told(ask, form.as_ref());
        state.asked.push(question.clone());
        let Some(answer) = state.answers.next() else {
            state.missing.get_or_insert(question);
            return Err(RpcError::internal("the test has no answer to this question"));
        };
        Ok(match form {
            None => answer,
            Some(_) if answer.is_null() => json!({ "action": "decline" }),
            Some(form) if form.is_url() => json!({ "action": "accept" }),
            Some(_) => json!({ "action": "accept", "content": answer }),
        })
    }
}

/// Returns the text of an input request, without the elicitation id that some revisions have.
fn told(ask: &InputRequest, form: Option<&ElicitParams>) -> String {
    match form {
        Some(form) => [&*form.message, form.url.as_deref().unwrap_or_default()].join(" ").trim_end().to_owned(),
        None => format!("{} {}", ask.method, ask.params.as_ref().map_or("", RawJson::get)),
    }
}

impl Backchannel for Script {
    fn request(&self, ask: InputRequest) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        let answer = self.answer(&ask).map(|answer| JsonText::new(answer.to_string()).expect("a value is JSON"));
        Box::pin(std::future::ready(answer))
    }
}
