//! Requests and log messages of a server with sessions, and their assignment to calls.
//!
//! Such a request does not name a call. On a connection of one downstream session every call leads to the same client.
//! On any other connection a request is forwarded only while exactly one call runs there; until then it is held back.

use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use couplet_core::{JsonText, sync::lock};
use couplet_types::{InputRequest, ListRoots, LogParams, Request, RpcError};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, timeout, timeout_at},
};

use crate::{
    asides::{self, Receiver, Sender},
    session::Session,
    tasks::Tasks,
};

/// A message for a call besides its own events.
pub(crate) enum Aside {
    Question(Question),
    Log(LogParams),
}

/// A request of the server to the client of a call.
pub(crate) struct Question {
    pub(crate) request: InputRequest,
    pub(crate) answer: oneshot::Sender<Result<JsonText, RpcError>>,
}

/// The calls that run on one connection.
pub(crate) struct Asking {
    state: Mutex<State>,
    changed: Notify,
    /// Whether the server has ever sent a request, on any connection.
    asks: Arc<AtomicBool>,
    tasks: Arc<Tasks>,
    timeout: Duration,
}

#[derive(Default)]
struct State {
    calls: Vec<(u64, Sender)>,
    /// The calls among them that may be the first to receive a request; the tools of the others never have.
    suspects: usize,
    last: u64,
    /// The number of requests that are held back.
    held: usize,
    session: Option<Session>,
    /// Whether a call was abandoned before its response: the server may still send requests that belong to it.
    given_up: bool,
    muted: bool,
}

impl State {
    /// Whether a request could belong to an abandoned call of another caller.
    fn is_muted(&self) -> bool {
        self.muted || (self.given_up && self.session.is_none())
    }

    /// Whether every running call may wait for an answer, so that none of them will end. Several requests may be those of
    /// one call, though; if only one may receive any, they are.
    fn may_be_stuck(&self) -> bool {
        self.held >= self.calls.len() && self.suspects != 1
    }
}

/// The receiver of a request.
enum Addressee {
    Call(Sender),
    Session(Session),
    Missing,
}

impl Asking {
    /// The maximum time for which a request is held back.
    const HOLD: Duration = Duration::from_secs(60);

    /// The maximum time if every running call may wait for an answer.
    const STUCK: Duration = Duration::from_secs(2);

    /// The number of calls of a session that may end before one of them has answered.
    const TRIES: usize = 8;

    pub(crate) fn new(asks: Arc<AtomicBool>, tasks: Arc<Tasks>, timeout: Duration) -> Self {
        Self { state: Mutex::default(), changed: Notify::new(), asks, tasks, timeout }
    }

    /// Assigns the connection to a session, or to none. If calls of the previous owner were abandoned, no request is
    /// forwarded any more.
    pub(crate) fn belong_to(&self, session: Option<Session>) {
        let mut state = self.lock();
        state.muted |= state.given_up;
        state.session = session;
    }

    /// The session that owns the connection.
    pub(crate) fn session(&self) -> Option<Session> {
        self.lock().session.clone()
    }

    /// Whether requests are rejected, because they could belong to an abandoned call of another caller.
    pub(crate) fn is_muted(&self) -> bool {
        self.lock().is_muted()
    }

    /// Whether a request is held back until a single call is left.
    pub(crate) fn is_holding(&self) -> bool {
        self.lock().held > 0
    }

    /// Registers a call for messages of the server. A suspect may be the first call that receives a request.
    pub(crate) fn listen(self: &Arc<Self>, is_suspect: bool) -> Listening {
        let (sender, asides) = asides::queue();
        let mut state = self.lock();
        state.last += 1;
        let id = state.last;
        state.calls.push((id, sender));
        state.suspects += usize::from(is_suspect);
        Listening { asides, answered: false, is_suspect, asking: self.clone(), id }
    }

    /// Forwards a request of the server to the caller that it belongs to.
    pub(crate) async fn pass_on(&self, request: InputRequest) -> Result<JsonText, RpcError> {
        if let Some(answer) = self.tasks.ask(&request, self.timeout).await {
            return answer;
        }
        if !self.lock().calls.is_empty() {
            self.asks.store(true, Ordering::Release);
        }
        let late = || Err(RpcError::internal("the client behind the proxy did not answer in time"));
        timeout(self.timeout, self.answer(&request)).await.unwrap_or_else(|_| late())
    }

    async fn answer(&self, request: &InputRequest) -> Result<JsonText, RpcError> {
        for _ in 0..Self::TRIES {
            match self.addressee().await? {
                Addressee::Call(call) => {
                    let (answer, answered) = oneshot::channel();
                    let question = Question { request: request.clone(), answer };
                    if call.send(Aside::Question(question))
                        && let Ok(said) = answered.await
                    {
                        return said;
                    }
                    // That call has ended. With a session, another call of it can answer, or the session itself.
                    if self.lock().session.is_none() {
                        break;
                    }
                }
                Addressee::Session(session) => match session.ask(request).await {
                    Err(_) if request.method == ListRoots::METHOD => return no_roots(),
                    said => return said,
                },
                Addressee::Missing if request.method == ListRoots::METHOD => return no_roots(),
                Addressee::Missing => break,
            }
        }
        Err(RpcError::internal("no running call belongs to this request, so there is no client to answer it"))
    }

    async fn addressee(&self) -> Result<Addressee, RpcError> {
        let mut held: Option<Held<'_>> = None;
        let mut stuck = None;
        loop {
            let changed = self.changed.notified();
            let until = {
                let mut state = self.lock();
                if state.is_muted() {
                    return Err(RpcError::internal(
                        "a call on this connection was cancelled, and the request cannot be assigned, because it may \
                         belong to that call; retry later",
                    ));
                }
                match (&*state.calls, &state.session) {
                    ([], Some(session)) => return Ok(Addressee::Session(session.clone())),
                    ([], None) => return Ok(Addressee::Missing),
                    ([.., (_, latest)], Some(_)) | ([(_, latest)], None) => return Ok(Addressee::Call(latest.clone())),
                    _ => {}
                }
                let now = Instant::now();
                state.held += usize::from(held.is_none());
                stuck = if state.may_be_stuck() { stuck.or(Some(now + Self::STUCK)) } else { None };
                drop(state);
                held.get_or_insert_with(|| Held(self));
                stuck.unwrap_or(now + Self::HOLD)
            };
            timeout_at(until, changed).await.map_err(|_| unknown())?;
        }
    }

    /// Forwards a log message to the call that it belongs to.
    pub(crate) fn log(&self, line: LogParams) {
        let state = self.lock();
        match (&*state.calls, &state.session) {
            // At capacity, the latest messages are dropped.
            ([.., (_, latest)], Some(_)) | ([(_, latest)], None) => drop(latest.send(Aside::Log(line))),
            _ => tracing::debug!("dropped a log message that cannot be assigned to a call"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn unknown() -> RpcError {
    RpcError::internal(
        "several calls are running behind the proxy, and the request cannot be assigned to one of them; retry later",
    )
}

fn no_roots() -> Result<JsonText, RpcError> {
    JsonText::new(r#"{"roots":[]}"#).map_err(|e| RpcError::internal(e.to_string()))
}

/// Marks a request as held back, until it is dropped.
struct Held<'a>(&'a Asking);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.lock().held -= 1;
    }
}

/// A registered call, until it is dropped.
pub(crate) struct Listening {
    pub(crate) asides: Receiver,
    /// Whether the server has responded to the call.
    pub(crate) answered: bool,
    is_suspect: bool,
    asking: Arc<Asking>,
    id: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut state = self.asking.lock();
        state.calls.retain(|(id, _)| *id != self.id);
        state.suspects -= usize::from(self.is_suspect);
        state.given_up |= !self.answered;
        drop(state);
        self.asking.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use couplet_types::{Elicit, ElicitParams, ListRootsParams};

    use super::*;

    fn asking() -> Arc<Asking> {
        Arc::new(Asking::new(Arc::default(), Arc::default(), Duration::from_secs(600)))
    }

    fn form() -> InputRequest {
        InputRequest::new::<Elicit>(&ElicitParams::visit("look", "https://example.com/")).unwrap()
    }

    fn question(listening: &mut Listening) -> Option<Question> {
        match listening.asides.try_recv()? {
            Aside::Question(question) => Some(question),
            Aside::Log(_) => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn attack_10_roots_are_answered_outside_of_calls() {
        let asking = asking();
        let roots = InputRequest::new::<ListRoots>(&ListRootsParams::new()).unwrap();
        assert_eq!(asking.pass_on(roots).await.unwrap().as_str(), r#"{"roots":[]}"#);
        assert!(asking.pass_on(form()).await.is_err());
        assert!(!asking.asks.load(Ordering::Acquire), "nothing was asked about a call");
    }

    /// While two callers have a call, a question is neither's; it is passed on when one call is left.
    #[tokio::test(start_paused = true)]
    async fn attack_10_a_question_waits_until_its_call_is_known() {
        let asking = asking();
        let (mut ann, mut bob) = (asking.listen(true), asking.listen(true));
        let asked = tokio::spawn({
            let asking = asking.clone();
            async move { asking.pass_on(form()).await }
        });
        while !asking.is_holding() {
            tokio::task::yield_now().await;
        }
        assert!(question(&mut ann).is_none() && question(&mut bob).is_none());
        ann.answered = true;
        drop(ann);
        let Aside::Question(question) = bob.asides.recv().await else { panic!("bob's call asks") };
        question.answer.send(Ok(JsonText::new("{}").unwrap())).unwrap();
        assert!(asked.await.unwrap().is_ok());
    }

    /// A call that was given up may have been the one that asks.
    #[tokio::test(start_paused = true)]
    async fn attack_10_a_question_of_a_cancelled_call_reaches_no_other_caller() {
        let asking = asking();
        let (ann, mut bob) = (asking.listen(true), asking.listen(true));
        let asked = tokio::spawn({
            let asking = asking.clone();
            async move { asking.pass_on(form()).await }
        });
        while !asking.is_holding() {
            tokio::task::yield_now().await;
        }
        drop(ann);
        assert!(asked.await.unwrap().is_err());
        assert!(asking.pass_on(form()).await.is_err(), "nor does one that comes later");
        assert!(question(&mut bob).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn of_calls_that_all_ask_one_is_refused() {
        let asking = asking();
        let (_ann, _bob) = (asking.listen(true), asking.listen(true));
        let mut asked = tokio::task::JoinSet::new();
        for _ in 0..2 {
            let asking = asking.clone();
            asked.spawn(async move { asking.pass_on(form()).await });
        }
        assert!(asked.join_next().await.unwrap().unwrap().is_err());
    }

    /// If only one of the calls may receive requests, all are its own: they wait until the other call has ended.
    #[tokio::test(start_paused = true)]
    async fn several_questions_of_one_call_wait_for_the_other_calls() {
        let asking = asking();
        let (mut ann, mut bob) = (asking.listen(false), asking.listen(true));
        let mut asked = tokio::task::JoinSet::new();
        for _ in 0..3 {
            let asking = asking.clone();
            asked.spawn(async move { asking.pass_on(form()).await });
        }
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert!(question(&mut ann).is_none() && question(&mut bob).is_none());
        ann.answered = true;
        drop(ann);
        for _ in 0..3 {
            let Aside::Question(question) = bob.asides.recv().await else { panic!("bob's call asks") };
            question.answer.send(Ok(JsonText::new("{}").unwrap())).unwrap();
        }
        assert!(asked.join_all().await.iter().all(Result::is_ok));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_does_not_come_is_not_waited_for() {
        let asking = asking();
        let mut ann = asking.listen(true);
        let asked = asking.pass_on(form());
        let (said, _question) = tokio::join!(asked, async { ann.asides.recv().await });
        assert!(said.unwrap_err().message.contains("in time"));
    }
}
