//! The server's side of one connection, without the connection: messages in, messages out.
//!
//! Whoever owns the bytes calls [`Connection::receive`] with each message, [`Connection::end_input`] when no more
//! come, and [`Connection::poll_send`] for what is to be sent. Handlers run inside `poll_send`, so dropping the
//! connection cancels them all.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use couplet_types::{CancelledParams, LoggingLevel, RequestId, RpcError, SetLevelParams, SubscribeParams};

use crate::{
    back::Back,
    batch::Batch,
    hub::{Interest, Subscription},
    input::Inputs,
    limits::Limits,
    message::{self, Body, Frame, Malformed, Message, Params},
    outbox::{LogGate, Outbox},
    pending::Pending,
    queue::{Kind, Owner, Queue},
    running::Running,
    service::{Call, Description, Done, Note, Peer, Reply, Service},
    sync::lock,
    wire::{
        self, legacy, method,
        modern::{self, Memo},
        revision::Shape,
    },
};

/// The server's side of one connection.
pub struct Connection {
    service: Arc<dyn Service>,
    limits: Limits,
    queue: Queue,
    running: Running<Job, Reply>,
    waiting: VecDeque<(Job, Call)>,
    waiting_bytes: usize,
    /// Where each unfinished request is.
    requests: HashMap<RequestId, Place>,
    session: Option<Session>,
    listens: Vec<Listen>,
    /// The requests whose answers wait to be sent, in that order.
    answered: VecDeque<(Owner, RequestId)>,
    questions: Pending,
    memo: Memo,
    serial: u64,
    input_over: bool,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Running(usize),
    Waiting,
    Listening,
    /// The answer waits to be sent.
    Answered(Owner),
}

/// A request that has a handler.
struct Job {
    id: RequestId,
    owner: Owner,
    shape: Shape,
    outbox: Outbox,
    batch: Option<Batch>,
    /// Whether the answer may be questions.
    asks: bool,
}

/// What the handshake agreed on.
struct Session {
    shape: Shape,
    peer: Arc<Peer>,
    level: Arc<Mutex<LoggingLevel>>,
    ready: bool,
    changes: Subscription,
}

/// A `subscriptions/listen` that goes on.
struct Listen {
    id: RequestId,
    shape: Shape,
    owner: Owner,
    changes: Subscription,
}

impl Connection {
    /// A connection on which nothing was said yet.
    pub fn new(service: Arc<dyn Service>, limits: Limits) -> Self {
        Self {
            service,
            queue: Queue::new(limits.queue),
            limits,
            running: Running::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            requests: HashMap::new(),
            session: None,
            listens: Vec::new(),
            answered: VecDeque::new(),
            questions: Pending::default(),
            memo: Memo::default(),
            serial: 0,
            input_over: false,
        }
    }

    /// Takes one frame: a message, or in one revision several.
    pub fn receive(&mut self, frame: Bytes) {
        match message::read(frame, self.limits.bounds) {
            Ok(Frame::Single(message)) => self.message(message, None),
            Ok(Frame::Batch(messages)) => self.batch(messages),
            Err(malformed) => self.reject(&malformed, None),
        }
    }

    /// Tells of a message that was too long to be taken.
    pub fn receive_too_long(&mut self) {
        let error = RpcError::invalid_request(format!("the message is longer than {} bytes", self.limits.message));
        self.reject(&Malformed { id: None, error }, None);
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
        let room = if self.questions.len() > 0 { 4 * self.limits.queue } else { self.limits.queue };
        self.queue.len() < room
    }

    /// Lets the handlers go on and returns the next message to send; `None` when everything is answered and no more
    /// input will come.
    pub fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.poll_run(cx);
        if let Some((kind, text)) = self.queue.pop() {
            if let Kind::Answer(_) = kind
                && let Some((_, id)) = self.answered.pop_front()
            {
                self.requests.remove(&id);
            }
            return Poll::Ready(Some(wire::one_line(text)));
        }
        if let Some(text) = self.next_change(cx.waker()) {
            return Poll::Ready(Some(text));
        }
        if self.input_over && self.running.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    }

    /// Lets the handlers go on without sending anything, for when nothing can be sent at the moment.
    ///
    /// Afterwards there may be room for input again, also when there is nothing to send.
    pub fn poll_run(&mut self, cx: &mut Context<'_>) {
        self.queue.register(cx.waker());
        while let Poll::Ready((job, reply)) = self.running.poll_next(cx) {
            self.finish(job, &reply);
            self.start_waiting();
        }
    }

    /// How many requests are not answered yet.
    pub fn unanswered(&self) -> usize {
        self.requests.len()
    }

    fn message(&mut self, message: Message, batch: Option<Batch>) {
        match message.body {
            Body::Request { id, method, params } => self.request(id, method, params, batch),
            Body::Notification { method, params } => self.notification(method, params),
            Body::Response { id, outcome } => {
                // An answer that nobody waits for is late or stray; either way there is nothing to do.
                if let Some(id) = id {
                    self.questions.settle(&id, outcome);
                }
            }
        }
    }

    fn batch(&mut self, messages: Vec<Result<Message, Malformed>>) {
        let allowed = self.session.as_ref().is_some_and(|s| s.shape.0.batches);
        if !allowed {
            let spoken = self
                .session
                .as_ref()
                .map_or("outside of a session".to_owned(), |s| format!("in revision {}", s.shape.version()));
            let error = RpcError::invalid_request(format!("batches are not allowed {spoken}"));
            return self.reject(&Malformed { id: None, error }, None);
        }
        let batch = Batch::new(self.queue.clone());
        for message in messages {
            match message {
                Ok(Message { body: Body::Request { id, method, .. }, .. }) if method == "initialize" => {
                    let error = RpcError::invalid_request("`initialize` cannot be part of a batch");
                    self.reject(&Malformed { id: Some(id), error }, Some(&batch));
                }
                Ok(message) => self.message(message, Some(batch.clone())),
                Err(malformed) => self.reject(&malformed, Some(&batch)),
            }
        }
    }

    fn request(&mut self, id: RequestId, method: Cow<'static, str>, params: Params, batch: Option<Batch>) {
        if self.requests.contains_key(&id) {
            // An answer to this id would be taken for the answer to the request that runs.
            let error = RpcError::invalid_request(format!("request id `{id}` is already in use"));
            return self.reject(&Malformed { id: None, error }, batch.as_ref());
        }
        let about = self.service.describe();
        if let Some(meta) = modern::marked(&params) {
            return match modern::lift(&method, &params, &meta, &about, &mut self.memo) {
                Ok(lifted) => self.modern(id, method, params, lifted, &about, batch),
                Err(error) => {
                    let text = wire::error(Some(&id), None, &error);
                    self.answer_now(id, text, batch.as_ref());
                }
            };
        }
        let reply = match self.legacy(&method, &params, &about) {
            Ok(Legacy::Reply(shape, reply)) => wire::answer(shape, &id, &reply, &about),
            Ok(Legacy::Call(shape, peer, level)) => match legacy::progress_token(&params) {
                Ok(token) => {
                    let owner = self.next_owner();
                    let outbox = Outbox::new(self.queue.clone(), owner, shape, token, level);
                    let back = Back::new(self.queue.clone(), self.questions.clone(), owner, self.limits.questions);
                    let call = Call::new(method, params, peer, shape, outbox.clone(), Inputs::live(back));
                    return self.start(Job { id, owner, shape, outbox, batch, asks: false }, call);
                }
                Err(error) => wire::error(Some(&id), None, &error),
            },
            Err(error) => wire::error(Some(&id), None, &error),
        };
        self.answer_now(id, reply, batch.as_ref());
    }

    fn modern(
        &mut self,
        id: RequestId,
        method: Cow<'static, str>,
        params: Params,
        lifted: modern::Lifted,
        about: &Description,
        batch: Option<Batch>,
    ) {
        let shape = lifted.shape;
        match &*method {
            "server/discover" => {
                let reply = Reply::Complete(modern::discover(shape, about));
                let text = wire::answer(shape, &id, &reply, about);
                self.answer_now(id, text, batch.as_ref());
            }
            "subscriptions/listen" => match self.listen(&id, shape, &params, about) {
                Ok(()) => {}
                Err(error) => {
                    let text = wire::error(Some(&id), None, &error);
                    self.answer_now(id, text, batch.as_ref());
                }
            },
            _ => {
                let owner = self.next_owner();
                let logs = about.capabilities.logging.is_some();
                let level = lifted.log_level.filter(|_| logs).map_or(LogGate::Closed, LogGate::From);
                let outbox = Outbox::new(self.queue.clone(), owner, shape, lifted.token, level);
                let asks = modern::may_ask(&method);
                let inputs = if asks { Inputs::replay(lifted.replay) } else { Inputs::closed() };
                let call = Call::new(method, params, lifted.peer, shape, outbox.clone(), inputs);
                self.start(Job { id, owner, shape, outbox, batch, asks }, call);
            }
        }
    }

    /// What a request without the marks of the stateless era leads to.
    fn legacy(&mut self, method: &str, params: &Params, about: &Description) -> Result<Legacy, RpcError> {
        match (method, &mut self.session) {
            ("initialize", None) => self.initialize(params, about),
            ("initialize", Some(_)) => Err(RpcError::invalid_request("the session is already initialized")),
            ("ping", session) => {
                let shape = session.as_ref().map_or_else(Shape::oldest, |s| s.shape);
                Ok(Legacy::Reply(shape, Reply::Complete(Done::empty())))
            }
            (_, None) => Err(no_session(method, about)),
            (_, Some(session)) => {
                let shape = session.shape;
                let row = method::client_request(method, shape.0).filter(|m| m.gate.is_open(&about.capabilities));
                if row.is_none() && !about.extra_methods.iter().any(|m| m == method) {
                    return Err(RpcError::method_not_found(method));
                }
                session.request(method, params, &*self.service, about, &self.limits)
            }
        }
    }

    fn initialize(&mut self, params: &Params, about: &Description) -> Result<Legacy, RpcError> {
        let (shape, peer, done) = legacy::initialize(params, about)?;
        self.session = Some(Session {
            shape,
            peer: Arc::new(peer),
            level: Arc::new(Mutex::new(LoggingLevel::Info)),
            ready: false,
            changes: self.service.hub().subscribe(Interest::new()),
        });
        Ok(Legacy::Reply(shape, Reply::Complete(done)))
    }

    fn notification(&mut self, method: Cow<'static, str>, params: Params) {
        match &*method {
            "notifications/cancelled" => {
                // A cancellation that cannot be read, or that comes too late, is ignored.
                if let Ok(CancelledParams { request_id: Some(id), .. }) = params.parse() {
                    self.cancel(&id);
                }
            }
            "notifications/initialized" => {
                let about = self.service.describe();
                if let Some(session) = &mut self.session {
                    session.open(&about);
                }
            }
            _ => {
                let peer = self.session.as_ref().map(|s| s.peer.clone());
                self.service.notified(Note::new(method, params, peer));
            }
        }
    }

    fn cancel(&mut self, id: &RequestId) {
        let job = match self.requests.remove(id) {
            None => return,
            Some(Place::Running(slot)) => self.running.remove(slot),
            Some(Place::Waiting) => {
                let at = self.waiting.iter().position(|(job, _)| job.id == *id);
                at.and_then(|at| self.waiting.remove(at)).map(|(job, call)| {
                    self.waiting_bytes -= call.params.size();
                    job
                })
            }
            Some(Place::Listening) => {
                if let Some(at) = self.listens.iter().position(|l| l.id == *id) {
                    self.queue.purge(self.listens.remove(at).owner);
                }
                return;
            }
            Some(Place::Answered(owner)) => {
                self.queue.purge(owner);
                self.answered.retain(|(o, _)| *o != owner);
                return;
            }
        };
        if let Some(job) = job {
            job.outbox.close();
            self.queue.purge(job.owner);
        }
        self.start_waiting();
    }

    fn listen(&mut self, id: &RequestId, shape: Shape, params: &Params, about: &Description) -> Result<(), RpcError> {
        let (honoured, interest) = modern::listen(params, about, self.limits.uris)?;
        if self.listens.len() >= self.limits.subscriptions {
            let most = self.limits.subscriptions;
            return Err(RpcError::internal(format!("there are already {most} subscriptions on this connection")));
        }
        let owner = self.next_owner();
        let changes = self.service.hub().subscribe(interest);
        let text = wire::notification("notifications/subscriptions/acknowledged", &modern::acknowledged(id, &honoured));
        self.queue.push(Kind::Note(owner), text);
        self.requests.insert(id.clone(), Place::Listening);
        self.listens.push(Listen { id: id.clone(), shape, owner, changes });
        Ok(())
    }

    /// The result of the subscription, and then the notification that some clients wait for instead.
    fn end_listen(&mut self, listen: Listen) {
        let reply = Reply::Complete(modern::listen_ended(&listen.id));
        let text = wire::answer(listen.shape, &listen.id, &reply, &self.service.describe());
        self.answer(listen.id.clone(), listen.owner, text, None);
        let params = wire::to_json(&CancelledParams::new(listen.id));
        self.queue.push(Kind::Free, wire::notification("notifications/cancelled", &params));
    }

    fn next_change(&self, waker: &Waker) -> Option<Bytes> {
        for listen in &self.listens {
            if let Some(change) = listen.changes.take() {
                let (method, params) = modern::change(&listen.id, &change);
                return Some(wire::notification(method, &params));
            }
            listen.changes.register(waker);
        }
        let session = self.session.as_ref().filter(|s| s.ready)?;
        session.changes.register(waker);
        let (method, params) = legacy::change(&session.changes.take()?);
        Some(wire::notification(method, &params))
    }

    fn start(&mut self, job: Job, call: Call) {
        if self.running.len() < self.limits.running {
            self.run(job, call);
        } else if self.waiting.len() < self.limits.waiting
            && self.waiting_bytes + call.params.size() <= self.limits.waiting_bytes
        {
            self.waiting_bytes += call.params.size();
            self.requests.insert(job.id.clone(), Place::Waiting);
            self.waiting.push_back((job, call));
        } else {
            let error = RpcError::internal("too many requests at the same time; ask again later");
            self.finish(job, &Reply::Error(error));
        }
    }

    fn run(&mut self, job: Job, call: Call) {
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

    fn finish(&mut self, job: Job, reply: &Reply) {
        job.outbox.close();
        let unasked;
        let reply = match reply {
            Reply::InputRequired { .. } if !job.asks => {
                unasked = Reply::Error(RpcError::internal("the answer to this request cannot be a question"));
                &unasked
            }
            reply => reply,
        };
        let text = wire::answer(job.shape, &job.id, reply, &self.service.describe());
        self.answer(job.id, job.owner, text, job.batch.as_ref());
    }

    /// Sends the answer to a request. Until it is sent, the request can still be cancelled.
    fn answer(&mut self, id: RequestId, owner: Owner, text: Bytes, batch: Option<&Batch>) {
        match batch {
            Some(batch) => {
                self.requests.remove(&id);
                batch.answer(&text);
            }
            None => {
                self.queue.push(Kind::Answer(owner), text);
                self.answered.push_back((owner, id.clone()));
                self.requests.insert(id, Place::Answered(owner));
            }
        }
    }

    /// Answers a request at once.
    fn answer_now(&mut self, id: RequestId, text: Bytes, batch: Option<&Batch>) {
        let owner = self.next_owner();
        self.answer(id, owner, text, batch);
    }

    fn reject(&self, malformed: &Malformed, batch: Option<&Batch>) {
        let known = self.session.as_ref().map(|s| s.shape).or_else(|| self.memo.shape());
        let shape = known.unwrap_or_else(Shape::oldest);
        let text = wire::error(malformed.id.as_ref(), shape.0.unreadable_id, &malformed.error);
        match batch {
            Some(batch) => batch.answer(&text),
            None => self.queue.push(Kind::Free, text),
        }
    }

    fn next_owner(&mut self) -> Owner {
        self.serial += 1;
        Owner(self.serial)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.queue.close();
        self.questions.close();
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("unanswered", &self.requests.len())
            .field("revision", &self.session.as_ref().map(|s| s.shape))
            .finish_non_exhaustive()
    }
}

/// What a request in a session leads to.
enum Legacy {
    Reply(Shape, Reply),
    Call(Shape, Arc<Peer>, LogGate),
}

impl Session {
    /// The handshake is over: the client is told of changes from now on.
    fn open(&mut self, about: &Description) {
        self.ready = true;
        let capabilities = &about.capabilities;
        self.changes.update(|interest| {
            interest.tools = capabilities.tools.as_ref().is_some_and(|c| c.list_changed == Some(true));
            interest.prompts = capabilities.prompts.as_ref().is_some_and(|c| c.list_changed == Some(true));
            interest.resources = capabilities.resources.as_ref().is_some_and(|c| c.list_changed == Some(true));
        });
    }

    fn request(
        &mut self,
        method: &str,
        params: &Params,
        service: &dyn Service,
        about: &Description,
        limits: &Limits,
    ) -> Result<Legacy, RpcError> {
        let empty = Ok(Legacy::Reply(self.shape, Reply::Complete(Done::empty())));
        match method {
            "logging/setLevel" => {
                let SetLevelParams { level, .. } = params.parse()?;
                *lock(&self.level) = level;
                empty
            }
            "resources/subscribe" => {
                let SubscribeParams { uri, .. } = params.parse()?;
                if !service.has_resource(&uri) {
                    return Err(self.shape.resource_not_found(&uri));
                }
                let fits = self.changes.update(|interest| {
                    let fits = interest.uris.len() < limits.uris || interest.uris.contains(&uri);
                    if fits {
                        interest.uris.insert(uri);
                    }
                    fits
                });
                let most = limits.uris;
                if fits {
                    empty
                } else {
                    Err(RpcError::internal(format!("more than {most} subscriptions in a session")))
                }
            }
            "resources/unsubscribe" => {
                let SubscribeParams { uri, .. } = params.parse()?;
                self.changes.update(|interest| interest.uris.remove(&uri));
                empty
            }
            _ => {
                let logs = about.capabilities.logging.is_some();
                let level = if logs { LogGate::Session(self.level.clone()) } else { LogGate::Closed };
                Ok(Legacy::Call(self.shape, self.peer.clone(), level))
            }
        }
    }
}

fn no_session(method: &str, about: &Description) -> RpcError {
    let names = about.version_names();
    RpcError::invalid_params(format!(
        "`{method}` needs {}, or a session opened by `initialize`; this server speaks {}",
        modern::required_keys(),
        names.join(", ")
    ))
    .with_data(serde_json::json!({ "supported": names }))
}
