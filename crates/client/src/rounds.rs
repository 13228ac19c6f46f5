//! One request and what comes of it: progress, questions, the answer, or too long a silence.

use std::sync::Arc;

use couplet_core::{Dialect, Error, ErrorKind, Event, Exchange, JsonText, Outcome, Outgoing, RequestOptions};
use couplet_types::{InputRequest, Notification, Progress, ProgressParams, from_json};
use tracing::Instrument;

use crate::{
    cache::{Begun, JoinOutcome, Lead, Ticket},
    client::Client,
    clock::{Clock, Patience},
    notify::Notice,
    questions::History,
    trace::Watched,
};

/// How one request is carried out.
pub(crate) struct Options {
    pub(crate) patience: Patience,
    pub(crate) progress: Option<Box<dyn FnMut(ProgressParams) + Send>>,
    /// Whether questions are left to the caller.
    pub(crate) once: bool,
    /// Whether results of extensions are left to the caller.
    pub(crate) unfinished: bool,
    /// Whether an answer that is kept will not do.
    pub(crate) fresh: bool,
}

impl Options {
    pub(crate) fn new(patience: Patience) -> Self {
        Self { patience, progress: None, once: false, unfinished: false, fresh: false }
    }
}

/// A request that is on its way, or about to be.
pub(crate) struct Flight {
    pub(crate) client: Client,
    pub(crate) dialect: Arc<Dialect>,
    pub(crate) method: &'static str,
    /// What is sent first, and again with answers, or why it cannot be.
    pub(crate) first: Result<Option<Outgoing>, Error>,
    pub(crate) options: Options,
    /// For a request whose answer may be kept, or be kept already.
    pub(crate) ticket: Option<Box<Ticket>>,
    /// If anybody wants to know about it.
    pub(crate) watched: Option<Box<Watched>>,
}

impl Flight {
    /// Sends the request, and sends it again with answers for as long as the server asks.
    pub(crate) async fn run(&mut self) -> Result<Outcome, Error> {
        let Some(watched) = self.watched.take() else { return self.run_unwatched().await };
        let span = watched.span.clone();
        let outcome = Box::pin(self.run_unwatched().instrument(span)).await;
        watched.done(&outcome);
        outcome
    }

    async fn run_unwatched(&mut self) -> Result<Outcome, Error> {
        let mut clock = Clock::new(self.options.patience, self.client.inbox().answers.activity.clone());
        clock.begin();
        if let Some(ticket) = self.ticket.take() {
            return Box::pin(self.run_kept(*ticket, &mut clock)).await;
        }
        self.run_alone(&mut clock, None).await
    }

    /// The same for a request whose answer may be kept.
    async fn run_kept(&mut self, ticket: Ticket, clock: &mut Clock) -> Result<Outcome, Error> {
        // Whoever wants to hear of progress wants work to be done.
        if self.options.fresh || self.options.progress.is_some() {
            return self.run_alone(clock, Some(ticket.lead())).await;
        }
        let lead = loop {
            match ticket.begin() {
                Begun::Cached(text) => return Ok(Outcome::Complete(text)),
                Begun::Lead(lead) => break lead,
                Begun::Joined(joined) => match clock.wait(self.method, self.client.channel(), joined.answer()).await? {
                    JoinOutcome::Answer(text) => return Ok(Outcome::Complete(text)),
                    JoinOutcome::Nothing => break ticket.lead(),
                    JoinOutcome::Gone => {}
                },
            }
        };
        self.run_alone(clock, Some(lead)).await
    }

    async fn run_alone(&mut self, clock: &mut Clock, lead: Option<Lead>) -> Result<Outcome, Error> {
        let mut exchange = self.send()?;
        if let Some(lead) = lead {
            // Others may wait for the answer, and whoever asked for it may be busy.
            let dialect = self.dialect.clone();
            exchange.on_end(move |end| lead.end(&dialect, end));
        }
        let text = self.answer(&mut exchange, clock).await?;
        let outcome = self.outcome(text)?;
        // A box, because the future of a request that is answered at once should be small.
        if self.is_last(&outcome) { Ok(outcome) } else { Box::pin(self.go_on(outcome, clock)).await }
    }

    fn send(&mut self) -> Result<Exchange, Error> {
        // In a session nobody asks in a result.
        let first = match &mut self.first {
            Ok(first) if self.dialect.has_sessions() => first.take(),
            Ok(first) => first.clone(),
            Err(error) => return Err(error.clone()),
        };
        first.map(|first| self.client.channel().open(first)).ok_or_else(sent_already)
    }

    /// What came back; of a kind that an extension adds only if one of ours does.
    fn outcome(&self, text: JsonText) -> Result<Outcome, Error> {
        let extensions = &self.client.inbox().extensions;
        self.dialect.outcome_with(text, |kind| extensions.finisher(self.method, kind).is_some())
    }

    fn is_last(&self, outcome: &Outcome) -> bool {
        self.options.once || matches!(outcome, Outcome::Complete(_))
    }

    /// The rounds after the first one.
    async fn go_on(&mut self, mut outcome: Outcome, clock: &mut Clock) -> Result<Outcome, Error> {
        let (mut rounds, mut history) = (0, History::default());
        loop {
            clock.end();
            let (asks, state) = match outcome {
                Outcome::InputRequired { asks, state } => (asks, state),
                Outcome::Extension { kind, result } if !self.options.unfinished => {
                    let finish = self.client.inbox().extensions.finisher(self.method, &kind);
                    let finish = finish.expect("only a kind that has one is accepted");
                    return finish(self.client.clone(), result).await.map(Outcome::Complete);
                }
                Outcome::Complete(_) | Outcome::Extension { .. } => return Ok(outcome),
            };
            history.add(&asks);
            self.check_round(rounds, &asks, state.is_some(), &history)?;
            rounds += 1;
            let outgoing = self.next_round(asks, state).await?;
            clock.begin();
            let mut exchange = self.client.channel().open(outgoing);
            let text = self.answer(&mut exchange, clock).await?;
            outcome = self.outcome(text)?;
        }
    }

    async fn next_round(
        &mut self,
        asks: Vec<(String, InputRequest)>,
        state: Option<String>,
    ) -> Result<Outgoing, Error> {
        let mut extras = RequestOptions::default();
        extras.progress = self.options.progress.is_some();
        extras.answers = self.client.inbox().answers.round(&self.dialect, asks).await?;
        extras.state = state;
        let Ok(Some(first)) = &self.first else { return Err(sent_already()) };
        self.dialect.again(first, self.client.channel().next_id(), &extras)
    }

    fn check_round(
        &self,
        rounds: usize,
        asks: &[(String, InputRequest)],
        state: bool,
        history: &History,
    ) -> Result<(), Error> {
        let method = self.method;
        let most = self.client.rounds();
        let what = if rounds >= most {
            format!("`{method}` was given up: after {most} rounds the server still asks{}", history.told(asks))
        } else if asks.is_empty() && !state {
            format!("the server asks for input for `{method}` and does not say which")
        } else if asks.len() > self.client.limits().questions {
            format!("the server asks {} questions at once for `{method}`", asks.len())
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Protocol, what))
    }

    /// The answer to one request. Leaving early drops the exchange, which cancels the request.
    async fn answer(&mut self, exchange: &mut Exchange, clock: &mut Clock) -> Result<JsonText, Error> {
        let method = self.method;
        loop {
            match clock.wait(method, self.client.channel(), exchange.next()).await? {
                Event::Notification { method, params } if method == Progress::METHOD => {
                    clock.heard();
                    if let (Some(tell), Ok(progress)) = (&mut self.options.progress, from_json(params.text().as_str()))
                    {
                        tell(progress);
                    }
                }
                Event::Notification { method, params } => self.client.inbox().notice(&Notice { method, params }),
                Event::Answer(answer) => {
                    return answer.map_err(|error| {
                        self.client.suspect(self.method, &error);
                        error.into()
                    });
                }
                Event::Ended => {
                    let what = format!("the server ended `{method}` without an answer");
                    return Err(Error::new(ErrorKind::Protocol, what));
                }
                Event::Failed(error) => return Err(error),
            }
        }
    }
}

fn sent_already() -> Error {
    Error::new(ErrorKind::Protocol, "the server asks in a result, and has a session for that")
}
