//! The client's side of one connection, without the connection: messages in, messages out.
//!
//! The counterpart of [`ServerConnection`](crate::ServerConnection): a [`ClientConnection`] is driven by whoever owns the bytes, and its
//! [`ClientHandle`] is what a client sends requests with.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    hash::{BuildHasherDefault, Hasher},
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use bytes::Bytes;
use couplet_types::{CancelledParams, RequestId, RpcError};

use crate::{
    client::exchange::{Cancelled, Channel, Event, Exchange, Inbound, Mailbox, Outgoing},
    error::{Error, ErrorKind},
    limits::{Limits, too_large},
    message::{
        self, Body, Frame, Malformed, Message, Params,
        oversized::{Oversized, Skimmed},
        scan::JsonText,
        text::EncodedMessage,
    },
    server::{
        batch::Batch,
        queue::{Kind, Queue},
        running::Running,
    },
    sync::lock,
    wire::{self, dialect::Dialect, modern, revision::Revision},
};

/// The driver of a client's connection.
pub struct ClientConnection {
    shared: Arc<Shared>,
    inbound: Arc<dyn Inbound>,
    /// The server's requests that are being answered.
    running: Running<Job, Result<JsonText, RpcError>>,
    requests: HashMap<RequestId, usize>,
    limits: Limits,
}

struct Job {
    id: RequestId,
    batch: Option<Batch>,
}

/// What a client sends requests with. Clones are the same connection.
#[derive(Clone)]
pub struct ClientHandle(Arc<Owned>);

/// When the last handle is gone, nobody can ask any more, and the connection is closed.
struct Owned(Arc<Shared>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.close();
    }
}

struct Shared {
    queue: Queue,
    /// How many bytes a message may have that is sent.
    longest: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: i64,
    exchanges: HashMap<i64, Waiting, BuildHasherDefault<Counted>>,
    revision: Option<Revision>,
    closed: bool,
    /// A message that was lost, and the last request that it may belong to.
    note: Option<(i64, String)>,
}

/// Who waits for an answer.
struct Waiting {
    mailbox: Mailbox,
    /// Whether the server is told when nobody waits any more. The handshake is the one request that must not be
    /// cancelled.
    told: bool,
    /// Whether it is a subscription, whose answer is far away.
    listens: bool,
}

/// Spreads numbers that were counted up here: nobody else chooses what is in the table.
#[derive(Default)]
struct Counted(u64);

impl Hasher for Counted {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0 << 8 | u64::from(*byte)));
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }

    fn write_u64(&mut self, number: u64) {
        // The table looks at the lowest and at the highest bits.
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

impl ClientConnection {
    /// A connection on which nothing was said yet.
    pub fn new(inbound: Arc<dyn Inbound>, limits: Limits) -> (Self, ClientHandle) {
        let (queue, longest) = (Queue::new(limits.queue), limits.max_sent());
        let shared = Arc::new(Shared { queue, longest, state: Mutex::default() });
        let handle = ClientHandle(Arc::new(Owned(shared.clone())));
        (Self { shared, inbound, running: Running::new(), requests: HashMap::new(), limits }, handle)
    }

    /// Takes one frame.
    pub fn receive(&mut self, frame: Bytes) {
        match message::read(frame, self.limits.bounds) {
            Ok(Frame::Single(message)) => self.message(message, None),
            Ok(Frame::Batch(_)) if !self.revision().is_some_and(|s| s.0.batches) => {
                let error = RpcError::invalid_request("the server sent a batch, which is not allowed");
                self.inbound.malformed(&Malformed::new(None, error));
            }
            Ok(Frame::Batch(messages)) => {
                let batch = Batch::new(self.shared.queue.clone());
                for message in messages {
                    match message {
                        Ok(message) => self.message(message, Some(&batch)),
                        Err(malformed) => self.malformed(&malformed),
                    }
                }
            }
            Err(malformed) => self.malformed(&malformed),
        }
    }

    /// Tells of a message that was too long to be taken: the request that it answered fails.
    pub fn receive_too_long(&mut self, message: &Oversized) {
        let most = self.limits.message;
        let error = RpcError::invalid_request(too_large("the message", message.length, most));
        let failed = |what| Event::Failed(Error::new(ErrorKind::Protocol, too_large(what, message.length, most)));
        match &message.gist {
            Skimmed::Response(id) => self.settle(id, failed("the answer")),
            Skimmed::Request(id) => self.refuse(id, &error),
            Skimmed::Unknown => match self.shared.only_exchange() {
                Some(id) => self.settle(&id, failed("a message that is probably the answer")),
                None => self.shared.note(too_large("a message that was dropped", message.length, most)),
            },
            Skimmed::Notification | Skimmed::Noise => {}
        }
        self.inbound.malformed(&Malformed::new(None, error));
    }

    /// Refuses a request of the server that could not be read, where there may be one.
    fn refuse(&self, id: &RequestId, error: &RpcError) {
        if !self.is_stateless() && !self.requests.contains_key(id) {
            self.shared.queue.push(Kind::Free, wire::error(Some(id), None, error));
        }
    }

    /// No more messages will come: whatever waits for an answer fails.
    pub fn end_input(&mut self, why: &str) {
        let exchanges = {
            let mut state = lock(&self.shared.state);
            state.closed = true;
            std::mem::take(&mut state.exchanges)
        };
        let unsent = if exchanges.is_empty() { HashSet::new() } else { self.shared.queue.calls() };
        for (number, waiting) in exchanges {
            let is_unsent = unsent.contains(&RequestId::Number(number));
            let error = if is_unsent { Error::unsent } else { Error::new }(ErrorKind::Closed, why);
            waiting.mailbox.put(Event::Failed(error));
        }
        self.shared.queue.close();
    }

    /// Whether another message may be taken now. The client's own requests that wait to be sent do not count: their
    /// answers may be what has to be read first.
    pub fn wants_input(&self) -> bool {
        self.shared.queue.unowned() < self.limits.queue
    }

    /// Lets the answers to the server's requests go on and returns the next message to send; `None` when the client
    /// has closed the connection, or when every handle is gone.
    pub fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Option<EncodedMessage>> {
        if let Some((_, text)) = self.shared.queue.pop() {
            return Poll::Ready(Some(text));
        }
        self.poll_run(cx);
        match self.shared.queue.pop() {
            Some((_, text)) => Poll::Ready(Some(text)),
            None if lock(&self.shared.state).closed => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    /// Lets the answers to the server's requests go on without sending anything.
    pub fn poll_run(&mut self, cx: &mut Context<'_>) {
        self.shared.queue.register(cx.waker());
        while let Poll::Ready((job, answer)) = self.running.poll_next(cx) {
            self.requests.remove(&job.id);
            let mut text = wire::plain_answer(&job.id, &answer);
            if text.len() > self.shared.longest {
                let error = RpcError::internal(too_large("the answer", text.len(), self.shared.longest));
                text = wire::error(Some(&job.id), None, &error);
            }
            match job.batch {
                Some(batch) => batch.answer(text.into()),
                None => self.shared.queue.push(Kind::Free, text),
            }
        }
    }

    /// How many requests of either side are not answered yet.
    pub fn unanswered(&self) -> usize {
        self.requests.len() + lock(&self.shared.state).exchanges.len()
    }

    fn message(&mut self, message: Message, batch: Option<&Batch>) {
        match message.body {
            Body::Request { id, method, params } => self.request(id, &method, &params, batch),
            Body::Notification { method, params } => self.notification(&method, params),
            Body::Response { id, outcome } => match id {
                Some(id) => self.settle(&id, Event::Answer(outcome)),
                None => {
                    if let Err(error) = outcome {
                        self.inbound.malformed(&Malformed::new(None, error));
                    }
                }
            },
        }
    }

    fn request(&mut self, id: RequestId, method: &str, params: &Params, batch: Option<&Batch>) {
        // A server of the stateless era must not ask, and a client must not answer.
        if self.is_stateless() {
            let error = RpcError::invalid_request(format!("the server sent the request `{method}`"));
            return self.inbound.malformed(&Malformed::new(None, error));
        }
        if self.requests.contains_key(&id) {
            return;
        }
        if self.running.len() >= self.limits.running {
            let error = RpcError::internal("too many requests at the same time; ask again later");
            return self.shared.queue.push(Kind::Free, wire::error(Some(&id), None, &error));
        }
        let answer = match method {
            "ping" => Box::pin(async { Ok(JsonText::empty_object()) }),
            _ => self.inbound.request(method, params),
        };
        let slot = self.running.push(Job { id: id.clone(), batch: batch.cloned() }, answer);
        self.requests.insert(id, slot);
    }

    fn notification(&mut self, method: &str, params: Params) {
        match method {
            "notifications/progress" => {
                let token: Result<RequestId, _> = params.read("progressToken");
                match token.ok().and_then(|t| self.shared.mailbox(&t)) {
                    Some(mailbox) => mailbox.put(Event::Notification { method: method.to_owned(), params }),
                    // A request that became a task is answered, and goes on.
                    None => self.inbound.notification(method, params),
                }
            }
            "notifications/cancelled" => {
                // One that cannot be read, or that comes too late, is ignored.
                if let Ok(CancelledParams { request_id: Some(id), .. }) = params.parse() {
                    self.cancelled(&id);
                }
            }
            // In a session the key means nothing.
            _ => match modern::subscription_of(&params).filter(|_| self.is_stateless()) {
                Some(id) => {
                    if let Some(mailbox) = self.shared.mailbox(&id) {
                        self.inbound.overhear(method, &params);
                        mailbox.put(Event::Notification { method: method.to_owned(), params });
                    }
                }
                None => self.inbound.notification(method, params),
            },
        }
    }

    /// In a session the server takes back a question; without one it ends a subscription.
    fn cancelled(&mut self, id: &RequestId) {
        if self.is_stateless() {
            self.settle(id, Event::Ended);
        } else if let Some(slot) = self.requests.remove(id) {
            self.running.remove(slot);
        }
    }

    fn settle(&self, id: &RequestId, event: Event) {
        if let Some(waiting) = self.shared.forget(id) {
            waiting.mailbox.put(event);
        }
    }

    fn malformed(&self, malformed: &Malformed) {
        if let Skimmed::Request(id) = &*malformed.gist {
            self.refuse(id, &malformed.error);
        } else if let Some(id) = malformed.id.as_ref().or(malformed.answers()) {
            let what = format!("the server's answer could not be read: {}", malformed.error.message);
            self.settle(id, Event::Failed(Error::new(ErrorKind::Protocol, what)));
        }
        self.inbound.malformed(malformed);
    }

    fn is_stateless(&self) -> bool {
        self.revision().is_some_and(|s| !s.0.codec.has_sessions())
    }

    fn revision(&self) -> Option<Revision> {
        lock(&self.shared.state).revision
    }
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        self.end_input("the connection was dropped");
    }
}

impl Shared {
    fn close(&self) {
        lock(&self.state).closed = true;
        self.queue.wake();
    }

    fn mailbox(&self, id: &RequestId) -> Option<Mailbox> {
        let RequestId::Number(id) = id else { return None };
        lock(&self.state).exchanges.get(id).map(|waiting| waiting.mailbox.clone())
    }

    /// The one request that waits for an answer, if there is exactly one.
    fn only_exchange(&self) -> Option<RequestId> {
        let state = lock(&self.state);
        let mut open = state.exchanges.iter().filter(|(_, waiting)| !waiting.listens).map(|(number, _)| *number);
        open.next().filter(|_| open.next().is_none()).map(RequestId::Number)
    }

    fn note(&self, what: String) {
        let mut state = lock(&self.state);
        state.note = Some((state.last, what));
    }

    fn forget(&self, id: &RequestId) -> Option<Waiting> {
        let RequestId::Number(id) = id else { return None };
        lock(&self.state).exchanges.remove(id)
    }
}

impl Cancelled for Shared {
    /// The client does not want the answer any more: a request that is still here is taken back, and the server is
    /// told of one that is not.
    fn cancel(&self, number: i64) {
        let id = RequestId::Number(number);
        let told = self.forget(&id).is_some_and(|waiting| waiting.told);
        if !told || self.queue.purge(&id) {
            return;
        }
        let params = wire::to_json(&CancelledParams::new(id));
        self.queue.push(Kind::Free, wire::notification("notifications/cancelled", &params));
    }
}

impl Channel for ClientHandle {
    fn next_id(&self) -> RequestId {
        let mut state = lock(&self.0.0.state);
        state.last += 1;
        RequestId::Number(state.last)
    }

    fn open(&self, request: Outgoing) -> Exchange {
        let RequestId::Number(number) = request.id else {
            return Exchange::failed(Error::new(ErrorKind::Config, "the id is not from this channel"));
        };
        let method = request.method;
        let text = request.into_text();
        if text.len() > self.0.0.longest {
            let what = too_large(&format!("the request `{method}`"), text.len(), self.0.0.longest);
            return Exchange::failed(Error::unsent(ErrorKind::Config, what));
        }
        let mailbox = Mailbox::new();
        let (told, listens) = (method != "initialize", method == "subscriptions/listen");
        let waiting = Waiting { mailbox: mailbox.clone(), told, listens };
        {
            let mut state = lock(&self.0.0.state);
            if state.closed {
                return Exchange::failed(Error::unsent(ErrorKind::Closed, "the connection is closed"));
            }
            state.exchanges.insert(number, waiting);
        }
        self.0.0.queue.push(Kind::Notification(RequestId::Number(number)), text);
        Exchange::numbered(mailbox, self.0.0.clone(), number)
    }

    fn notify(&self, text: Bytes) {
        self.0.0.queue.push(Kind::Free, text);
    }

    fn agree(&self, dialect: &Dialect) {
        lock(&self.0.0.state).revision = Some(dialect.revision());
    }

    fn close(&self) {
        self.0.0.close();
    }

    fn note(&self) -> Option<String> {
        let state = lock(&self.0.0.state);
        let (last, note) = state.note.as_ref()?;
        let concerns = |(number, waiting): (&i64, &Waiting)| number <= last && !waiting.listens;
        state.exchanges.iter().any(concerns).then(|| note.clone())
    }
}

impl fmt::Debug for ClientConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("unanswered", &self.unanswered()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ClientHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("waiting", &lock(&self.0.0.state).exchanges.len()).finish_non_exhaustive()
    }
}
