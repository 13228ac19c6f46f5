//! One request of a client and everything that comes back for it.

use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt,
    future::{Future, poll_fn},
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker, ready},
};

use bytes::Bytes;
use couplet_types::{RequestId, RpcError};

use crate::{
    error::Error,
    message::{Malformed, Params, scan::JsonText, text::EncodedMessage},
    server::running::BoxFuture,
    sync::lock,
    wire,
};

/// The client's way to one server: one request out, a stream of events back.
///
/// A pipe has one implementation for all requests; over HTTP each request is a request of its own.
pub trait Channel: Send + Sync + 'static {
    /// An id that no other request on this channel has.
    fn next_id(&self) -> RequestId;

    /// Sends a request. Dropping the exchange before the answer cancels the request.
    fn open(&self, request: Outgoing) -> Exchange;

    /// Sends a notification.
    fn notify(&self, text: Bytes);

    /// From now on both sides speak as agreed.
    fn agree(&self, dialect: &crate::Dialect);

    /// Ends the channel: what was sent is still delivered, what waits fails.
    fn close(&self);

    /// Whether requests wait for a person, such as one who logs in: no deadline passes meanwhile. It is asked only when
    /// one would.
    fn is_held_up(&self) -> bool {
        false
    }

    /// What is known about why an answer may not come, such as a message that was lost. It is asked only when one is
    /// late.
    fn note(&self) -> Option<String> {
        None
    }

    /// How bytes travel, where that is known, in the words of OpenTelemetry: `pipe` or `tcp`.
    fn transport(&self) -> Option<&'static str> {
        None
    }
}

/// What a client does with what the server sends on its own.
pub trait Inbound: Send + Sync + 'static {
    /// Answers a request of the server.
    fn request(&self, method: &str, params: &Params) -> BoxFuture<'static, Result<JsonText, RpcError>>;

    /// Hears of a notification that belongs to no request.
    fn notification(&self, method: &str, params: Params);

    /// Hears of a notification that belongs to a request, before whoever waits for the request does.
    fn overhear(&self, method: &str, params: &Params) {
        let _ = (method, params);
    }

    /// Hears that the server can send nothing on its own any more, and why; or, with `None`, that it can again.
    fn silent(&self, why: Option<Error>) {
        let _ = why;
    }

    /// Hears of a message that could not be read.
    fn malformed(&self, malformed: &Malformed) {
        let _ = malformed;
    }
}

/// A request, ready to be sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outgoing {
    /// The id, from [`Channel::next_id`].
    pub id: RequestId,
    /// The method.
    pub method: &'static str,
    /// The parameters, complete.
    pub params: Bytes,
    /// The parameter that names what the request is about, if an extension has one.
    pub named_by: Option<&'static str>,
}

impl Outgoing {
    /// The message to send.
    pub fn message(&self) -> Bytes {
        wire::request(&self.id, self.method, &self.params)
    }

    /// The same, with the parameters as a piece of their own.
    pub(crate) fn into_text(self) -> EncodedMessage {
        let head = wire::open_request(&self.id, self.method);
        EncodedMessage::new(head, wire::one_line(self.params), Bytes::from_static(b"}"))
    }

    /// The revision that the request names itself, where every request stands alone.
    pub fn revision(&self) -> Option<String> {
        wire::modern::required(wire::modern::meta(&self.read()?)).ok().map(Cow::into_owned)
    }

    /// The name of what the request is about, for the methods that have one.
    pub fn name(&self) -> Option<String> {
        let key = wire::http::named_by(self.method).or(self.named_by)?;
        self.read()?.read_opt(key).ok().flatten()
    }

    /// One of the parameters.
    pub fn param(&self, key: &str) -> Option<JsonText> {
        self.read()?.get(key)
    }

    fn read(&self) -> Option<Params> {
        Params::from_text(JsonText::trusted(self.params.clone())).ok()
    }
}

/// Prints the answer to a request of the server.
pub fn encode_answer(id: &RequestId, answer: &Result<JsonText, RpcError>) -> Bytes {
    wire::plain_answer(id, answer)
}

/// What comes back for a request.
#[derive(Clone, Debug)]
pub enum Event {
    /// A notification that belongs to it.
    Notification {
        /// What happened.
        method: String,
        /// To what.
        params: Params,
    },
    /// The answer. Nothing follows it.
    Answer(Result<JsonText, RpcError>),
    /// The server ended a subscription without a result. Nothing follows it.
    Ended,
    /// The connection ended first. Nothing follows it.
    Failed(Error),
}

/// A request under way.
pub struct Exchange {
    mailbox: Mailbox,
    cancel: Option<Cancel>,
    rescue: Option<Rescue>,
}

/// What is done when the connection fails first.
type Rescue = Box<dyn FnOnce(Error) -> Result<Exchange, Error> + Send>;

/// How a request is taken back.
enum Cancel {
    Call(Box<dyn FnOnce() + Send>),
    Tell(Arc<dyn Cancelled>, i64),
}

/// Where requests that are not wanted any more are taken back, by their number.
pub(crate) trait Cancelled: Send + Sync {
    fn cancel(&self, number: i64);
}

impl Exchange {
    /// An exchange whose events arrive in a mailbox; `cancel` is called if it is dropped before the end.
    pub fn new(mailbox: Mailbox, cancel: impl FnOnce() + Send + 'static) -> Self {
        Self { mailbox, cancel: Some(Cancel::Call(Box::new(cancel))), rescue: None }
    }

    /// The same for many exchanges that are taken back in one place.
    pub(crate) fn numbered(mailbox: Mailbox, place: Arc<dyn Cancelled>, number: i64) -> Self {
        Self { mailbox, cancel: Some(Cancel::Tell(place, number)), rescue: None }
    }

    /// An exchange that failed before it began.
    pub fn failed(error: Error) -> Self {
        let mailbox = Mailbox::new();
        mailbox.put(Event::Failed(error));
        Self { mailbox, cancel: None, rescue: None }
    }

    /// Lets `rescue` decide what happens when the exchange [fails](Event::Failed): another exchange takes its place, or
    /// it fails with that error.
    #[must_use]
    pub fn rescued(mut self, rescue: impl FnOnce(Error) -> Result<Self, Error> + Send + 'static) -> Self {
        self.rescue = Some(Box::new(rescue));
        self
    }

    /// The next event.
    #[expect(clippy::should_implement_trait, reason = "it is waited for")]
    pub fn next(&mut self) -> impl Future<Output = Event> {
        poll_fn(|cx| self.poll_next(cx))
    }

    /// The next event, if it is there.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        loop {
            let event = ready!(self.mailbox.poll_take(cx.waker()));
            if matches!(event, Event::Notification { .. }) {
                return Poll::Ready(event);
            }
            self.cancel = None;
            match (event, self.rescue.take()) {
                (Event::Failed(error), Some(rescue)) => match rescue(error) {
                    Ok(other) => *self = other,
                    Err(error) => return Poll::Ready(Event::Failed(error)),
                },
                (event, _) => return Poll::Ready(event),
            }
        }
    }

    /// Hears of the end as soon as it is there, also while nobody asks for events. If the exchange is given up first,
    /// the function is dropped.
    pub fn on_end(&self, tell: impl FnOnce(&Event) + Send + 'static) {
        self.mailbox.on_end(Box::new(tell));
    }

    /// Lets go without telling the server that the request is not wanted any more.
    pub fn abandon(mut self) {
        self.cancel = None;
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        match self.cancel.take() {
            None => {}
            Some(Cancel::Call(cancel)) => cancel(),
            Some(Cancel::Tell(place, number)) => place.cancel(number),
        }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").finish_non_exhaustive()
    }
}

/// Where the events of an exchange wait. Of too many notifications the oldest are dropped; the end never is.
#[derive(Clone, Default)]
pub struct Mailbox(Arc<Mutex<Events>>);

/// Whoever hears of the end.
type OnEnd = Box<dyn FnOnce(&Event) + Send>;

#[derive(Default)]
struct Events {
    notes: VecDeque<Event>,
    /// The last event has a place of its own: most exchanges have no other, and need no queue.
    end: Option<Event>,
    over: bool,
    on_end: Option<OnEnd>,
    waker: Option<Waker>,
}

impl Mailbox {
    /// How many notifications may wait.
    const ROOM: usize = 256;

    /// An empty mailbox.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event, unless the exchange is over.
    pub fn put(&self, event: Event) {
        let mut inner = lock(&self.0);
        if inner.over {
            return;
        }
        if matches!(event, Event::Notification { .. }) {
            if inner.notes.len() >= Self::ROOM {
                inner.notes.pop_front();
            }
            inner.notes.push_back(event);
        } else {
            inner.over = true;
            if let Some(tell) = inner.on_end.take() {
                drop(inner);
                tell(&event);
                inner = lock(&self.0);
            }
            inner.end = Some(event);
        }
        let waker = inner.waker.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn on_end(&self, tell: OnEnd) {
        let mut inner = lock(&self.0);
        match &inner.end {
            None if !inner.over => inner.on_end = Some(tell),
            end => {
                let end = end.clone();
                drop(inner);
                if let Some(end) = end {
                    tell(&end);
                }
            }
        }
    }

    fn poll_take(&self, waker: &Waker) -> Poll<Event> {
        let mut inner = lock(&self.0);
        let next = inner.notes.pop_front();
        match next.or_else(|| inner.end.take()) {
            Some(event) => Poll::Ready(event),
            None => {
                if !inner.waker.as_ref().is_some_and(|w| w.will_wake(waker)) {
                    inner.waker = Some(waker.clone());
                }
                Poll::Pending
            }
        }
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").field("over", &lock(&self.0).over).finish_non_exhaustive()
    }
}
