//! Requests and log messages that a server with a session sends on its own, and the call that they belong to.
//!
//! Such a request does not name a call. On a connection of one downstream session every call leads to the same client.
//! On any other connection a request is passed on only while one call runs there; until then it is held back.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use couplet_core::JsonText;
use couplet_types::{
    ClientCapabilities, ElicitationCapability, InputRequest, ListRoots, LogParams, RawJson, Request, RootsCapability,
    RpcError, SamplingCapability,
};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::timeout,
};

use crate::session::Session;

/// What a call receives beside its own events.
pub(crate) enum Aside {
    Question(Question),
    Log(LogParams),
}

/// A request of the server for the client of a call.
pub(crate) struct Question {
    pub(crate) request: InputRequest,
    pub(crate) answer: oneshot::Sender<Result<JsonText, RpcError>>,
}

/// The calls that run on one connection.
pub(crate) struct Asking {
    state: Mutex<State>,
    changed: Notify,
    /// Whether the server has ever asked anything, on any connection.
    asks: Arc<AtomicBool>,
    patience: Duration,
}

#[derive(Default)]
struct State {
    calls: Vec<(u64, mpsc::Sender<Aside>)>,
    last: u64,
    /// How many requests are held back.
    held: usize,
    session: Option<Session>,
    /// Whether a call was given up before its answer: the server may still send requests that belong to it.
    given_up: bool,
    muted: bool,
}

impl State {
    /// Whether a request could belong to a call of another caller that was given up.
    fn is_muted(&self) -> bool {
        self.muted || (self.given_up && self.session.is_none())
    }
}

/// The receiver of a request.
enum Addressee {
    Call(mpsc::Sender<Aside>),
    Session(Session),
    Missing,
}

impl Asking {
    /// How many log messages may wait for a call to pass them on.
    const ROOM: usize = 256;

    /// For how long a request is held back at most.
    const HOLD: Duration = Duration::from_secs(60);

    /// How many calls of a session may end before one of them has answered.
    const TRIES: usize = 8;

    pub(crate) fn new(asks: Arc<AtomicBool>, patience: Duration) -> Self {
        Self { state: Mutex::default(), changed: Notify::new(), asks, patience }
    }

    /// Everything that can be asked. Whether the caller can answer is seen when it is asked.
    pub(crate) fn capabilities() -> ClientCapabilities {
        let mut elicitation = ElicitationCapability::new();
        elicitation.form = Some(RawJson::empty_object());
        elicitation.url = Some(RawJson::empty_object());
        let mut sampling = SamplingCapability::new();
        sampling.tools = Some(RawJson::empty_object());
        let roots = RootsCapability::new().list_changed(true);
        ClientCapabilities::new().elicitation(elicitation).sampling(sampling).roots(roots)
    }

    /// From now on the connection belongs to this session, or to none. No request is passed on any more if calls of
    /// the owner before were given up.
    pub(crate) fn belong_to(&self, session: Option<Session>) {
        let mut state = self.lock();
        state.muted |= state.given_up;
        state.session = session;
    }

    /// The session that the connection belongs to.
    pub(crate) fn session(&self) -> Option<Session> {
        self.lock().session.clone()
    }

    /// Whether no request is passed on, because it could belong to another caller's call that was given up.
    pub(crate) fn is_muted(&self) -> bool {
        self.lock().is_muted()
    }

    /// Whether a request waits for all calls but one to end.
    pub(crate) fn is_holding(&self) -> bool {
        self.lock().held > 0
    }

    /// A call that receives what the server sends on its own.
    pub(crate) fn listen(self: &Arc<Self>) -> Listening {
        let (sender, asides) = mpsc::channel(Self::ROOM);
        let mut state = self.lock();
        state.last += 1;
        let id = state.last;
        state.calls.push((id, sender));
        Listening { asides, answered: false, asking: self.clone(), id }
    }

    /// Lets the caller answer that a request of the server belongs to.
    pub(crate) async fn pass_on(&self, request: InputRequest) -> Result<JsonText, RpcError> {
        if !self.lock().calls.is_empty() {
            self.asks.store(true, Ordering::Release);
        }
        let late = || Err(RpcError::internal("the client behind the proxy did not answer in time"));
        timeout(self.patience, self.answer(&request)).await.unwrap_or_else(|_| late())
    }

    async fn answer(&self, request: &InputRequest) -> Result<JsonText, RpcError> {
        for _ in 0..Self::TRIES {
            match self.addressee().await? {
                Addressee::Call(call) => {
                    let (answer, answered) = oneshot::channel();
                    let question = Question { request: request.clone(), answer };
                    if call.send(Aside::Question(question)).await.is_ok()
                        && let Ok(said) = answered.await
                    {
                        return said;
                    }
                    // That call is over. Where there is a session, another call of it can answer, or the session itself.
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
        Err(RpcError::internal("no call is running behind the proxy whose caller could answer"))
    }

    async fn addressee(&self) -> Result<Addressee, RpcError> {
        let mut held: Option<Held<'_>> = None;
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.lock();
                if state.is_muted() {
                    return Err(unknown());
                }
                match (&*state.calls, &state.session) {
                    ([], Some(session)) => return Ok(Addressee::Session(session.clone())),
                    ([], None) => return Ok(Addressee::Missing),
                    ([.., (_, latest)], Some(_)) | ([(_, latest)], None) => return Ok(Addressee::Call(latest.clone())),
                    // Every call that runs waits for an answer, so none of them will end.
                    (calls, None) if state.held + usize::from(held.is_none()) >= calls.len() => return Err(unknown()),
                    _ => {}
                }
                if held.is_none() {
                    state.held += 1;
                    drop(state);
                    held = Some(Held(self));
                }
            }
            timeout(Self::HOLD, changed).await.map_err(|_| unknown())?;
        }
    }

    /// Passes a log message on to the call that it belongs to.
    pub(crate) fn log(&self, line: LogParams) {
        let state = self.lock();
        match (&*state.calls, &state.session) {
            // Of too many, the last ones are lost.
            ([.., (_, latest)], Some(_)) | ([(_, latest)], None) => drop(latest.try_send(Aside::Log(line))),
            _ => tracing::debug!("a log message belongs to no call, or to one of several, and is not passed on"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown() -> RpcError {
    RpcError::internal("several calls are running behind the proxy, and the request names none of them; try again")
}

fn no_roots() -> Result<JsonText, RpcError> {
    JsonText::new(r#"{"roots":[]}"#).map_err(|e| RpcError::internal(e.to_string()))
}

/// A request that is held back, until it is dropped.
struct Held<'a>(&'a Asking);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.lock().held -= 1;
    }
}

/// A call that listens, until it is dropped.
pub(crate) struct Listening {
    pub(crate) asides: mpsc::Receiver<Aside>,
    /// Whether the server has answered the call.
    pub(crate) answered: bool,
    asking: Arc<Asking>,
    id: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut state = self.asking.lock();
        state.calls.retain(|(id, _)| *id != self.id);
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
        Arc::new(Asking::new(Arc::default(), Duration::from_secs(600)))
    }

    fn form() -> InputRequest {
        InputRequest::new::<Elicit>(&ElicitParams::visit("look", "https://example.com/")).unwrap()
    }

    fn question(listening: &mut Listening) -> Option<Question> {
        match listening.asides.try_recv().ok()? {
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
        let (mut ann, mut bob) = (asking.listen(), asking.listen());
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
        let Some(Aside::Question(question)) = bob.asides.recv().await else { panic!("bob's call asks") };
        question.answer.send(Ok(JsonText::new("{}").unwrap())).unwrap();
        assert!(asked.await.unwrap().is_ok());
    }

    /// A call that was given up may have been the one that asks.
    #[tokio::test(start_paused = true)]
    async fn attack_10_a_question_of_a_cancelled_call_reaches_no_other_caller() {
        let asking = asking();
        let (ann, mut bob) = (asking.listen(), asking.listen());
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
        let (_ann, _bob) = (asking.listen(), asking.listen());
        let mut asked = tokio::task::JoinSet::new();
        for _ in 0..2 {
            let asking = asking.clone();
            asked.spawn(async move { asking.pass_on(form()).await });
        }
        assert!(asked.join_next().await.unwrap().unwrap().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_does_not_come_is_not_waited_for() {
        let asking = asking();
        let mut ann = asking.listen();
        let asked = asking.pass_on(form());
        let (said, _question) = tokio::join!(asked, async { ann.asides.recv().await });
        assert!(said.unwrap_err().message.contains("in time"));
    }
}
