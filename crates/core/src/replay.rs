//! A call of the stateless era: the answers of earlier rounds, and the questions of this one.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    future::{Future, poll_fn},
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use couplet_types::{InputRequest, RawJson, RpcError};
use serde::{Deserialize, Serialize};

use crate::{
    caller::Caller,
    json::JsonText,
    message::Params,
    seal::{Sealer, Subject},
    service::{Call, Reply},
    sync::lock,
    wire::modern,
};

/// What sealed state is bound to, computed only when there is any.
pub(crate) struct Described {
    method: Cow<'static, str>,
    params: Params,
    caller: Option<Arc<Caller>>,
}

impl Described {
    pub(crate) fn new(call: &Call) -> Self {
        Self { method: call.method.clone(), params: call.params.clone(), caller: call.caller.clone() }
    }

    pub(crate) fn subject(&self) -> Subject {
        let params = self.params.iter().filter(|(key, _)| modern::describes(key));
        let principal = self.caller.as_ref().map(|caller| &**caller.principal());
        Subject::new(principal, &self.method, params)
    }
}

/// One round of a call that may be run again.
#[derive(Debug)]
pub(crate) struct Replay {
    responses: Mutex<Vec<(String, JsonText)>>,
    state: Option<String>,
    log: Mutex<Log>,
    round: Mutex<Round>,
}

/// Everything already answered or computed; it travels sealed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Log {
    /// The fingerprints of the questions of the last round.
    asked: BTreeMap<String, String>,
    answers: BTreeMap<String, (Option<String>, RawJson)>,
    steps: BTreeMap<String, RawJson>,
}

#[derive(Debug, Default)]
struct Round {
    asked: BTreeMap<String, InputRequest>,
    driver: Option<Waker>,
    waiting: Vec<Waker>,
    over: bool,
}

impl Replay {
    pub(crate) fn new(responses: Vec<(String, JsonText)>, state: Option<String>) -> Self {
        Self { responses: Mutex::new(responses), state, log: Mutex::default(), round: Mutex::default() }
    }

    /// Takes up the log where the last round left it, with the answers that came since. Other answers are ignored.
    pub(crate) fn resume(&self, mut log: Log) {
        let asked = std::mem::take(&mut log.asked);
        for (key, answer) in lock(&self.responses).drain(..) {
            match (asked.get(&key), &self.state) {
                (Some(print), _) => {
                    log.answers.insert(key, (Some(print.clone()), answer.to_raw()));
                }
                (None, None) => {
                    log.answers.insert(key, (None, answer.to_raw()));
                }
                (None, Some(_)) => {}
            }
        }
        *lock(&self.log) = log;
    }

    /// The answer to a question, unless the question was another one then.
    pub(crate) fn answered(&self, key: &str, print: &str) -> Option<JsonText> {
        let log = lock(&self.log);
        let (asked, answer) = log.answers.get(key)?;
        asked.as_ref().is_none_or(|a| a == print).then(|| JsonText::from(answer))
    }

    /// Notes the question, wakes the driver, and waits for the end of the round.
    ///
    /// The handler is dropped while it waits here; only a task that it spawned sees the error.
    pub(crate) async fn wait_for_the_end(&self, key: &str, print: String, ask: InputRequest) -> RpcError {
        lock(&self.log).asked.insert(key.to_owned(), print);
        let driver = {
            let mut round = lock(&self.round);
            round.asked.insert(key.to_owned(), ask);
            round.driver.take()
        };
        if let Some(driver) = driver {
            driver.wake();
        }
        poll_fn(|cx| {
            let mut round = lock(&self.round);
            if round.over {
                return Poll::Ready(());
            }
            round.waiting.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
        RpcError::internal("the call goes on in another request")
    }

    /// Polls the handler until it is done, or until it waits for an answer.
    pub(crate) fn poll_round(
        &self,
        cx: &mut Context<'_>,
        handler: Pin<&mut impl Future<Output = Reply>>,
    ) -> Poll<Option<Reply>> {
        if let Poll::Ready(reply) = handler.poll(cx) {
            return Poll::Ready(Some(reply));
        }
        let mut round = lock(&self.round);
        if !round.asked.is_empty() {
            return Poll::Ready(None);
        }
        // A question from a task that the handler spawned wakes us too.
        round.driver = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Lets go of whoever still waits for an answer, and returns what was asked.
    pub(crate) fn end_round(&self) -> Vec<(String, InputRequest)> {
        let (asked, waiting) = {
            let mut round = lock(&self.round);
            round.over = true;
            (std::mem::take(&mut round.asked), std::mem::take(&mut round.waiting))
        };
        waiting.into_iter().for_each(Waker::wake);
        asked.into_iter().collect()
    }

    /// What a step of an earlier round returned.
    pub(crate) fn step(&self, key: &str) -> Option<RawJson> {
        lock(&self.log).steps.get(key).cloned()
    }

    /// Keeps what a step returned.
    pub(crate) fn keep_step(&self, key: &str, value: RawJson) {
        lock(&self.log).steps.insert(key.to_owned(), value);
    }

    /// What the client was given to send back.
    pub(crate) fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// Everything that the next round needs, sealed.
    pub(crate) fn seal(&self, sealer: &Sealer, subject: &Subject, now: u64) -> Result<String, RpcError> {
        let sealed = sealer.seal(subject, now, &*lock(&self.log));
        sealed.map_err(|error| self.blame(error))
    }

    /// Names the largest entry of a log that is too large to travel.
    fn blame(&self, mut error: RpcError) -> RpcError {
        let log = lock(&self.log);
        let answers = log.answers.iter().map(|(key, (_, value))| (key, value));
        let largest = answers.chain(&log.steps).max_by_key(|(_, value)| value.get().len());
        if let Some((key, value)) = largest {
            error.message += &format!("; the largest part is `{key}` with {} bytes", value.get().len());
        }
        error
    }
}
