//! Asking the client while a call runs: one way to write it for both eras.
//!
//! Where there is a session, a question is a request to the client and the handler waits for the answer. Where there
//! is none, the handler is *dropped* at an unanswered question; the reply carries the questions and a sealed log of
//! all that was answered and computed so far; and when the client asks again with the answers, the handler runs from
//! the top, with everything in the log resolving at once. Nothing is parked between the rounds.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use couplet_types::{CreateMessage, Elicit, InputRequest, ListRoots, RawJson, Request, RpcError};
use pin_project_lite::pin_project;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    back::Back,
    json::JsonText,
    replay::{Described, Replay},
    running::BoxFuture,
    seal::{Sealer, fingerprint},
    service::{Call, Peer, Reply},
    wire::{project::Ask, revision::Shape},
};

/// A way to send the client a request of its own.
pub trait Backchannel: Send + Sync {
    /// Sends a request and waits for the answer.
    fn request(&self, ask: InputRequest) -> BoxFuture<'static, Result<JsonText, RpcError>>;
}

/// What a running call uses to ask. Clones are the same.
#[derive(Clone)]
pub struct Inputs(Arc<Inner>);

struct Inner {
    kind: Kind,
    /// Where questions go from some moment on, whatever the kind.
    turned: OnceLock<Box<dyn Backchannel>>,
    /// How many questions wait for an answer.
    waiting: AtomicUsize,
}

enum Kind {
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
        Self::new(Kind::Live(Box::new(back)))
    }

    pub(crate) fn session(back: Back) -> Self {
        Self::new(Kind::Session(back))
    }

    pub(crate) fn closed() -> Self {
        Self::new(Kind::Closed)
    }

    pub(crate) fn replay(replay: Replay) -> Self {
        Self::new(Kind::Replay(replay))
    }

    fn new(kind: Kind) -> Self {
        Self(Arc::new(Inner { kind, turned: OnceLock::new(), waiting: AtomicUsize::new(0) }))
    }

    /// From now on questions go somewhere else, at once: for a call that goes on after its answer. Once only.
    pub fn turn(&self, back: impl Backchannel + 'static) {
        let _ = self.0.turned.set(Box::new(back));
    }

    /// The same way, for as long as there is a session: for what is asked when the call is over.
    #[must_use]
    pub fn lasting(&self) -> Self {
        match &self.0.kind {
            Kind::Session(back) => Self::session(back.lasting()),
            _ => self.clone(),
        }
    }

    /// Sends the client of a session a request as it is, and returns its answer; `None` if the client is gone, so that
    /// another one can be asked.
    pub async fn request(&self, request: InputRequest) -> Option<Result<JsonText, RpcError>> {
        let _waiting = Waiting::new(&self.0.waiting);
        match &self.0.kind {
            Kind::Session(back) => back.ask(&request).await,
            Kind::Live(back) => Some(back.request(request).await),
            Kind::Replay(_) | Kind::Closed => None,
        }
    }

    /// Whether the call waits for an answer of the client: that time is not the handler's.
    pub fn are_awaited(&self) -> bool {
        self.0.waiting.load(Ordering::Acquire) > 0
    }

    /// Asks the client. The key names the question among those of the call; two questions need two keys.
    ///
    /// # Errors
    /// When the client lacks the capability, answers with an error, or is gone.
    pub async fn ask(&self, shape: Shape, peer: &Peer, key: &str, ask: Ask) -> Result<JsonText, RpcError> {
        let request = ask.render(shape, &peer.capabilities)?;
        let _waiting = Waiting::new(&self.0.waiting);
        if let Some(back) = self.0.turned.get() {
            return back.request(request).await;
        }
        match &self.0.kind {
            Kind::Session(back) => back.request(request).await,
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
        let Kind::Replay(replay) = &self.0.kind else { return Ok(work().await) };
        let unreadable = |e: serde_json::Error| RpcError::internal(format!("step `{key}`: {e}"));
        if let Some(known) = replay.step(key) {
            return known.parse().map_err(unreadable);
        }
        let value = work().await;
        replay.keep_step(key, RawJson::new(&value).map_err(unreadable)?);
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
        let Kind::Replay(_) = &call.inputs.0.kind else {
            return Driven { handler: Some(handler(call)), round: None, refused: None };
        };
        let about = Described::new(&call);
        let round = Round { inputs: call.inputs.clone(), about, sealer: sealer.clone(), now };
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
        round: Option<Round<N>>,
        refused: Option<RpcError>,
    }
}

/// One round in the stateless era.
struct Round<N> {
    inputs: Inputs,
    about: Described,
    sealer: Sealer,
    now: N,
}

impl<N: Fn() -> u64> Round<N> {
    fn replay(&self) -> Option<&Replay> {
        match &self.inputs.0.kind {
            Kind::Replay(replay) => Some(replay),
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
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0.kind {
            Kind::Session(_) | Kind::Live(_) => "Inputs::Live",
            Kind::Replay(_) => "Inputs::Replay",
            Kind::Closed => "Inputs::Closed",
        })
    }
}
