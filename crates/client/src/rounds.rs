//! One request and what comes of it: progress, questions, the answer, or too long a silence.

use std::sync::Arc;

use couplet_core::{Dialect, Error, ErrorKind, Event, Extras, JsonText, Outcome, Outgoing};
use couplet_types::{Notification, Progress, ProgressParams, from_json};

use crate::{
    client::Client,
    clock::{Clock, Patience},
    notify::Notice,
};

/// How one request is carried out.
pub(crate) struct Options {
    pub(crate) patience: Patience,
    pub(crate) progress: Option<Box<dyn FnMut(ProgressParams) + Send>>,
    /// Whether questions are left to the caller.
    pub(crate) once: bool,
    /// Whether results of extensions are left to the caller.
    pub(crate) unfinished: bool,
}

impl Options {
    pub(crate) fn new(patience: Patience) -> Self {
        Self { patience, progress: None, once: false, unfinished: false }
    }
}

impl Client {
    /// Sends a request, and sends it again with answers for as long as the server asks.
    pub(crate) async fn drive(
        &self,
        dialect: Arc<Dialect>,
        first: Outgoing,
        mut options: Options,
    ) -> Result<Outcome, Error> {
        let answers = &self.inbox().answers;
        let mut clock = Clock::new(options.patience, answers.activity.clone());
        let mut outgoing = first.clone();
        let mut rounds = 0;
        loop {
            clock.begin();
            let text = self.exchange(outgoing, &mut clock, &mut options).await?;
            clock.end();
            let finisher = |kind: &str| self.inbox().extensions.finisher(first.method, kind);
            let (asks, state) = match dialect.outcome_with(text, |kind| finisher(kind).is_some())? {
                Outcome::Extension { kind, result } if !options.once && !options.unfinished => {
                    let finish = finisher(&kind).expect("only a kind that has one is accepted");
                    return finish(self.clone(), result).await.map(Outcome::Complete);
                }
                Outcome::InputRequired { asks, state } if !options.once => (asks, state),
                outcome => return Ok(outcome),
            };
            self.check_round(&first, rounds, asks.len(), state.is_some())?;
            rounds += 1;
            let mut extras = Extras::default();
            extras.progress = options.progress.is_some();
            extras.answers = answers.round(&dialect, asks).await?;
            extras.state = state;
            outgoing = dialect.again(&first, self.channel().next_id(), &extras)?;
        }
    }

    fn check_round(&self, first: &Outgoing, rounds: usize, asks: usize, state: bool) -> Result<(), Error> {
        let method = first.method;
        let most = self.rounds();
        let what = if rounds >= most {
            format!("`{method}` was given up: after {most} rounds the server still asks; `rounds` allows more")
        } else if asks == 0 && !state {
            format!("the server asks for input for `{method}` and does not say which")
        } else if asks > self.limits().questions {
            format!("the server asks {asks} questions at once for `{method}`")
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Protocol, what))
    }

    /// One request and its answer. Leaving early drops the exchange, which cancels the request.
    async fn exchange(&self, outgoing: Outgoing, clock: &mut Clock, options: &mut Options) -> Result<JsonText, Error> {
        let method = outgoing.method;
        let mut exchange = self.channel().open(outgoing);
        loop {
            match clock.wait(method, exchange.next()).await? {
                Event::Notification { method, params } if method == Progress::METHOD => {
                    clock.heard();
                    if let (Some(tell), Ok(progress)) = (&mut options.progress, from_json(params.text().as_str())) {
                        tell(progress);
                    }
                }
                Event::Notification { method, params } => self.inbox().notice(&Notice { method, params }),
                Event::Answer(answer) => return answer.map_err(Error::from),
                Event::Ended => {
                    let what = format!("the server ended `{method}` without an answer");
                    return Err(Error::new(ErrorKind::Protocol, what));
                }
                Event::Failed(error) => return Err(error),
            }
        }
    }
}
