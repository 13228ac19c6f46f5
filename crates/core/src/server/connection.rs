//! The server's side of one connection, without the connection: messages in, messages out.
//!
//! The owner of the bytes calls [`ServerConnection::receive`] with each message, [`ServerConnection::end_input`] at the
//! end of input, and [`ServerConnection::poll_send`] for messages to send. Handlers run inside `poll_send`, so dropping the
//! connection cancels them all.

mod listen;
mod request;
mod unreadable;

use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use couplet_types::{Cancelled, CancelledParams, Initialized, Notification, RequestId, RequestMethod, RpcError};

use self::{listen::Listen, request::Incoming};
use crate::{
    limits::Limits,
    message::{self, Body, Frame, Malformed, Message, Params, text::EncodedMessage},
    server::{
        batch::Batch,
        outbound::{Outbound, Route},
        outbox::Outbox,
        pending::Pending,
        queue::{EntryKind, Queue},
        running::{BoxFuture, Running},
        session::Session,
    },
    service::{Asker, Call, ClientNotification, Reply, RequestContext, Service, caller::Caller},
    wire::{
        self, legacy,
        modern::{self, Checked, PeerCache},
        revision::Revision,
    },
};

/// The server's side of one connection.
pub struct ServerConnection {
    service: Arc<dyn Service>,
    limits: Arc<Limits>,
    queue: Queue,
    running: Running<CallJob, Reply>,
    waiting: VecDeque<(CallJob, Call)>,
    waiting_bytes: usize,
    /// Where each unfinished request is.
    requests: BTreeMap<RequestId, Place>,
    session: Option<Session>,
    listens: Vec<Listen>,
    questions: Pending,
    memo: PeerCache,
    asker: Asker,
    input_over: bool,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Running(usize),
    Waiting,
    Listening,
    /// The answer waits to be sent.
    Answered,
}

/// A request that has a handler.
struct CallJob {
    id: RequestId,
    revision: Revision,
    outbox: Outbox,
    batch: Option<Batch>,
    /// Whether the answer may be questions.
    asks: bool,
}

impl ServerConnection {
    /// A connection on which nothing was said yet.
    pub fn new(service: Arc<dyn Service>, limits: impl Into<Arc<Limits>>) -> Self {
        let limits = limits.into();
        Self {
            service,
            queue: Queue::new(limits.queue),
            limits,
            running: Running::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            requests: BTreeMap::new(),
            session: None,
            listens: Vec::new(),
            questions: Pending::default(),
            memo: PeerCache::default(),
            asker: Asker::default(),
            input_over: false,
        }
    }

    /// Sets the authenticated caller for subsequent messages. Requests already received keep the caller they came with.
    pub fn set_caller(&mut self, caller: Option<Arc<Caller>>) {
        self.asker.0 = caller;
    }

    /// Sets the transport's context for the next frame.
    pub fn set_context(&mut self, context: Option<Arc<dyn RequestContext>>) {
        self.asker.1 = context;
    }

    /// Resets the connection for reuse. Returns `false` if it had a handshake, has pending requests, or a handler still
    /// holds its [`Outbox`].
    pub fn try_reset(&mut self) -> bool {
        let is_silent = self.session.is_none() && self.listens.is_empty() && !self.input_over;
        let is_done = self.running.is_empty() && self.waiting.is_empty() && self.requests.is_empty();
        self.asker = Asker::default();
        self.running.forget_driver();
        is_silent && is_done && self.queue.renew() && self.questions.renew()
    }

    /// Remembers clients together with other connections: for connections that see one request each.
    #[must_use]
    pub fn with_peer_cache(mut self, memo: &PeerCache) -> Self {
        self.memo = memo.clone();
        self
    }

    /// Takes one frame: a message, or in one revision several.
    pub fn receive(&mut self, frame: Bytes) {
        match message::read(frame, self.limits.bounds) {
            Ok(frame) => self.receive_frame(frame),
            Err(malformed) => self.unreadable(&malformed),
        }
    }

    /// Takes a frame that was read elsewhere.
    pub fn receive_frame(&mut self, frame: Frame) {
        match frame {
            Frame::Single(message) => self.message(message, None),
            Frame::Batch(messages) => self.batch(messages),
        }
        self.asker.1 = None;
    }

    /// Receives the frame of a stateless request that [`place`](crate::http::place) has checked.
    ///
    /// The proof must be that of the same frame.
    pub fn receive_checked(&mut self, frame: Frame, checked: Checked) {
        match frame {
            Frame::Single(Message { body: Body::Request { id, method, params }, .. }) => {
                self.request(Incoming { id, method, params }, None, Some(checked));
                self.asker.1 = None;
            }
            frame => self.receive_frame(frame),
        }
    }

    /// No more messages will come. What was received is still answered.
    pub fn end_input(&mut self) {
        self.input_over = true;
        self.questions.close();
        for listen in std::mem::take(&mut self.listens) {
            self.end_listen(listen);
        }
    }

    /// Whether another message may be taken now: not while the client does not read what it was sent.
    pub fn wants_input(&self) -> bool {
        let (queued, room) = (self.queue.len(), self.limits.queue);
        queued < room || (queued < 4 * room && self.questions.len() > 0)
    }

    /// Lets the handlers go on and returns the next message to send; `None` when everything is answered and no more
    /// input will come.
    pub fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Option<EncodedMessage>> {
        loop {
            match self.poll_next(cx) {
                Poll::Ready(Some(Outbound { route: Route::Release(..), .. })) => {}
                next => return next.map(|next| next.map(|outbound| outbound.text)),
            }
        }
    }

    /// The same, with what the message belongs to, for transports that have more than one stream.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outbound>> {
        if let Some(outbound) = self.poll_queue(cx) {
            return Poll::Ready(Some(outbound));
        }
        if let Some(outbound) = self.next_change(cx.waker()) {
            return Poll::Ready(Some(outbound));
        }
        if self.input_over && self.running.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    }

    /// The same without change notifications, which stay undelivered.
    pub fn poll_calls(&mut self, cx: &mut Context<'_>) -> Poll<Outbound> {
        self.poll_queue(cx).map_or(Poll::Pending, Poll::Ready)
    }

    fn poll_queue(&mut self, cx: &mut Context<'_>) -> Option<Outbound> {
        // A message that a handler sends while it runs here is taken below: it needs no wake-up.
        let waker = self.queue.unregister();
        self.poll_listens(cx);
        // Large answers go out one by one, so that there are never many of them.
        while self.poll_one(cx) && !self.running.is_empty() && !self.queue.is_heavy() {}
        let (kind, text) = self.queue.pop_or_register(cx.waker(), waker)?;
        if let EntryKind::Answer(id, _) = &kind {
            self.requests.remove(id);
        }
        Some(Outbound { text, route: Route::from(kind) })
    }

    /// Lets the handlers go on without sending anything, for when nothing can be sent at the moment.
    ///
    /// Afterwards there may be room for input again, also when there is nothing to send.
    pub fn poll_run(&mut self, cx: &mut Context<'_>) {
        self.queue.register(cx.waker());
        while self.poll_one(cx) {}
    }

    /// Lets the handlers go on until one is done; false if none is.
    fn poll_one(&mut self, cx: &mut Context<'_>) -> bool {
        let Poll::Ready((job, reply)) = self.running.poll_next(cx) else { return false };
        self.finish(job, &reply);
        self.start_waiting();
        true
    }

    /// Whether a request is not answered yet.
    pub fn awaits(&self, id: &RequestId) -> bool {
        self.requests.contains_key(id)
    }

    /// What the handshake agreed on.
    pub fn revision(&self) -> Option<Revision> {
        self.session.as_ref().map(|s| s.revision)
    }

    /// What the session remembers beyond its handshake, if that may have changed since this was last asked: something
    /// to keep for [`ServerConnection::restore_memory`].
    pub fn changed_memory(&mut self) -> Option<Bytes> {
        self.session.as_mut()?.changed_memory()
    }

    /// Whether [`ServerConnection::changed_memory`] has something new to say.
    pub fn memory_changed(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.changed)
    }

    /// Lets the session remember what one before it remembered.
    pub fn restore_memory(&mut self, memory: &[u8]) {
        if let Some(session) = &mut self.session {
            session.restore_memory(memory);
        }
    }

    /// Sets the number after which the ids of requests to the client begin. A session that goes on in another connection needs
    /// other ids, or a late answer for the earlier connection is taken for one of this.
    pub fn number_client_requests_after(&mut self, last: i64) {
        self.questions.number_after(last);
    }

    /// Fails the pending requests to the client, and those that are sent from now on: no more responses will arrive.
    pub fn cancel_client_requests(&mut self) {
        self.questions.close();
    }

    /// Gives back what only a connection with something to do needs: for one that is kept and may not be used for long.
    pub fn shrink(&mut self) {
        if self.running.is_empty() {
            self.running = Running::new();
        }
        if self.requests.is_empty() {
            self.requests = BTreeMap::new();
        }
        self.waiting.shrink_to_fit();
        self.queue.shrink();
    }

    /// How many requests are not answered yet.
    pub fn unanswered(&self) -> usize {
        self.requests.len()
    }

    fn message(&mut self, message: Message, batch: Option<Batch>) {
        match message.body {
            Body::Request { id, method, params } => self.request(Incoming { id, method, params }, batch, None),
            Body::Notification { method, params } => self.notification(method, params),
            Body::Response { id, outcome } => {
                // A response without a waiting request is late or stray, and ignored.
                if let Some(id) = id {
                    self.questions.settle(&id, outcome);
                }
            }
        }
    }

    fn batch(&mut self, messages: Vec<Result<Message, Malformed>>) {
        let allowed = self.session.as_ref().is_some_and(|s| s.revision.0.batches);
        if !allowed {
            let spoken = self
                .session
                .as_ref()
                .map_or("outside of a session".to_owned(), |s| format!("in revision {}", s.revision.version()));
            let error = RpcError::invalid_request(format!("batches are not allowed {spoken}"));
            return self.reject(&Malformed::new(None, error), None);
        }
        let batch = Batch::new(self.queue.clone());
        for message in messages {
            match message {
                Ok(Message { body: Body::Request { id, method, .. }, .. })
                    if method == RequestMethod::Initialize.as_str() =>
                {
                    let error = RpcError::invalid_request("`initialize` cannot be part of a batch");
                    batch.includes(&id);
                    self.reject(&Malformed::new(Some(id), error), Some(&batch));
                }
                Ok(message) => self.message(message, Some(batch.clone())),
                Err(malformed) => self.reject(&malformed, Some(&batch)),
            }
        }
    }

    fn notification(&mut self, method: Cow<'static, str>, params: Params) {
        match &*method {
            Cancelled::METHOD => {
                // A cancellation that cannot be read, or that comes too late, is ignored.
                if let Ok(CancelledParams { request_id: Some(id), .. }) = params.parse() {
                    self.cancel(&id);
                }
            }
            Initialized::METHOD => {
                let about = self.service.describe();
                if let Some(session) = &mut self.session {
                    session.open(&about);
                }
            }
            _ => {
                let peer = self.session.as_ref().map(|s| s.peer.clone());
                self.service.notified(ClientNotification::new(method, params, peer));
            }
        }
    }

    fn cancel(&mut self, id: &RequestId) {
        let job = match self.requests.remove(id) {
            None => return,
            Some(Place::Running(slot)) => self.running.remove(slot).map(|(job, running)| {
                // A call that is dropped can tell a cancellation from a lost connection.
                job.outbox.close();
                drop(running);
                job
            }),
            Some(Place::Waiting) => {
                let at = self.waiting.iter().position(|(job, _)| job.id == *id);
                at.and_then(|at| self.waiting.remove(at)).map(|(job, call)| {
                    self.waiting_bytes -= call.params.size();
                    job
                })
            }
            Some(Place::Listening) => {
                if let Some(at) = self.listens.iter().position(|l| l.id == *id) {
                    self.listens.remove(at);
                    self.queue.purge(id);
                }
                return;
            }
            Some(Place::Answered) => {
                self.queue.purge(id);
                return;
            }
        };
        if let Some(job) = job {
            job.outbox.close();
            // Fails the requests that were never sent.
            for question in self.queue.questions(&job.id) {
                self.questions.forget(question);
            }
            self.queue.purge(&job.id);
        }
        self.start_waiting();
    }

    fn next_change(&self, waker: &Waker) -> Option<Outbound> {
        for listen in self.listens.iter().filter(|listen| listen.is_open()) {
            // Before a look: a change of another thread in between would wake nothing.
            listen.changes.register(waker);
            if let Some(change) = listen.changes.take() {
                let (method, params) = modern::change(&listen.id, &change);
                let route = Route::Request(listen.id.clone());
                return Some(Outbound { text: wire::notification(method, &params).into(), route });
            }
        }
        let session = self.session.as_ref().filter(|s| s.ready)?;
        session.changes.register(waker);
        let change = session.changes.take()?;
        let (method, params) = legacy::change(&change);
        Some(Outbound { text: wire::notification(method, &params).into(), route: Route::Session })
    }

    fn start(&mut self, job: CallJob, call: Call) {
        if self.running.len() < self.limits.running {
            self.run(job, call);
        } else if self.waiting.len() < self.limits.waiting
            && self.waiting_bytes + call.params.size() <= self.limits.waiting_bytes
        {
            self.waiting_bytes += call.params.size();
            self.requests.insert(job.id.clone(), Place::Waiting);
            self.waiting.push_back((job, call));
        } else {
            self.finish(job, &Reply::Error(too_many()));
        }
    }

    /// Runs work of the service that is no call, and answers with its reply.
    fn work(&mut self, job: CallJob, work: BoxFuture<'static, Reply>) {
        if self.running.len() >= self.limits.running {
            return self.finish(job, &Reply::Error(too_many()));
        }
        let id = job.id.clone();
        let slot = self.running.push(job, work);
        self.requests.insert(id, Place::Running(slot));
    }

    fn run(&mut self, job: CallJob, call: Call) {
        let id = job.id.clone();
        let slot = self.running.push(job, self.service.call(call));
        self.requests.insert(id, Place::Running(slot));
    }

    fn start_waiting(&mut self) {
        while self.running.len() < self.limits.running {
            let Some((job, call)) = self.waiting.pop_front() else { return };
            self.waiting_bytes -= call.params.size();
            self.run(job, call);
        }
    }

    fn finish(&mut self, job: CallJob, reply: &Reply) {
        job.outbox.close();
        let unasked;
        let reply = match reply {
            Reply::InputRequired { .. } if !job.asks => {
                unasked = Reply::Error(RpcError::internal("the answer to this request cannot be a question"));
                &unasked
            }
            reply => reply,
        };
        self.answer(job.revision, job.id, reply, job.batch.as_ref());
    }

    /// Sends the answer to a request. Until it is sent, the request can still be cancelled.
    fn answer(&mut self, revision: Revision, id: RequestId, reply: &Reply, batch: Option<&Batch>) {
        let (text, code) = wire::answer(revision, &id, reply, &self.service.describe());
        self.send_answer(id, text, code, batch);
    }

    /// Answers a request that never got to a handler.
    fn refuse(&mut self, id: RequestId, error: &RpcError, batch: Option<&Batch>) {
        let text = wire::error(Some(&id), None, error);
        self.send_answer(id, text.into(), Some(error.code), batch);
    }

    fn send_answer(&mut self, id: RequestId, mut text: EncodedMessage, mut code: Option<i32>, batch: Option<&Batch>) {
        let length = text.len() + batch.map_or(0, Batch::len);
        if length > self.limits.max_sent() {
            (text, code) = self.too_large(&id, length);
        }
        match batch {
            Some(batch) => {
                self.requests.remove(&id);
                batch.includes(&id);
                batch.answer(text);
            }
            None => {
                self.queue.push(EntryKind::Answer(id.clone(), code), text);
                self.requests.insert(id, Place::Answered);
            }
        }
    }
}

fn too_many() -> RpcError {
    RpcError::internal("too many requests at the same time; ask again later")
}

impl Drop for ServerConnection {
    fn drop(&mut self) {
        self.queue.close();
        self.questions.close();
    }
}

impl std::fmt::Debug for ServerConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("unanswered", &self.requests.len())
            .field("revision", &self.session.as_ref().map(|s| s.revision))
            .finish_non_exhaustive()
    }
}
