//! The life of one request: cache lookup, progress, rounds of input requests, response or timeout.

use std::sync::Arc;

use couplet_core::{Dialect, Error, ErrorKind, Event, Exchange, JsonText, Outcome, Outgoing, RequestOptions};
use couplet_types::{InputRequest, Notification, Progress, ProgressParams, from_json};
use tracing::Instrument;

use crate::{
    cache::{Begun, JoinOutcome, Lead, Ticket},
    client::Client,
    notify::Notice,
    round_history::RoundHistory,
    timeout::{RequestTimer, Timeouts},
    trace::RequestTrace,
};

/// The options of one request.
pub(crate) struct Options {
    pub(crate) timeouts: Timeouts,
    pub(crate) progress: Option<Box<dyn FnMut(ProgressParams) + Send>>,
    /// Whether the caller answers input requests.
    pub(crate) first_outcome: bool,
    /// Whether the caller handles results of kinds that extensions add.
    pub(crate) raw_extension_results: bool,
    /// Whether the cache is bypassed.
    pub(crate) no_cache: bool,
    /// The idempotency key of a call.
    pub(crate) idempotency_key: Option<String>,
}

impl Options {
    pub(crate) fn new(timeouts: Timeouts) -> Self {
        Self {
            timeouts,
            progress: None,
            first_outcome: false,
            raw_extension_results: false,
            no_cache: false,
            idempotency_key: None,
        }
    }

    /// Copies all options but the callback for progress.
    pub(crate) fn without_progress(&self) -> Self {
        Self { progress: None, idempotency_key: self.idempotency_key.clone(), ..*self }
    }
}

/// A request that is in flight, or about to be.
pub(crate) struct PendingRequest {
    pub(crate) client: Client,
    pub(crate) dialect: Arc<Dialect>,
    pub(crate) method: &'static str,
    /// The message of the first round, which later rounds repeat with responses, or the reason why it cannot be sent.
    pub(crate) first: Result<Option<Outgoing>, Error>,
    pub(crate) options: Options,
    /// The place in the cache, for a cacheable request.
    pub(crate) ticket: Option<Box<Ticket>>,
    pub(crate) trace: Option<Box<RequestTrace>>,
}

impl PendingRequest {
    /// Carries out the request, in its span.
    pub(crate) async fn run(&mut self) -> Result<Outcome, Error> {
        let Some(trace) = self.trace.take() else { return self.execute().await };
        let span = trace.span.clone();
        let outcome = Box::pin(self.execute().instrument(span)).await;
        trace.done(&outcome);
        outcome
    }

    /// Starts the timer, and answers from the cache or from the server.
    async fn execute(&mut self) -> Result<Outcome, Error> {
        let mut timer = RequestTimer::new(self.options.timeouts, self.client.incoming().callbacks.activity.clone());
        timer.begin();
        if let Some(ticket) = self.ticket.take() {
            return Box::pin(self.execute_cached(*ticket, &mut timer)).await;
        }
        self.send_and_wait(&mut timer, None).await
    }

    /// Answers from the cache, from an identical request in flight, or from the server.
    async fn execute_cached(&mut self, ticket: Ticket, timer: &mut RequestTimer) -> Result<Outcome, Error> {
        // A request for progress is a request for work to be done.
        if self.options.no_cache || self.options.progress.is_some() {
            return self.send_and_wait(timer, Some(ticket.lead())).await;
        }
        let lead = loop {
            match ticket.begin() {
                Begun::Cached(text) => return Ok(Outcome::Complete(text)),
                Begun::Lead(lead) => break lead,
                Begun::Joined(joined) => match timer.wait(self.method, self.client.channel(), joined.answer()).await? {
                    JoinOutcome::Answer(text) => return Ok(Outcome::Complete(text)),
                    JoinOutcome::Nothing => break ticket.lead(),
                    JoinOutcome::Gone => {}
                },
            }
        };
        self.send_and_wait(timer, Some(lead)).await
    }

    /// Sends the request, and waits for its result through all rounds.
    async fn send_and_wait(&mut self, timer: &mut RequestTimer, lead: Option<Lead>) -> Result<Outcome, Error> {
        if self.options.idempotency_key.is_some() {
            return Box::pin(self.send_repeatedly(timer)).await;
        }
        let first = self.first_message()?;
        let mut exchange = self.client.channel().open(first);
        if let Some(lead) = lead {
            // Identical requests may wait for the response, even while the caller does not poll this one.
            let dialect = self.dialect.clone();
            exchange.on_end(move |end| lead.end(&dialect, end));
        }
        let text = self.answer(&mut exchange, timer).await?;
        let outcome = self.outcome(text)?;
        // Boxed, so that the future of a request with a single round is small.
        if self.is_last(&outcome) { Ok(outcome) } else { Box::pin(self.continue_rounds(outcome, timer)).await }
    }

    /// Does the same for a call with an idempotency key.
    async fn send_repeatedly(&mut self, timer: &mut RequestTimer) -> Result<Outcome, Error> {
        let first = self.first_message()?;
        let text = self.exchange(first, timer).await?;
        let outcome = self.outcome(text)?;
        if self.is_last(&outcome) { Ok(outcome) } else { self.continue_rounds(outcome, timer).await }
    }

    /// Carries out one round: sends a message, repeatedly if it has an idempotency key that the server honours, and waits
    /// for its response.
    async fn exchange(&mut self, outgoing: Outgoing, timer: &mut RequestTimer) -> Result<JsonText, Error> {
        let repeats = self.options.idempotency_key.is_some() && self.client.repeats_calls();
        let sent = repeats.then(|| outgoing.clone());
        let mut exchange = self.client.channel().open(outgoing);
        match (self.answer(&mut exchange, timer).await, sent) {
            (Err(error), Some(sent)) => self.repeat(&sent, error, timer).await,
            (answer, _) => answer,
        }
    }

    fn first_message(&mut self) -> Result<Outgoing, Error> {
        // In a session there is one round only.
        let first = match &mut self.first {
            Ok(first) if self.dialect.has_sessions() => first.take(),
            Ok(first) => first.clone(),
            Err(error) => return Err(error.clone()),
        };
        first.ok_or_else(sent_already)
    }

    /// Parses a result. Kinds that extensions add are accepted only if this client has such an extension.
    fn outcome(&self, text: JsonText) -> Result<Outcome, Error> {
        let extensions = &self.client.incoming().extensions;
        self.dialect.outcome_with(text, |kind| extensions.finisher(self.method, kind).is_some())
    }

    fn is_last(&self, outcome: &Outcome) -> bool {
        self.options.first_outcome || matches!(outcome, Outcome::Complete(_))
    }

    /// Carries out the rounds after the first one.
    async fn continue_rounds(&mut self, mut outcome: Outcome, timer: &mut RequestTimer) -> Result<Outcome, Error> {
        let (mut rounds, mut history) = (0, RoundHistory::default());
        loop {
            timer.end();
            let (asks, state) = match outcome {
                Outcome::InputRequired { asks, state } => (asks, state),
                Outcome::Extension { kind, result } if !self.options.raw_extension_results => {
                    let finish = self.client.incoming().extensions.finisher(self.method, &kind);
                    let finish = finish.expect("only a kind that has one is accepted");
                    return finish(self.client.clone(), result).await.map(Outcome::Complete);
                }
                Outcome::Complete(_) | Outcome::Extension { .. } => return Ok(outcome),
            };
            history.add(&asks);
            self.check_round(rounds, &asks, state.is_some(), &history)?;
            rounds += 1;
            let outgoing = self.next_round(asks, state).await?;
            timer.begin();
            let text = self.exchange(outgoing, timer).await?;
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
        extras.answers = self.client.incoming().round(&self.dialect, asks).await?;
        extras.state = state;
        let Ok(Some(first)) = &self.first else { return Err(sent_already()) };
        self.dialect.again(first, self.client.channel().next_id(), &extras)
    }

    fn check_round(
        &self,
        rounds: usize,
        asks: &[(String, InputRequest)],
        state: bool,
        history: &RoundHistory,
    ) -> Result<(), Error> {
        let method = self.method;
        let most = self.client.rounds();
        let what = if rounds >= most {
            format!(
                "`{method}` was abandoned: after {most} rounds the server still requests input{}",
                history.describe(asks)
            )
        } else if asks.is_empty() && !state {
            format!("the server requires input for `{method}`, but requests none")
        } else if asks.len() > self.client.limits().questions {
            format!(
                "the server sent {} input requests at once for `{method}`, which is more than the limit",
                asks.len()
            )
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Protocol, what))
    }

    /// Waits for the response of one round. Dropping this future drops the exchange, which cancels the request.
    pub(crate) async fn answer(
        &mut self,
        exchange: &mut Exchange,
        timer: &mut RequestTimer,
    ) -> Result<JsonText, Error> {
        let method = self.method;
        loop {
            match timer.wait(method, self.client.channel(), exchange.next()).await? {
                Event::Notification { method, params } if method == Progress::METHOD => {
                    timer.restart_idle();
                    let Some(notice) = self.client.incoming().admit(Notice { method, params }) else { continue };
                    if let (Some(callback), Ok(progress)) =
                        (&mut self.options.progress, from_json(notice.params.text().as_str()))
                    {
                        callback(progress);
                    }
                }
                Event::Notification { method, params } => self.client.incoming().deliver(Notice { method, params }),
                Event::Answer(answer) => {
                    return answer.map_err(|error| {
                        self.client.invalidate_after(self.method, &error);
                        error.into()
                    });
                }
                Event::Ended => {
                    let what = format!("the server ended `{method}` without a response");
                    return Err(Error::new(ErrorKind::Protocol, what));
                }
                Event::Failed(error) => return Err(error),
            }
        }
    }
}

fn sent_already() -> Error {
    Error::new(
        ErrorKind::Protocol,
        "the server sent an `input_required` result in a session, where it has to send requests",
    )
}
