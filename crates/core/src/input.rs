//! Asking the client while a call runs: one way to write it for both eras.
//!
//! Where there is a session, a question is a request to the client and the handler waits for the answer. Where there
//! is none, the handler is *dropped* at an unanswered question; the reply carries the questions and a sealed log of
//! all that was answered and computed so far; and when the client asks again with the answers, the handler runs from
//! the top, with everything in the log resolving at once. Nothing is parked between the rounds.

use std::{
    collections::BTreeMap,
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
};

use couplet_types::{InputRequest, RawJson, RpcError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    json::JsonText,
    running::BoxFuture,
    seal::{Sealer, Subject, fingerprint},
    service::{Call, Peer, Reply},
    sync::lock,
    wire::{modern, project::Ask, revision::Shape},
};

/// A way to send the client a request of its own.
pub trait Backchannel: Send + Sync {
    /// Sends a request and waits for the answer.
    fn request(&self, ask: InputRequest) -> BoxFuture<'static, Result<JsonText, RpcError>>;
}

/// What a running call uses to ask. Clones are the same.
#[derive(Clone)]
pub struct Inputs(Arc<Kind>);

enum Kind {
    /// Ask now, on the session.
    Live(Box<dyn Backchannel>),
    /// Answer from the log, or end this round.
    Replay(Replay),
    /// This request cannot ask anything.
    Closed,
}

impl Inputs {
    /// Questions go to the client at once.
    pub fn live(back: impl Backchannel + 'static) -> Self {
        Self(Arc::new(Kind::Live(Box::new(back))))
    }

    pub(crate) fn closed() -> Self {
        Self(Arc::new(Kind::Closed))
    }

    pub(crate) fn replay(replay: Replay) -> Self {
        Self(Arc::new(Kind::Replay(replay)))
    }

    /// Asks the client. The key names the question among those of the call; two questions need two keys.
    ///
    /// # Errors
    /// When the client lacks the capability, answers with an error, or is gone.
    pub async fn ask(&self, shape: Shape, peer: &Peer, key: &str, ask: Ask) -> Result<JsonText, RpcError> {
        let request = ask.render(shape, &peer.capabilities)?;
        match &*self.0 {
            Kind::Live(back) => back.request(request).await,
            Kind::Closed => Err(RpcError::internal("only tools, resources and prompts can ask the client")),
            Kind::Replay(replay) => {
                let print = fingerprint(&request.method, request.params.as_ref().map_or("", RawJson::get));
                match replay.answered(key, &print) {
                    Some(answer) => Ok(answer),
                    None => Err(replay.wait_for_the_end(key, print, request).await),
                }
            }
        }
    }

    /// Runs `work` once per call, however often the handler runs: what it returned is kept and returned again.
    ///
    /// # Errors
    /// When the value cannot be written as JSON, or not be read back.
    pub async fn step<T, F, Fut>(&self, key: &str, work: F) -> Result<T, RpcError>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        let Kind::Replay(replay) = &*self.0 else { return Ok(work().await) };
        let unreadable = |e: serde_json::Error| RpcError::internal(format!("step `{key}`: {e}"));
        let known = lock(&replay.log).steps.get(key).cloned();
        if let Some(known) = known {
            return known.parse().map_err(unreadable);
        }
        let value = work().await;
        lock(&replay.log).steps.insert(key.to_owned(), RawJson::new(&value).map_err(unreadable)?);
        Ok(value)
    }

    /// Runs a call's handler to its end, or to the first question that has no answer yet.
    ///
    /// `now` is the time in seconds since 1970, for the expiry of what is sealed.
    pub async fn drive<F, Fut>(call: Call, sealer: &Sealer, now: impl Fn() -> u64, handler: F) -> Reply
    where
        F: FnOnce(Call) -> Fut,
        Fut: Future<Output = Reply>,
    {
        let inputs = call.inputs.clone();
        let Kind::Replay(replay) = &*inputs.0 else { return handler(call).await };
        let described = call.clone_description();
        if let Some(state) = &replay.state {
            match sealer.open(&described.subject(), now(), state) {
                Ok(log) => replay.resume(log),
                Err(e) => return Reply::Error(e),
            }
        } else {
            replay.resume(Log::default());
        }
        match replay.round(handler(call)).await {
            Ok(reply) => reply,
            Err(asks) => match sealer.seal(&described.subject(), now(), &*lock(&replay.log)) {
                Ok(state) => Reply::InputRequired { asks, state: Some(state) },
                Err(e) => Reply::Error(replay.blame(e)),
            },
        }
    }
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Live(_) => f.write_str("Inputs::Live"),
            Kind::Replay(_) => f.write_str("Inputs::Replay"),
            Kind::Closed => f.write_str("Inputs::Closed"),
        }
    }
}

/// What sealed state is bound to, computed only when there is any.
struct Described {
    method: std::borrow::Cow<'static, str>,
    params: crate::message::Params,
    principal: Option<Arc<str>>,
}

impl Described {
    fn subject(&self) -> Subject {
        let params = self.params.iter().filter(|(key, _)| modern::describes(key));
        Subject::new(self.principal.as_deref(), &self.method, params)
    }
}

impl Call {
    fn clone_description(&self) -> Described {
        Described { method: self.method.clone(), params: self.params.clone(), principal: self.principal.clone() }
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
struct Log {
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
    fn resume(&self, mut log: Log) {
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
    fn answered(&self, key: &str, print: &str) -> Option<JsonText> {
        let log = lock(&self.log);
        let (asked, answer) = log.answers.get(key)?;
        asked.as_ref().is_none_or(|a| a == print).then(|| JsonText::from(answer))
    }

    /// Notes the question, wakes the driver, and waits for the end of the round.
    ///
    /// The handler is dropped while it waits here; only a task that it spawned sees the error.
    async fn wait_for_the_end(&self, key: &str, print: String, ask: InputRequest) -> RpcError {
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

    /// Polls the handler until it is done, or drops it where it waits for an answer.
    async fn round(&self, handler: impl Future<Output = Reply>) -> Result<Reply, Vec<(String, InputRequest)>> {
        let done = {
            let mut handler = pin!(handler);
            poll_fn(|cx| {
                if let Poll::Ready(reply) = handler.as_mut().poll(cx) {
                    return Poll::Ready(Some(reply));
                }
                let mut round = lock(&self.round);
                if !round.asked.is_empty() {
                    return Poll::Ready(None);
                }
                // A question from a task that the handler spawned wakes us too.
                round.driver = Some(cx.waker().clone());
                Poll::Pending
            })
            .await
        };
        let (asked, waiting) = {
            let mut round = lock(&self.round);
            round.over = true;
            (std::mem::take(&mut round.asked), std::mem::take(&mut round.waiting))
        };
        waiting.into_iter().for_each(Waker::wake);
        done.ok_or_else(|| asked.into_iter().collect())
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
