//! What servers ask, asked of the person at the terminal.
//!
//! One question at a time. Who is not there cannot be asked: then the command ends with what would have been asked.

mod choice;
mod field;
mod form;
mod prompt;
mod sample;
mod scripted;
mod visit;

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

pub(crate) use prompt::{Line, line, reading};
pub(crate) use scripted::Script;
pub(crate) use visit::open;

/// Asks.
#[derive(Debug)]
pub(crate) struct Questions {
    output: Arc<Output>,
    script: Script,
    /// Who asks, once it is known.
    server: OnceLock<String>,
    turn: Mutex<()>,
    /// What could not be asked, and what would have had to be filled in.
    unasked: watch::Sender<Option<(String, Vec<String>)>>,
    refused: AtomicBool,
}

impl Questions {
    pub(crate) fn new(output: &Arc<Output>, script: Script) -> Self {
        Self {
            output: output.clone(),
            script,
            server: OnceLock::new(),
            turn: Mutex::default(),
            unasked: watch::Sender::new(None),
            refused: AtomicBool::new(false),
        }
    }

    /// Lets a client ask here.
    pub(crate) fn attach(self: &Arc<Self>, client: ClientBuilder) -> ClientBuilder {
        let (form, visit, sample) = (self.clone(), self.clone(), self.clone());
        client
            .on_elicit(move |ask| {
                let questions = form.clone();
                async move { questions.form(ask).await }
            })
            .on_elicit_url(move |ask| {
                let questions = visit.clone();
                async move { questions.visit(ask).await }
            })
            .on_sample(move |request| {
                let questions = sample.clone();
                async move { questions.sample(request).await }
            })
    }

    /// Notes who asks.
    pub(crate) fn met(&self, client: &Client) {
        let name = client.server().info.as_ref().map(|info| text::line(info.display_name()));
        let _ = self.server.set(name.unwrap_or_else(|| "The server".to_owned()));
    }

    /// Waits until something is asked that nobody can answer.
    pub(crate) async fn unanswerable(&self) -> Failure {
        let mut unasked = self.unasked.subscribe();
        let question = unasked.wait_for(Option::is_some).await.map(|question| question.clone());
        let Ok(Some((question, fields))) = question else { return std::future::pending().await };
        let what = format!("the server asks, and there is no terminal to answer at: {question}");
        let mut failure = Failure::new(Exit::Unanswered, what);
        let hint = match fields.is_empty() {
            true => "run it in a terminal",
            false => "run it in a terminal, or answer with --answer KEY=VALUE for each of these",
        };
        failure.details = fields;
        failure.hint(hint)
    }

    /// A request that was given up because the person said no is not the server's fault.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        if self.refused.load(Ordering::Relaxed) && failure.exit != Exit::Interrupted {
            return Failure::new(Exit::Unanswered, "the question was refused, so there is no result");
        }
        failure
    }

    async fn form(self: Arc<Self>, ask: Elicitation) -> Result<ElicitResult, RpcError> {
        let _turn = self.turn.lock().await;
        let known = match scripted::fill(&ask, &self.script.answers) {
            scripted::Filled::Whole(content) => {
                self.output.note(&format!("{} {}", self.heading(), text::visible(ask.message())));
                self.output.note(&format!("  answered with {}", text::visible(content.get())));
                return ask.accept(content);
            }
            scripted::Filled::Part(known) => known,
            scripted::Filled::Wrong(what) => {
                return self.nobody(&format!("{} ({what})", ask.message()), form::fields(&ask)).await;
            }
        };
        if !self.output.can_ask() {
            return self.nobody(ask.message(), form::fields(&ask)).await;
        }
        let this = self.clone();
        self.at_terminal(move || form::ask(&this.output, &this.heading(), &ask, &known)).await?
    }

    async fn visit(self: Arc<Self>, ask: Elicitation) -> Result<ElicitResult, RpcError> {
        let _turn = self.turn.lock().await;
        if !self.output.can_ask() {
            let question = format!("{} {}", ask.message(), ask.url().unwrap_or_default());
            return self.nobody(&question, Vec::new()).await;
        }
        let this = self.clone();
        self.at_terminal(move || visit::ask(&this.output, &this.heading(), &ask)).await?
    }

    async fn sample(self: Arc<Self>, request: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        let _turn = self.turn.lock().await;
        let last = || request.messages.last().map(|m| m.content.all_text()).unwrap_or_default();
        if let Some(words) = &self.script.sample {
            let asked = text::first_line(&last());
            self.output.note(&format!("{} what would your model say to: {asked}", self.heading()));
            return Ok(sample::said(words));
        }
        if !self.output.can_ask() {
            return self.nobody(&format!("what would your model say to: {}", last()), Vec::new()).await;
        }
        let this = self.clone();
        let answer = self.at_terminal(move || sample::ask(&this.output, &this.heading(), &request)).await?;
        answer.ok_or_else(|| {
            self.refused.store(true, Ordering::Relaxed);
            RpcError::new(code::USER_REJECTED, "the person refused")
        })
    }

    /// Ends the command, and leaves the server waiting until it has ended: nobody has said anything.
    async fn nobody<T>(&self, question: &str, fields: Vec<String>) -> T {
        self.unasked.send_replace(Some((text::first_line(question), fields)));
        std::future::pending().await
    }

    fn heading(&self) -> String {
        let server = self.server.get().map_or("The server", String::as_str);
        self.output.err.strong(format!("{server} asks:"))
    }

    /// Reading a line holds up a thread, which must not be the one that keeps the connection alive.
    async fn at_terminal<T: Send + 'static>(&self, ask: impl FnOnce() -> T + Send + 'static) -> Result<T, RpcError> {
        self.output.clear_bar();
        let answer = tokio::task::spawn_blocking(ask).await;
        self.output.redraw_bar();
        answer.map_err(|e| RpcError::internal(format!("the person could not be asked: {e}")))
    }
}
