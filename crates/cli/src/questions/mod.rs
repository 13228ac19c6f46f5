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

pub(crate) use prompt::reading;

/// Asks.
#[derive(Debug)]
pub(crate) struct Questions {
    output: Arc<Output>,
    /// What was answered beforehand, by the names of fields.
    answers: Vec<(String, String)>,
    /// Who asks, once it is known.
    server: OnceLock<String>,
    turn: Mutex<()>,
    /// What could not be asked.
    unasked: watch::Sender<Option<String>>,
    refused: AtomicBool,
}

impl Questions {
    pub(crate) fn new(output: &Arc<Output>, answers: Vec<(String, String)>) -> Self {
        Self {
            output: output.clone(),
            answers,
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
        let question = match unasked.wait_for(Option::is_some).await {
            Ok(question) => question.clone().unwrap_or_default(),
            Err(_) => return std::future::pending().await,
        };
        Failure::new(Exit::Unanswered, format!("the server asks, and there is no terminal to answer at: {question}"))
            .hint("run it in a terminal, or answer a form with --answer KEY=VALUE")
    }

    /// A request that was given up because the person said no is not the server's fault.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        if self.refused.load(Ordering::Relaxed) && failure.exit != Exit::Interrupted {
            return Failure::new(Exit::Unanswered, "the question was refused, so there is no result")
                .detail(failure.message);
        }
        failure
    }

    async fn form(self: Arc<Self>, ask: Elicitation) -> Result<ElicitResult, RpcError> {
        let _turn = self.turn.lock().await;
        let known = match scripted::fill(&ask, &self.answers) {
            scripted::Filled::Whole(content) => {
                self.output.note(&format!("{} {}", self.heading(), text::visible(ask.message())));
                self.output.note(&format!("  answered with {}", text::visible(content.get())));
                return ask.accept(content);
            }
            scripted::Filled::Part(known) => known,
            scripted::Filled::Wrong(what) => {
                return self.nobody(&format!("{} ({what})", ask.message()), ask.cancel());
            }
        };
        if !self.output.can_ask() {
            return self.nobody(ask.message(), ask.cancel());
        }
        let this = self.clone();
        self.at_terminal(move || form::ask(&this.output, &this.heading(), &ask, &known)).await?
    }

    async fn visit(self: Arc<Self>, ask: Elicitation) -> Result<ElicitResult, RpcError> {
        let _turn = self.turn.lock().await;
        if !self.output.can_ask() {
            return self.nobody(&format!("{} {}", ask.message(), ask.url().unwrap_or_default()), ask.cancel());
        }
        let this = self.clone();
        self.at_terminal(move || visit::ask(&this.output, &this.heading(), &ask)).await?
    }

    async fn sample(self: Arc<Self>, request: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        let _turn = self.turn.lock().await;
        let refused = || RpcError::new(code::USER_REJECTED, "the person refused");
        if !self.output.can_ask() {
            let last = request.messages.last().map(|m| m.content.all_text()).unwrap_or_default();
            return self.nobody(&format!("for a model's answer to: {last}"), Err(refused()));
        }
        let this = self.clone();
        let answer = self.at_terminal(move || sample::ask(&this.output, &this.heading(), &request)).await?;
        answer.ok_or_else(|| {
            self.refused.store(true, Ordering::Relaxed);
            refused()
        })
    }

    /// Ends the command, and says something to the server in the meantime.
    fn nobody<T>(&self, question: &str, meanwhile: T) -> T {
        self.unasked.send_replace(Some(text::first_line(question)));
        meanwhile
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
