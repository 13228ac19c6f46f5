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
    message::{Params, scan::JsonText},
    server::{
        question::{Asked, Names},
        seal::{Sealer, Subject},
    },
    service::{Call, Reply, caller::Caller},
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
        let params = self.params.iter().filter(|(key, _)| modern::describes(key.as_bytes()));
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
    /// The questions of the last round.
    asked: BTreeMap<String, Asked>,
    /// The answers, each with its question if that is known.
    answers: BTreeMap<String, (Option<Asked>, RawJson)>,
    steps: BTreeMap<String, RawJson>,
}

#[derive(Debug, Default)]
struct Round {
    names: Names,
    /// What has no answer yet, in the order in which it was asked.
    asked: Vec<(String, InputRequest)>,
    /// A question that was another one in an earlier round.
    changed: Option<Box<RpcError>>,
    /// Whether a replayed answer yielded since the handler was polled last.
    yielded: bool,
    /// Whether that is why the handler waits.
    yielding: bool,
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
                (Some(question), _) => {
                    log.answers.insert(key, (Some(question.clone()), answer.to_raw()));
                }
                (None, None) => {
                    log.answers.insert(key, (None, answer.to_raw()));
                }
                (None, Some(_)) => {}
            }
        }
        *lock(&self.log) = log;
    }

    /// The answer to a question, from the log. Without one, the round ends here.
    ///
    /// The handler is dropped while it waits for that; only a task that it spawned sees the error.
    pub(crate) async fn ask(&self, key: &str, question: Asked, request: InputRequest) -> Result<JsonText, RpcError> {
        let key = lock(&self.round).names.question(key);
        match self.answered(&key, &question) {
            Ok(Some(answer)) => {
                self.yield_now().await;
                return Ok(answer);
            }
            Ok(None) => {
                lock(&self.log).asked.insert(key.clone(), question);
                lock(&self.round).asked.push((key, request));
            }
            Err(changed) => lock(&self.round).changed = Some(Box::new(changed)),
        }
        self.wait_for_the_end().await;
        Err(RpcError::internal("the call goes on in another request"))
    }

    /// The answer to a question, if there is one; an error if the question was another one then.
    fn answered(&self, key: &str, question: &Asked) -> Result<Option<JsonText>, RpcError> {
        match lock(&self.log).answers.get(key) {
            Some((Some(then), _)) if !then.is_same(question) => Err(then.changed(key, question)),
            Some((_, answer)) => Ok(Some(JsonText::from(answer))),
            None => Ok(None),
        }
    }

    /// Yields to everything else that is ready: a handler that replays much stops neither its timeout nor other calls.
    pub(crate) async fn yield_now(&self) {
        lock(&self.round).yielded = true;
        let mut polled = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut polled, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    async fn wait_for_the_end(&self) {
        self.wake_driver();
        poll_fn(|cx| {
            let mut round = lock(&self.round);
            if round.over {
                return Poll::Ready(());
            }
            // A handler may poll this often before the round ends.
            if !round.waiting.iter().any(|known| known.will_wake(cx.waker())) {
                round.waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    fn wake_driver(&self) {
        let driver = lock(&self.round).driver.take();
        driver.into_iter().for_each(Waker::wake);
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
        if let Some(changed) = &round.changed {
            return Poll::Ready(Some(Reply::Error((**changed).clone())));
        }
        round.yielding = std::mem::take(&mut round.yielded);
        if !round.asked.is_empty() {
            if !round.yielding {
                return Poll::Ready(None);
            }
            // What follows a replayed answer may be asked in the same round.
            cx.waker().wake_by_ref();
        }
        // A question from a task that the handler spawned wakes us too.
        round.driver = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Drops the waiting requests, and returns them.
    pub(crate) fn end_round(&self) -> Vec<(String, InputRequest)> {
        let (asked, waiting) = {
            let mut round = lock(&self.round);
            round.over = true;
            (std::mem::take(&mut round.asked), std::mem::take(&mut round.waiting))
        };
        waiting.into_iter().for_each(Waker::wake);
        asked
    }

    /// Whether the handler waits only because a replayed answer lets others go first.
    pub(crate) fn is_yielding(&self) -> bool {
        lock(&self.round).yielding
    }

    /// The question that was another one in an earlier round, if that ended this one.
    pub(crate) fn changed(&self) -> Option<RpcError> {
        lock(&self.round).changed.as_deref().cloned()
    }

    /// The name of the next use of a step's key.
    pub(crate) fn name_step(&self, key: &str) -> String {
        lock(&self.round).names.step(key)
    }

    /// What a step of an earlier round returned.
    pub(crate) fn step(&self, key: &str) -> Option<RawJson> {
        lock(&self.log).steps.get(key).cloned()
    }

    /// Stores what a step returned.
    pub(crate) fn keep_step(&self, key: String, value: RawJson) {
        lock(&self.log).steps.insert(key, value);
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

#[cfg(test)]
mod tests {
    use std::{sync::Arc, task::Wake};

    use couplet_types::{ListRoots, ListRootsParams};

    use crate::server::replay::*;
    use crate::wire::project::Ask;

    struct Task;

    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn a_question_that_is_polled_often_has_one_waker() {
        let replay = Replay::new(Vec::new(), None);
        let request = InputRequest::new::<ListRoots>(&ListRootsParams::new()).unwrap();
        let mut asking = Box::pin(replay.ask("roots", Asked::new(&Ask::Roots), request));
        let waker = Waker::from(Arc::new(Task));
        for _ in 0..1_000 {
            assert!(asking.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert_eq!(lock(&replay.round).waiting.len(), 1);
        assert_eq!(replay.end_round().len(), 1);
        assert!(asking.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    }
}
