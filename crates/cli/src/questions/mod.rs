//! Elicitation and sampling requests, answered by the user at the terminal.
//!
//! One request at a time. Without a terminal, the command fails with the question.

mod choice;
mod field;
mod form;
mod planned;
mod prompt;
mod sample;
mod scripted;
mod url;

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use couplet::{
    Client,
    client::{ClientBuilder, Elicitation},
    types::{CreateMessageParams, CreateMessageResult, ElicitResult, RpcError, code},
};
use tokio::sync::{Mutex, watch};

use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
};

pub(crate) use planned::{Plan, Planned, Reply};
pub(crate) use prompt::{Line, line, reading};
pub(crate) use scripted::Script;
pub(crate) use url::open;

/// The handler of elicitation and sampling requests.
#[derive(Debug)]
pub(crate) struct Questions {
    output: Arc<Output>,
    script: Script,
    /// The name of the server, once connected.
    server: OnceLock<String>,
    turn: Mutex<()>,
    /// The request that cannot be answered without a terminal.
    unasked: watch::Sender<Option<Unasked>>,
    declined: AtomicBool,
}

/// A request that cannot be answered without a terminal.
#[derive(Clone, Debug)]
struct Unasked {
    message: String,
    /// The fields of a form.
    fields: Vec<String>,
    hint: &'static str,
}

impl Questions {
    pub(crate) fn new(output: &Arc<Output>, script: Script) -> Self {
        Self {
            output: output.clone(),
            script,
            server: OnceLock::new(),
            turn: Mutex::default(),
            unasked: watch::Sender::new(None),
            declined: AtomicBool::new(false),
        }
    }

    /// Registers the handlers with a client.
    pub(crate) fn attach(self: &Arc<Self>, client: ClientBuilder) -> ClientBuilder {
        let (form, url, sample) = (self.clone(), self.clone(), self.clone());
        client
            .on_elicit(move |ask| {
                let questions = form.clone();
                async move { questions.form(ask).await }
            })
            .on_elicit_url(move |ask| {
                let questions = url.clone();
                async move { questions.url(ask).await }
            })
            .on_sample(move |request| {
                let questions = sample.clone();
                async move { questions.sample(request).await }
            })
    }

    /// Sets the name of the server.
    pub(crate) fn met(&self, client: &Client) {
        let name = client.server().info.as_ref().map(|info| text::line(info.display_name()));
        let _ = self.server.set(name.unwrap_or_else(|| "The server".to_owned()));
    }

    /// Waits for a request that cannot be answered, and returns the error.
    pub(crate) async fn unanswerable(&self) -> Failure {
        let mut unasked = self.unasked.subscribe();
        let unasked = unasked.wait_for(Option::is_some).await.map(|unasked| unasked.clone());
        let Ok(Some(Unasked { message, fields, hint })) = unasked else { return std::future::pending().await };
        let mut failure = Failure::new(Exit::Unanswered, message).hint(hint);
        failure.details = fields;
        failure
    }

    /// Replaces the error of a call that failed because the user declined a request.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        if self.declined.load(Ordering::Relaxed) && failure.exit != Exit::Interrupted {
            return Failure::new(Exit::Unanswered, "the user declined the sampling request");
        }
        failure
    }

    async fn form(self: Arc<Self>, ask: Elicitation) -> Result<ElicitResult, RpcError> {
        let _turn = self.turn.lock().await;
        if let Some(plan) = &self.script.plan {
            return plan.elicit(&ask);
        }
        let known = match scripted::fill(&ask, &self.script.answers) {
            scripted::Filled::Whole(content) => {
                self.output.note(&format!("{} {}", self.heading(), text::visible(ask.message())));
                self.output.note(&format!("  answered with {}", text::visible(content.get())));
                return ask.accept(content);
            }
            scripted::Filled::Part(known) => known,
            scripted::Filled::Wrong(what) => {
                let message =
                    format!("invalid answer to the elicitation `{}`: {what}", text::first_line(ask.message()));
                return self.fail(message, form::fields(&ask), "correct the --answer").await;
            }
        };
        if !self.output.can_ask() {
            let hint = "run the command in a terminal, or answer each field with --answer KEY=VALUE";
            return self.fail(needs_terminal("elicitation", ask.message()), form::fields(&ask), hint).await;
        }
        let this = self.clone();
        self.at_terminal(move || form::ask(&this.output, &this.heading(), &ask, &known)).await?
    }

    async fn url(self: Arc<Self>, ask: Elicitation) -> Result<ElicitResult, RpcError> {
        let _turn = self.turn.lock().await;
        if let Some(plan) = &self.script.plan {
            return plan.elicit(&ask);
        }
        if !self.output.can_ask() {
            let question = format!("{} {}", ask.message(), ask.url().unwrap_or_default());
            let message = needs_terminal("URL elicitation", &question);
            return self.fail(message, Vec::new(), "run the command in a terminal").await;
        }
        let this = self.clone();
        self.at_terminal(move || url::ask(&this.output, &this.heading(), &ask)).await?
    }

    async fn sample(self: Arc<Self>, request: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        let _turn = self.turn.lock().await;
        if let Some(plan) = &self.script.plan {
            return plan.sample(&request);
        }
        let last = || request.messages.last().map(|m| m.content.all_text()).unwrap_or_default();
        if let Some(words) = &self.script.sample {
            let asked = text::first_line(&last());
            self.output
                .note(&format!("{} {asked}", self.output.err.strong(format!("{} asks the model:", self.name()))));
            return Ok(sample::answer(words));
        }
        if !self.output.can_ask() {
            let hint = "run the command in a terminal, or answer with --sample TEXT";
            return self.fail(needs_terminal("sampling", &last()), Vec::new(), hint).await;
        }
        let this = self.clone();
        let answer = self.at_terminal(move || sample::ask(&this.output, this.name(), &request)).await?;
        answer.ok_or_else(|| {
            self.declined.store(true, Ordering::Relaxed);
            RpcError::new(code::USER_REJECTED, "the user declined the sampling request")
        })
    }

    /// Makes the command fail. The request stays pending until then, so that the server gets no answer.
    async fn fail<T>(&self, message: String, fields: Vec<String>, hint: &'static str) -> T {
        self.unasked.send_replace(Some(Unasked { message, fields, hint }));
        std::future::pending().await
    }

    fn name(&self) -> &str {
        self.server.get().map_or("The server", String::as_str)
    }

    fn heading(&self) -> String {
        self.output.err.strong(format!("{} asks:", self.name()))
    }

    /// Prompts on a blocking thread, so that the connection stays alive.
    async fn at_terminal<T: Send + 'static>(&self, ask: impl FnOnce() -> T + Send + 'static) -> Result<T, RpcError> {
        self.output.clear_bar();
        let answer = tokio::task::spawn_blocking(ask).await;
        self.output.redraw_bar();
        answer.map_err(|e| RpcError::internal(format!("the prompt failed: {e}")))
    }
}

/// Formats the error for a request that needs a terminal.
fn needs_terminal(kind: &str, question: &str) -> String {
    format!("{kind} needs a terminal: {}", text::first_line(question))
}
