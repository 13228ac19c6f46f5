//! Asking the client while a call runs: one way to write it for both eras.
//!
//! Where there is a session, a question is a request to the client and the handler waits for the answer. Where there
//! is none, the handler is *dropped* at an unanswered question; the reply carries the questions and a sealed log of
//! all that was answered and computed so far; and when the client retries with the answers, the handler runs from
//! the top, with everything in the log resolving without the client. Nothing is parked between the rounds.
//!
//! A key that is used again in one run is the next question, or step, of that name, in the order of use. So a handler
//! cannot replay more answers than the log has: a loop over a question ends with a question. And each replayed answer
//! gives way to whatever else is ready, so timeouts, cancellation and other calls go on meanwhile.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use couplet_types::{ClientCapabilities, CreateMessage, Elicit, InputRequest, ListRoots, RawJson, Request, RpcError};
use pin_project_lite::pin_project;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    message::scan::JsonText,
    server::{
        backchannel::Back,
        question::{Asked, Names},
        replay::{Described, Replay},
        running::BoxFuture,
        seal::Sealer,
    },
    service::{Call, Peer, Reply},
    sync::lock,
    wire::{project::Ask, revision::Revision},
};

/// A way to send the client a request of its own.
pub trait Backchannel: Send + Sync {
    /// Sends a request and waits for the answer.
    fn request(&self, ask: InputRequest) -> BoxFuture<'static, Result<JsonText, RpcError>>;

    /// Returns the journal of the call's [steps](Inputs::step), if the call may run again with their values; the default
    /// has none.
    fn journal(&self) -> Option<&dyn Journal> {
        None
    }
}

/// Persistence for the steps of a call that may run again, in another process if necessary.
pub trait Journal: Send + Sync {
    /// Returns the value of a step that an earlier run completed.
    fn find(&self, name: &str) -> Option<RawJson>;

    /// Stores the value of a completed step. The call continues when it is stored.
    fn record(&self, name: String, value: RawJson) -> BoxFuture<'_, Result<(), RpcError>>;
}

/// What a running call uses to ask. Clones are the same.
#[derive(Clone)]
pub struct Inputs(Arc<InputsInner>);

struct InputsInner {
    kind: InputKind,
    /// Where questions go from some moment on, whatever the kind.
    turned: OnceLock<Box<dyn Backchannel>>,
    /// How many questions wait for an answer.
    waiting: AtomicUsize,
    /// Whether there was a question or a step.
    used: AtomicBool,
    /// The errors for questions that the client cannot be asked, each once.
    refused: OnceLock<Box<Mutex<Vec<RpcError>>>>,
    /// The steps of this run that have a journal.
    steps: Mutex<Names>,
}

enum InputKind {
    /// Ask now, on the session.
    Session(Back),
    /// Ask now, in some other way.
    Live(Box<dyn Backchannel>),
    /// Answer from the log, or end this round.
    Replay(Replay),
    /// This request cannot ask anything.
    Closed,
}

impl Inputs {
    /// Questions go to the client at once.
    pub fn live(back: impl Backchannel + 'static) -> Self {
        Self::new(InputKind::Live(Box::new(back)))
    }

    /// Questions end the run, but those that were answered in earlier runs: for a service that runs another one in
    /// rounds. `answers` are those to the questions of the run before, and `state` is what that run gave in its
    /// [`Reply::InputRequired`].
    pub fn rounds(answers: Vec<(String, JsonText)>, state: Option<String>) -> Self {
        Self::replay(Replay::new(answers, state))
    }

    pub(crate) fn session(back: Back) -> Self {
        Self::new(InputKind::Session(back))
    }

    pub(crate) fn closed() -> Self {
        Self::new(InputKind::Closed)
    }

    pub(crate) fn replay(replay: Replay) -> Self {
        Self::new(InputKind::Replay(replay))
    }

    fn new(kind: InputKind) -> Self {
        let (turned, waiting, refused) = (OnceLock::new(), AtomicUsize::new(0), OnceLock::new());
        let used = AtomicBool::new(false);
        Self(Arc::new(InputsInner { kind, turned, waiting, used, refused, steps: Mutex::default() }))
    }

    /// From now on questions go somewhere else, at once: for a call that goes on after its answer. Once only.
    pub fn turn(&self, back: impl Backchannel + 'static) {
        let _ = self.0.turned.set(Box::new(back));
    }

    /// The same way, for as long as there is a session: for what is asked when the call is over.
    #[must_use]
    pub fn lasting(&self) -> Self {
        match &self.0.kind {
            InputKind::Session(back) => Self::session(back.lasting()),
            _ => self.clone(),
        }
    }

    /// The same way, with each request of a session changed before it is sent, such as the names in it: for a service that
    /// runs another one under other names. Requests of the stateless era are in replies and do not come this way.
    #[must_use]
    pub fn edited(&self, edit: impl Fn(InputRequest) -> InputRequest + Send + Sync + 'static) -> Self {
        match &self.0.kind {
            InputKind::Session(back) => Self::session(back.edited(edit)),
            _ => self.clone(),
        }
    }

    /// Sends the client of a session a request as it is, and returns its answer; `None` if the client is gone, so that
    /// another one can be asked.
    pub async fn request(&self, request: InputRequest) -> Option<Result<JsonText, RpcError>> {
        self.0.used.store(true, Ordering::Relaxed);
        let _waiting = WaitGuard::new(&self.0.waiting);
        match &self.0.kind {
            InputKind::Session(back) => back.ask(&request).await,
            InputKind::Live(back) => Some(back.request(request).await),
            InputKind::Replay(_) | InputKind::Closed => None,
        }
    }

    /// Whether the call waits for an answer of the client: that time is not the handler's.
    pub fn are_awaited(&self) -> bool {
        self.0.waiting.load(Ordering::Acquire) > 0
    }

    /// Returns whether the handler asked the client, or had a [step](Inputs::step), in this round: its result depends on
    /// more than its parameters, and it must not run again by itself.
    pub fn are_used(&self) -> bool {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Whether the handler waits only because a replayed answer lets others go first: it goes on when it is polled again,
    /// and has woken the task that polls it.
    pub fn is_yielding(&self) -> bool {
        matches!(&self.0.kind, InputKind::Replay(replay) if replay.is_yielding())
    }

    /// Whether this request can ask at all. What can be asked depends on the client, too.
    pub fn are_open(&self) -> bool {
        !matches!(self.0.kind, InputKind::Closed)
    }

    /// Whether an error came from [`ask`](Inputs::ask) because the client lacks a capability.
    pub fn is_refusal(&self, error: &RpcError) -> bool {
        self.0.refused.get().is_some_and(|refused| lock(refused).contains(error))
    }

    /// The error that ended this run because a question was another one in an earlier round.
    pub fn changed(&self) -> Option<RpcError> {
        match &self.0.kind {
            InputKind::Replay(replay) => replay.changed(),
            _ => None,
        }
    }

    /// Asks the client. The key names the question among those of the call. Used again, it names the next question of
    /// that name, in the order in which the futures are polled first.
    ///
    /// Where the call runs in rounds, the key and the text must be the same in every round. A text that changes ends the
    /// call with an error that names both.
    ///
    /// # Errors
    /// When the client lacks the capability, answers with an error, or is gone.
    pub async fn ask(&self, revision: Revision, peer: &Peer, key: &str, ask: Ask) -> Result<JsonText, RpcError> {
        self.0.used.store(true, Ordering::Relaxed);
        let live = self.0.turned.get();
        let asked = match (&self.0.kind, live) {
            (InputKind::Replay(replay), None) => Some((replay, Asked::new(&ask))),
            _ => None,
        };
        let request = self.render(revision, &peer.capabilities, ask)?;
        if let Some((replay, asked)) = asked {
            return replay.ask(key, asked, request).await;
        }
        let _waiting = WaitGuard::new(&self.0.waiting);
        match (&self.0.kind, live) {
            (_, Some(back)) | (InputKind::Live(back), None) => back.request(request).await,
            (InputKind::Session(back), None) => back.request(request).await,
            (InputKind::Closed | InputKind::Replay(_), None) => {
                Err(RpcError::internal("only tools, resources and prompts can ask the client"))
            }
        }
    }

    /// The question as the client can be asked, or a refusal, which is noted.
    fn render(&self, revision: Revision, can: &ClientCapabilities, ask: Ask) -> Result<InputRequest, RpcError> {
        ask.render(revision, can).inspect_err(|error| {
            if !revision.is_missing_capability(error) {
                return;
            }
            let mut refused = lock(self.0.refused.get_or_init(Box::default));
            if !refused.contains(error) {
                refused.push(error.clone());
            }
        })
    }

    /// Runs `work` once per call, however often the handler runs: what it returned is stored and returned again. A key
    /// that is used again in one run names the next step of that name.
    ///
    /// # Errors
    /// When the value cannot be written as JSON, or not be read back.
    pub async fn step<T, F, Fut>(&self, key: &str, work: F) -> Result<T, RpcError>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        self.0.used.store(true, Ordering::Relaxed);
        let unreadable = |e: serde_json::Error| RpcError::internal(format!("step `{key}`: {e}"));
        let replay = match &self.0.kind {
            InputKind::Replay(replay) => replay,
            InputKind::Live(back) => {
                let Some(journal) = back.journal() else { return Ok(work().await) };
                let name = lock(&self.0.steps).step(key);
                if let Some(known) = journal.find(&name) {
                    return known.parse().map_err(unreadable);
                }
                let value = work().await;
                journal.record(name, RawJson::new(&value).map_err(unreadable)?).await?;
                return Ok(value);
            }
            InputKind::Session(_) | InputKind::Closed => return Ok(work().await),
        };
        let name = replay.name_step(key);
        if let Some(known) = replay.step(&name) {
            replay.yield_now().await;
            return known.parse().map_err(unreadable);
        }
        let value = work().await;
        replay.keep_step(name, RawJson::new(&value).map_err(unreadable)?);
        Ok(value)
    }

    /// Runs a call's handler to its end, or to the first question that has no answer yet.
    ///
    /// `now` is the time in seconds since 1970, for the expiry of what is sealed.
    pub fn drive<F, Fut, N>(call: Call, sealer: &Sealer, now: N, handler: F) -> Driven<Fut, N>
    where
        F: FnOnce(Call) -> Fut,
        Fut: Future<Output = Reply>,
        N: Fn() -> u64,
    {
        let InputKind::Replay(_) = &call.inputs.0.kind else {
            return Driven { handler: Some(handler(call)), round: None, refused: None };
        };
        let about = Described::new(&call);
        let round = ActiveRound { inputs: call.inputs.clone(), about, sealer: sealer.clone(), now };
        match round.begin() {
            Ok(()) => Driven { handler: Some(handler(call)), round: Some(round), refused: None },
            Err(error) => Driven { handler: None, round: None, refused: Some(error) },
        }
    }
}

pin_project! {
    /// A handler on its way; made by [`Inputs::drive`].
    #[must_use = "it does nothing until it is polled"]
    pub struct Driven<Fut, N> {
        #[pin]
        handler: Option<Fut>,
        round: Option<ActiveRound<N>>,
        refused: Option<RpcError>,
    }
}

/// One round in the stateless era.
struct ActiveRound<N> {
    inputs: Inputs,
    about: Described,
    sealer: Sealer,
    now: N,
}

impl<N: Fn() -> u64> ActiveRound<N> {
    fn replay(&self) -> Option<&Replay> {
        match &self.inputs.0.kind {
            InputKind::Replay(replay) => Some(replay),
            _ => None,
        }
    }

    /// Takes up the log where the last round left it.
    fn begin(&self) -> Result<(), RpcError> {
        let Some(replay) = self.replay() else { return Ok(()) };
        let log = match replay.state() {
            Some(state) => self.sealer.open(&self.about.subject(), (self.now)(), state)?,
            None => Default::default(),
        };
        replay.resume(log);
        Ok(())
    }

    /// The reply of a round that ends with questions.
    fn questions(&self, replay: &Replay, asks: Vec<(String, InputRequest)>) -> Reply {
        match replay.seal(&self.sealer, &self.about.subject(), (self.now)()) {
            Ok(state) => Reply::InputRequired { asks, state: Some(state) },
            Err(error) => Reply::Error(error),
        }
    }
}

impl<Fut: Future<Output = Reply>, N: Fn() -> u64> Future for Driven<Fut, N> {
    type Output = Reply;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        let mut this = self.project();
        if let Some(error) = this.refused.take() {
            return Poll::Ready(Reply::Error(error));
        }
        let handler = this.handler.as_mut().as_pin_mut().expect("a future is not polled after its end");
        let round = this.round.as_ref().and_then(|round| Some((round, round.replay()?)));
        let Some((round, replay)) = round else { return handler.poll(cx) };
        let done = ready!(replay.poll_round(cx, handler));
        this.handler.set(None);
        let asks = replay.end_round();
        Poll::Ready(done.unwrap_or_else(|| round.questions(replay, asks)))
    }
}

impl<Fut, N> fmt::Debug for Driven<Fut, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driven").finish_non_exhaustive()
    }
}

impl Ask {
    /// A question that another server asked.
    ///
    /// # Errors
    /// -32601 for something that is not asked, -32602 when it cannot be read.
    pub fn of(request: &InputRequest) -> Result<Self, RpcError> {
        let unreadable = |e: serde_json::Error| RpcError::invalid_params(e.to_string());
        match &*request.method {
            Elicit::METHOD => Ok(Self::Elicit(Box::new(request.parse::<Elicit>().map_err(unreadable)?))),
            CreateMessage::METHOD => Ok(Self::Sample(Box::new(request.parse::<CreateMessage>().map_err(unreadable)?))),
            ListRoots::METHOD => Ok(Self::Roots),
            method => Err(RpcError::method_not_found(method)),
        }
    }
}

/// Counts a question while it waits.
struct WaitGuard<'a>(&'a AtomicUsize);

impl<'a> WaitGuard<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0.kind {
            InputKind::Session(_) | InputKind::Live(_) => "Inputs::Live",
            InputKind::Replay(_) => "Inputs::Replay",
            InputKind::Closed => "Inputs::Closed",
        })
    }
}
