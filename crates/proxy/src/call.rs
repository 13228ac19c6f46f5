//! One call, from its caller to the server and back.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use couplet_client::{Client, Outcome};
use couplet_core::{
    Ask, Call, Error, ErrorKind, Event, Exchange, JsonText, Method, Reply, RequestOptions, ResultBody, Revision,
    message::Params,
};
use couplet_types::{
    ElicitationCompleteParams, InputRequest, LogParams, NotificationMethod, ProgressParams, RawJson, RequestMethod,
    RpcError, TASKS_EXTENSION,
};
use tokio::time::timeout;

use crate::{
    Hooks,
    asking::{Aside, Listening, Question},
    deadline::Deadline,
    extensions::Raw,
    join,
    pool::{Lease, Pool},
    result,
    session::{Expects, Needs, Owner},
    tasks::{self, Mode, TaskOwner},
    upstream::{Lends, Upstream},
};

/// The maximum number of rounds of a call.
const ROUNDS: usize = 10;

/// The maximum number of requests of a server with sessions in one round.
const TOGETHER: usize = 16;

/// The time after a request of a server with sessions in which another one belongs to the same round.
const GATHER: Duration = Duration::from_millis(20);

/// Whether input requests are forwarded as they are: both sides are stateless.
pub(crate) fn is_passed_on(client: &Client, call: &Call) -> bool {
    !client.revision().has_sessions() && !call.revision.has_sessions()
}

/// Runs a call. An error of the server is a reply; an error of the connection is not.
pub(crate) async fn run(pool: &Arc<Pool>, call: &Call, hooks: Option<&Arc<dyn Hooks>>) -> Result<Reply, Error> {
    let done = Passing { pool, call, hooks }.run().await;
    done.or_else(|error| error.rpc().cloned().map(Reply::Error).ok_or(error))
}

/// Runs a call, and reports an error of the connection to its caller.
pub(crate) async fn answer(pool: Arc<Pool>, call: Call) -> Reply {
    run(&pool, &call, None).await.unwrap_or_else(|error| Reply::Error(reported(&error)))
}

/// A call that runs at the server.
pub(crate) struct Open {
    exchange: Exchange,
    listening: Option<Listening>,
    upstream: Arc<Upstream>,
    /// The open requests of the server and their keys, until all are answered.
    questions: Vec<(String, Question)>,
    /// The number of requests so far, which names each of them.
    asked: usize,
    lease: Option<Lease>,
}

/// An event of the server during a call.
enum Received {
    Log(LogParams),
    Question(Question),
    Notification(Box<(String, Params)>),
    Answer(JsonText),
}

impl Open {
    fn new(upstream: Arc<Upstream>, lease: Option<Lease>, exchange: Exchange, listening: Option<Listening>) -> Self {
        Self { exchange, listening, upstream, questions: Vec::new(), asked: 0, lease }
    }

    /// Adds a request of the server. While it is answered, the call itself goes on.
    fn add(&mut self, question: Question) {
        self.exchange.detach();
        self.lease.iter().for_each(Lease::claim);
        self.asked += 1;
        self.questions.push((self.asked.to_string(), question));
    }

    /// A log message that was not received before the response. A request has nothing left to wait for.
    fn late_log(&mut self) -> Option<LogParams> {
        let asides = &mut self.listening.as_mut()?.asides;
        std::iter::from_fn(|| asides.try_recv()).find_map(|aside| match aside {
            Aside::Log(line) => Some(line),
            Aside::Question(_) => None,
        })
    }

    /// Answers the open requests.
    fn settle(mut self, said: Vec<Result<JsonText, RpcError>>) -> Self {
        self.questions.drain(..).zip(said).for_each(|((_, question), said)| drop(question.answer.send(said)));
        self
    }

    async fn next(&mut self) -> Result<Received, Error> {
        let aside = async {
            match &mut self.listening {
                Some(listening) => listening.asides.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // Messages that were sent before the response are forwarded before it.
            biased;
            aside = aside => Ok(match aside {
                Aside::Log(line) => Received::Log(line),
                Aside::Question(question) => Received::Question(question),
            }),
            event = self.exchange.next() => match event {
                Event::Notification { method, params } => Ok(Received::Notification(Box::new((method, params)))),
                Event::Answer(answer) => {
                    self.listening.iter_mut().for_each(|listening| listening.answered = true);
                    answer.map(Received::Answer).map_err(Error::from)
                }
                Event::Failed(error) => Err(error),
                Event::Ended => {
                    Err(Error::new(ErrorKind::Protocol, "the server ended the call without a response"))
                }
            },
        }
    }
}

/// What most calls do not do is boxed: the future of a call is moved several times before it runs, as large as it can get.
#[derive(Clone, Copy)]
pub(crate) struct Passing<'a> {
    pub(crate) pool: &'a Arc<Pool>,
    pub(crate) call: &'a Call,
    pub(crate) hooks: Option<&'a Arc<dyn Hooks>>,
}

impl Passing<'_> {
    pub(crate) async fn run(&self) -> Result<Reply, Error> {
        match tasks::may_concern(self.call) {
            true => Box::pin(tasks::run(self)).await,
            false => match self.run_as(Mode::Same).await {
                Err(error) if tasks::may_be_required(self.call, &error) => {
                    Err(Box::pin(tasks::refusal(self, error)).await)
                }
                done => done,
            },
        }
    }

    pub(crate) async fn run_as(&self, mode: Mode) -> Result<Reply, Error> {
        let mut extras = self.extras(mode);
        let ticket = self.ticket().await?;
        let mut open = match self.parked(ticket.as_deref()) {
            Some(open) => open,
            None => self.begin(&extras).await?,
        };
        let mut keys = String::new();
        for _ in 0..ROUNDS {
            let answer;
            (open, answer) = self.follow(open, ticket.as_deref()).await?;
            let client = &open.upstream.client;
            if let Some(done) = self.plain(client, mode, &answer) {
                return Ok(Reply::Complete(done));
            }
            let known = &self.pool.options.extensions;
            // The result is passed once, for all that follows.
            let members = Params::from_text(answer.clone()).ok();
            let (asks, state) = match client.outcome_of(answer, members.as_ref(), |kind| known.has_result(kind))? {
                Outcome::Complete(text) => {
                    if let Some(begun) = self.begun(mode, &open.upstream, members.as_ref())? {
                        return Ok(begun);
                    }
                    return Ok(result::reply(client, self.call, &text, members.as_ref()));
                }
                Outcome::InputRequired { asks, state } => (asks, state),
                Outcome::Extension { kind, result } if self.accepts(mode, client, &kind) => {
                    self.note_task(&kind, &result);
                    return Ok(Reply::Extension { kind: kind.into(), done: ResultBody::uncached_json(&result) });
                }
                Outcome::Extension { kind, .. } => {
                    return Err(Error::new(
                        ErrorKind::Protocol,
                        format!("the server sent a result of the type `{kind}`, which was not negotiated"),
                    ));
                }
            };
            if is_passed_on(client, self.call) {
                return Box::pin(self.pass_on(asks, state)).await;
            }
            extras.answers = Vec::new();
            keys = asks.iter().map(|(key, _)| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            for (key, ask) in asks {
                let answer = Box::pin(self.ask(&key, &ask)).await.map_err(Error::from)?;
                extras.answers.push((key, answer));
            }
            extras.state = state;
            open.exchange = self.send(client, &extras)?;
        }
        Err(Error::new(ErrorKind::Protocol, format!("the server still requires input after {ROUNDS} rounds: {keys}")))
    }

    /// The result of a tool in its usual form, which is sent on without a further look.
    fn plain(&self, client: &Client, mode: Mode, result: &JsonText) -> Option<ResultBody> {
        let is_plain = matches!(mode, Mode::Same) && self.call.known() == Some(RequestMethod::CallTool);
        is_plain.then(|| ResultBody::plain_tool_result(result, client.revision(), self.call.revision)).flatten()
    }

    /// The reply to a call that became a task of 2025-11-25, where the caller has another kind of tasks.
    fn begun(&self, mode: Mode, upstream: &Arc<Upstream>, result: Option<&Params>) -> Result<Option<Reply>, Error> {
        match (mode, result) {
            (Mode::Core, Some(result)) => tasks::begun(self, upstream, result),
            (Mode::Same, Some(result)) if self.call.revision.has_core_tasks() && self.call.params.has("task") => {
                let task = result.get("task").and_then(|task| Params::from_text(task).ok());
                task.iter().for_each(|task| self.note_owner(task));
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Whether the caller accepts a result of a type that an extension adds.
    fn accepts(&self, mode: Mode, client: &Client, kind: &str) -> bool {
        let is_passed_on = is_passed_on(client, self.call);
        if kind != tasks::KIND {
            return is_passed_on;
        }
        let declares = || is_passed_on && self.call.peer.extension(TASKS_EXTENSION).is_some();
        self.call.known() == Some(RequestMethod::CallTool) && (mode == Mode::Extension || declares())
    }

    fn note_task(&self, kind: &str, result: &JsonText) {
        if kind == tasks::KIND
            && let Ok(task) = Params::from_text(result.clone())
        {
            self.note_owner(&task);
        }
    }

    /// Notes whose task it is.
    fn note_owner(&self, task: &Params) {
        if let Ok(Some(id)) = task.read_str("taskId") {
            self.pool.tasks.note(&id, TaskOwner::of(self.call), None);
        }
    }

    pub(crate) fn extras(&self, mode: Mode) -> RequestOptions {
        let mut extras = RequestOptions::default();
        extras.progress = self.call.outbox.wants_progress();
        // In a session they were declared when it was opened.
        if let Ok(lead) = self.pool.lead()
            && !lead.has_sessions()
        {
            let lends = match mode {
                Mode::Extension if self.call.revision.has_sessions() => Lends::Tasks,
                _ if self.call.revision.has_sessions() => Lends::Nothing,
                _ => Lends::Extensions,
            };
            extras.capabilities = Some(lead.lent(&self.call.peer, lends));
        }
        extras
    }

    fn send(&self, client: &Client, extras: &RequestOptions) -> Result<Exchange, Error> {
        self.send_as(client, &self.call.method, &self.call.params, extras)
    }

    pub(crate) fn send_as(
        &self,
        client: &Client,
        method: &str,
        params: &Params,
        extras: &RequestOptions,
    ) -> Result<Exchange, Error> {
        match self.pool.options.extensions.method(&client.server().capabilities, method) {
            Some(known) if !client.revision().has_method(method) => {
                client.forward_extension(known.name, known.named_by, params, extras)
            }
            _ => client.forward(method, params, extras),
        }
    }

    /// Whether the server may send requests during this call.
    fn may_be_asked(&self) -> bool {
        Method::named(&self.call.method).is_some_and(|method| method.may_ask)
    }

    /// The ticket of the call, if its caller answers in another request.
    ///
    /// # Errors
    /// If the call waits at another replica: here it would run a second time.
    async fn ticket(&self) -> Result<Option<String>, Error> {
        let parks = self.may_be_asked() && !self.call.revision.has_sessions() && self.pool.lead()?.has_sessions();
        if !parks {
            return Ok(None);
        }
        let parked = &self.pool.parked;
        let ticket: Option<String> = Box::pin(self.call.inputs.step("proxy", || async { parked.ticket() })).await?;
        if ticket.as_ref().is_some_and(|ticket| !parked.has_issued(ticket)) {
            return Err(RpcError::internal(
                "the call waits for this answer at another replica of the proxy, or at one that was restarted; call again \
                 from the start",
            )
            .into());
        }
        Ok(ticket)
    }

    fn parked(&self, ticket: Option<&str>) -> Option<Open> {
        self.pool.parked.take(ticket?, self.call.principal())
    }

    async fn begin(&self, extras: &RequestOptions) -> Result<Open, Error> {
        let lead = self.pool.lead()?;
        let (upstream, lease) = match (lead.has_sessions(), self.may_be_asked()) {
            (false, _) => (lead, None),
            (true, false) => (Box::pin(self.pool.shared(&self.needs())).await?, None),
            (true, true) => {
                let lease = Box::pin(self.pool.lease(&self.needs())).await?;
                (lease.upstream.clone(), Some(lease))
            }
        };
        // Before the call is sent: the server may ask before this task runs again.
        let is_suspect = lease.as_ref().is_some_and(|lease| lease.is_suspect);
        let mut listening = self.may_be_asked().then(|| upstream.asking.listen(is_suspect));
        let sent = self.send(&upstream.client, extras);
        listening.iter_mut().for_each(|listening| listening.answered = sent.is_err());
        Ok(Open::new(upstream, lease, sent?, listening))
    }

    /// The response to a request, with all messages and requests before it.
    async fn follow(&self, mut open: Open, ticket: Option<&str>) -> Result<(Open, JsonText), Error> {
        let mut deadline = Deadline::new(self.pool.options.calls);
        loop {
            if !open.questions.is_empty() {
                open = Box::pin(self.answer(open, ticket)).await?;
            }
            let received = deadline.wait(&self.call.method, open.next()).await;
            if matches!(received, Ok(Received::Answer(_)) | Err(_)) {
                // Log messages before the response may arrive together with it.
                while let Some(line) = open.late_log() {
                    Box::pin(self.log(line)).await;
                }
            }
            match received? {
                Received::Log(line) => Box::pin(self.log(line)).await,
                Received::Notification(notification) => {
                    let (method, params) = &*notification;
                    Box::pin(self.notify(open.upstream.client.revision(), method, params)).await;
                }
                Received::Answer(answer) => {
                    open.lease.iter().filter(|_| open.asked == 0).for_each(Lease::was_quiet);
                    return Ok((open, answer));
                }
                Received::Question(question) => {
                    open.add(question);
                    if ticket.is_some() {
                        Box::pin(self.gather(&mut open)).await;
                    }
                }
            }
        }
    }

    /// Adds the requests that the server sends together with the last one: a round can have several.
    async fn gather(&self, open: &mut Open) {
        while open.questions.len() < TOGETHER
            && let Some(listening) = &mut open.listening
            && let Ok(aside) = timeout(GATHER, listening.asides.recv()).await
        {
            match aside {
                Aside::Log(line) => self.log(line).await,
                Aside::Question(question) => open.add(question),
            }
        }
    }

    /// Lets the caller answer. If it does so in another request, this one ends here, and the call waits.
    async fn answer(&self, mut open: Open, ticket: Option<&str>) -> Result<Open, Error> {
        let Some(ticket) = ticket else {
            for (key, Question { request, mut answer }) in std::mem::take(&mut open.questions) {
                tokio::select! {
                    biased;
                    said = self.ask(&key, &request) => drop(answer.send(said)),
                    // The server has cancelled it.
                    () = answer.closed() => {}
                }
            }
            return Ok(open);
        };
        let requests = open.questions.iter().map(|(key, question)| (key.clone(), question.request.clone()));
        let requests: Vec<_> = requests.collect();
        let mut asked = pin!(self.ask_all(&requests));
        // An answer that has arrived with this request is not waited for: a call that waits may be evicted.
        if let Poll::Ready(said) = poll_once(asked.as_mut()).await {
            return Ok(open.settle(said));
        }
        let principal = self.call.caller.as_ref().map(|caller| caller.principal().clone());
        match self.pool.parked.put(ticket, principal, open) {
            // The call is abandoned, and runs again with the answer.
            Err(open) => Ok(open.settle(asked.await)),
            Ok(()) => {
                let said = asked.await;
                let given_up =
                    || Error::new(ErrorKind::Closed, "the call was evicted while it waited for an answer; retry it");
                Ok(self.parked(Some(ticket)).ok_or_else(given_up)?.settle(said))
            }
        }
    }

    /// Asks the caller all requests in one round. Those that are answered before others are asked again in the next round,
    /// which has their answers.
    async fn ask_all(&self, requests: &[(String, InputRequest)]) -> Vec<Result<JsonText, RpcError>> {
        join::all(requests.iter().map(|(key, request)| self.ask(key, request))).await
    }

    pub(crate) fn needs(&self) -> Needs {
        let owner = Owner::of(self.call, self.hooks, self.pool.options.isolation, &self.pool.sets);
        let principal = self.call.caller.as_ref().map(|caller| caller.principal().clone());
        // In a session, all requests are for the same client.
        let expects = owner.session().map_or_else(|| Expects::of(self.call), |_| Expects::Nothing);
        Needs { owner, principal, expects }
    }

    /// The input requests of the server, as they are but for the hooks.
    async fn pass_on(&self, mut asks: Vec<(String, InputRequest)>, state: Option<String>) -> Result<Reply, Error> {
        if let Some(hooks) = self.hooks {
            for (_, ask) in &mut asks {
                *ask = hooks.input_request(self.call, ask.clone()).await.map_err(Error::from)?;
            }
        }
        Ok(Reply::InputRequired { asks, state })
    }

    pub(crate) async fn ask(&self, key: &str, question: &InputRequest) -> Result<JsonText, RpcError> {
        let ask = match self.hooks {
            Some(hooks) => Ask::of(&hooks.input_request(self.call, question.clone()).await?)?,
            None => Ask::of(question)?,
        };
        self.call.inputs.ask(self.call.revision, &self.call.peer, key, ask).await
    }

    async fn notify(&self, server: Revision, method: &str, params: &Params) {
        let outbox = &self.call.outbox;
        use NotificationMethod as N;
        match NotificationMethod::from_name(method) {
            Some(N::Progress) if server.index() == self.call.revision.index() => outbox.relay_progress(params).await,
            Some(N::Progress) => {
                if let Ok(ProgressParams { progress, total, message, .. }) = params.parse() {
                    outbox.progress(progress, total, message).await;
                }
            }
            Some(N::LogMessage) => {
                if let Ok(line) = params.parse() {
                    self.log(line).await;
                }
            }
            Some(N::ElicitationComplete) => {
                if let Ok(ElicitationCompleteParams { elicitation_id, .. }) = params.parse() {
                    outbox.elicitation_complete(elicitation_id).await;
                }
            }
            // No revision changes these in any way that is known here.
            Some(
                N::Initialized
                | N::Cancelled
                | N::ToolListChanged
                | N::PromptListChanged
                | N::ResourceListChanged
                | N::ResourceUpdated
                | N::SubscriptionAcknowledged
                | N::RootsListChanged
                | N::TaskStatusChanged,
            )
            | None => match self.translated(method, params.text()) {
                Some(params) if server.index() == self.call.revision.index() => {
                    outbox.notify(method, Raw(params)).await;
                }
                _ => tracing::debug!(method, "a notification is not forwarded"),
            },
        }
    }

    fn translated(&self, method: &str, params: &JsonText) -> Option<RawJson> {
        match self.hooks {
            Some(hooks) => hooks.notification(self.call.principal(), method, params.clone()).map(|own| own.to_raw()),
            None => Some(params.to_raw()),
        }
    }

    async fn log(&self, line: LogParams) {
        self.call.outbox.log(line.level, line.logger, line.data).await;
    }
}

/// Polls a future once; the task goes on in any case.
async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

/// Errors of the server are forwarded as they are; errors of the connection are reported as such.
pub(crate) fn reported(error: &Error) -> RpcError {
    match (error.rpc(), error.kind()) {
        (Some(reported), _) => reported.clone(),
        (None, ErrorKind::Unsupported) => RpcError::new(couplet_types::code::METHOD_NOT_FOUND, error.to_string()),
        (None, _) => RpcError::internal(format!("the server behind the proxy: {error}")),
    }
}
