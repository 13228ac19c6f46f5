//! What a handler can do while it runs: report progress, log, and ask the client.

use std::{
    fmt,
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Waker},
    time::Duration,
};

use couplet_core::{Ask, Call, JsonText, Peer, RequestContext};
use couplet_types::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams, ElicitResult,
    ListRootsResult, LoggingLevel, RawJson, Root, RpcError,
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    error::ToolError,
    extract::{FromCall, Invocation, Rejection},
    handle::ServerHandle,
    schema,
    signature::Signature,
};

/// The context of a call. Take it as a parameter of a tool, a resource or a prompt. Clones are the same context.
///
/// # Asking
///
/// [`elicit`](Ctx::elicit), [`sample`](Ctx::sample) and [`roots`](Ctx::roots) ask the client and wait for the answer.
/// With clients of 2026-07-28 there is no connection to wait on: the handler is dropped at the question, and *runs
/// again from the top* when the answer is there, with all earlier answers replayed. Four rules make a handler work in
/// every revision:
///
/// * **Side effects.** What comes before a question runs once per round. Put what must happen only once into a
///   [`step`](Ctx::step): its value is stored, and the work is not done again.
/// * **Keys.** A key names a question, or a step, among those of the call. Used again in one run, it names the next one
///   of that name, in the order of use: a loop over a question asks `age`, `age#2`, `age#3`. So the order must be the
///   same in each run. Futures that run at the same time, as in `join!`, count in the order in which they are polled
///   first: give them keys of their own where that order is not certain.
/// * **Texts.** A question must be the same in every round, its text, form and URL included. One that changes, because
///   it has a counter, the time or a random number in it, fails in the second round with an error that names the key
///   and both texts. Take what changes from a `step`.
/// * **Clients that cannot be asked.** The error is told to the model if a tool returns it, and to the client as an error
///   of the protocol otherwise. [`can_elicit`](Ctx::can_elicit) and its like say beforehand what can be asked;
///   [`require`](Ctx::require) fails the call.
///
/// `couplet_testing::Replay` checks the first three rules of a tool, in every revision.
///
/// ```
/// use couplet_server::{Ctx, Server, ToolError, schemars::JsonSchema, tool};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Confirm {
///     /// Really?
///     yes: bool,
/// }
///
/// async fn deploy(ctx: Ctx) -> Result<String, ToolError> {
///     let build: u32 = ctx.step("build", || async { 42 }).await?;
///     let answer = ctx.elicit::<Confirm>("confirm", format!("Deploy build {build}?")).await?.accepted()?;
///     ctx.progress(0.5, "rolling out").await;
///     Ok(if answer.yes { "deployed" } else { "left alone" }.to_owned())
/// }
///
/// let server: Server = Server::new("ops", "1.0.0").tool(tool("deploy", deploy));
/// ```
#[derive(Clone)]
pub struct Ctx(Arc<Inner>);

struct Inner {
    call: Call,
    server: ServerHandle,
}

impl Ctx {
    /// Who calls.
    pub fn peer(&self) -> &Peer {
        &self.0.call.peer
    }

    /// The call itself, for what has no method here.
    pub fn call(&self) -> &Call {
        &self.0.call
    }

    /// What the transport knows of the request, as the transport's own type; nothing on another transport.
    pub fn request<T: RequestContext>(&self) -> Option<Arc<T>> {
        self.0.call.request()
    }

    /// The id of the session that the call belongs to, where the transport has one. It is a secret: a
    /// client that knows it can use the session.
    pub fn session_id(&self) -> Option<&str> {
        self.0.call.session_id()
    }

    /// The server, to announce changes and to register things at run time.
    pub fn server(&self) -> &ServerHandle {
        &self.0.server
    }

    /// Reports which part is done, from 0 to 1, if the client asked to know.
    pub async fn progress(&self, part: f64, message: impl Into<String>) {
        self.0.call.outbox.progress(part, Some(1.0), Some(message.into())).await;
    }

    /// Reports how much is done, in any unit, if the client asked to know.
    pub async fn progress_with(&self, done: f64, total: Option<f64>, message: Option<String>) {
        self.0.call.outbox.progress(done, total, message).await;
    }

    /// Reports how much is done, from 0 to 1, without waiting: for functions that are not `async`. While the client reads
    /// too slowly, the report is dropped; returns whether there was room for it.
    ///
    /// A function that runs on the task of its connection holds it up, so its reports are sent after it: make it
    /// [`blocking`](crate::ToolBuilder::blocking).
    pub fn try_progress(&self, part: f64, message: impl Into<String>) -> bool {
        let report = pin!(self.0.call.outbox.progress(part, Some(1.0), Some(message.into())));
        report.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Sends a log message, if the client wants its level. Never log secrets.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    pub async fn log<T: Serialize + ?Sized>(&self, level: LoggingLevel, data: &T) {
        if self.0.call.outbox.wants_log(level) {
            match RawJson::new(data) {
                Ok(data) => self.0.call.outbox.log(level, None, data).await,
                Err(error) => tracing::warn!(%error, "a log message cannot be written as JSON"),
            }
        }
    }

    /// Logs at the level `debug`.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    pub async fn debug(&self, message: impl AsRef<str>) {
        self.log(LoggingLevel::Debug, message.as_ref()).await;
    }

    /// Logs at the level `info`.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    pub async fn info(&self, message: impl AsRef<str>) {
        self.log(LoggingLevel::Info, message.as_ref()).await;
    }

    /// Logs at the level `warning`.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    pub async fn warn(&self, message: impl AsRef<str>) {
        self.log(LoggingLevel::Warning, message.as_ref()).await;
    }

    /// Logs at the level `error`.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    pub async fn error(&self, message: impl AsRef<str>) {
        self.log(LoggingLevel::Error, message.as_ref()).await;
    }

    /// Lets the client hang up now and come back after a while for the answer, where the transport allows it: a call
    /// that takes long need not hold a connection open. Elsewhere nothing happens.
    pub fn release_stream(&self, come_back_after: Duration) {
        self.0.call.outbox.release(come_back_after);
    }

    /// Whether the client can ask the user to fill in a form: [`elicit`](Ctx::elicit) then works.
    ///
    /// ```
    /// use couplet_server::{Ctx, Server, ToolError, schemars::JsonSchema, tool};
    ///
    /// #[derive(serde::Deserialize, JsonSchema)]
    /// struct Confirm {
    ///     yes: bool,
    /// }
    ///
    /// async fn delete(ctx: Ctx) -> Result<&'static str, ToolError> {
    ///     if !ctx.can_elicit() {
    ///         return Err(ToolError::new("this deletes for good, and the user cannot be asked here"));
    ///     }
    ///     let sure = ctx.elicit::<Confirm>("sure", "Delete it?").await?.accepted()?;
    ///     Ok(if sure.yes { "deleted" } else { "left alone" })
    /// }
    ///
    /// let server: Server = Server::new("files", "1.0.0").tool(tool("delete", delete));
    /// ```
    pub fn can_elicit(&self) -> bool {
        self.0.call.can_elicit()
    }

    /// Whether the client can ask the user to open a page: [`elicit_url`](Ctx::elicit_url) then works.
    pub fn can_elicit_url(&self) -> bool {
        self.0.call.can_elicit_url()
    }

    /// Whether the client has a model that can be asked: [`sample`](Ctx::sample) then works.
    pub fn can_sample(&self) -> bool {
        self.0.call.can_sample()
    }

    /// Whether the client lists its roots: [`roots`](Ctx::roots) then works.
    pub fn can_list_roots(&self) -> bool {
        self.0.call.can_list_roots()
    }

    /// Fails unless the client has all of these capabilities, for a call that makes no sense without them. The error is
    /// the protocol's own, which names them: -32021 in 2026-07-28, and -32600 before. The model does not see it.
    ///
    /// ```
    /// use couplet_server::{Ctx, ToolError};
    /// use couplet_types::{ClientCapabilities, SamplingCapability};
    ///
    /// async fn summarize(ctx: Ctx) -> Result<String, ToolError> {
    ///     ctx.require(&ClientCapabilities::new().sampling(SamplingCapability::new()))?;
    ///     // ...
    ///     # Ok(String::new())
    /// }
    /// ```
    ///
    /// # Errors
    /// When the client lacks one of them.
    pub fn require(&self, capabilities: &ClientCapabilities) -> Result<(), RpcError> {
        self.0.call.require(capabilities)
    }

    /// Asks the user to fill in a form, which is made from the type: a flat struct of text, numbers, booleans and
    /// enums.
    ///
    /// The key names the question among those of this call; used again, it names the next question of that name. The
    /// message must be the same each time the handler runs: see [the rules](Ctx#asking).
    ///
    /// # Errors
    /// When the client cannot ask, is gone, or answers with something that is not the type. A tool that returns the error
    /// of a client that cannot ask tells the model; see [`can_elicit`](Ctx::can_elicit).
    pub async fn elicit<T: DeserializeOwned + JsonSchema>(
        &self,
        key: &str,
        message: impl Into<String>,
    ) -> Result<Answer<T>, RpcError> {
        let form = schema::elicit_form::<T>()
            .map_err(|e| RpcError::internal(format!("`{}` cannot be asked for in a form: {e}", T::schema_name())))?;
        let mut params = ElicitParams::default();
        params.message = message.into();
        params.requested_schema = Some(schema::order::print(&form));
        let result = self.elicit_with(key, params).await?;
        match result.action {
            ElicitAction::Accept => result.parse().map(Answer::Accepted).map_err(|e| wrong_answer(key, &e)),
            ElicitAction::Decline => Ok(Answer::Declined),
            ElicitAction::Cancel => Ok(Answer::Cancelled),
        }
    }

    /// Asks the user to visit a page, for what must not pass through the client. Accepting means consent, no more.
    ///
    /// Key, message and URL follow [the rules](Ctx#asking): take a URL with a random part from a [`step`](Ctx::step).
    ///
    /// # Errors
    /// When the client cannot ask, or is gone.
    pub async fn elicit_url(
        &self,
        key: &str,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<Answer<()>, RpcError> {
        let result = self.elicit_with(key, ElicitParams::visit(message, url)).await?;
        Ok(match result.action {
            ElicitAction::Accept => Answer::Accepted(()),
            ElicitAction::Decline => Answer::Declined,
            ElicitAction::Cancel => Answer::Cancelled,
        })
    }

    /// Asks the user, with a form written by hand. What is filled in is checked against the form.
    ///
    /// Key and question follow [the rules](Ctx#asking).
    ///
    /// # Errors
    /// When the form is not flat, or the address not one of the web; when the client cannot ask, is gone, or answers
    /// with something that the form does not allow.
    pub async fn elicit_with(&self, key: &str, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        let schema = if params.is_url() { None } else { params.schema().ok().flatten() };
        let mut result: ElicitResult = self.ask(key, Ask::Elicit(Box::new(params))).await?;
        if result.action != ElicitAction::Accept || schema.is_none() {
            // What comes with a visit or a refusal is nothing that was asked for.
            result.content = None;
        }
        if let (ElicitAction::Accept, Some(schema)) = (result.action, schema) {
            let content = result.content.get_or_insert_default();
            schema.check(content).map_err(|e| wrong_answer(key, &e))?;
        }
        Ok(result)
    }

    /// Tells the client that a visit is over, where it can be told: in 2025-11-25, with the id that the question of
    /// [`elicit_with`](Ctx::elicit_with) had.
    pub async fn elicitation_complete(&self, elicitation_id: impl Into<String>) {
        self.0.call.outbox.elicitation_complete(elicitation_id).await;
    }

    /// Asks the client's model. Key and question follow [the rules](Ctx#asking).
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
    ///
    /// # Errors
    /// When the client has no model to ask, the user says no, or the client is gone.
    pub async fn sample(&self, key: &str, params: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        self.ask(key, Ask::Sample(Box::new(params))).await
    }

    /// Asks which folders the client has open.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
    /// resources or from the configuration instead.
    ///
    /// # Errors
    /// When the client does not tell, or is gone.
    pub async fn roots(&self) -> Result<Vec<Root>, RpcError> {
        self.ask::<ListRootsResult>("roots", Ask::Roots).await.map(|r| r.roots)
    }

    /// Runs `work` once per call, however often the handler runs, and returns what it returned. The value travels
    /// through the client, which can read it and cannot change it.
    ///
    /// A key that is used again in one run names the next step of that name, which does its own work: three steps `n`
    /// in a loop work three times. Work that is not done when the handler is dropped at a question that is asked at the
    /// same time, as in `join!`, is begun again.
    ///
    /// # Errors
    /// When the value cannot be written as JSON, or not be read back.
    pub async fn step<T, F, Fut>(&self, key: &str, work: F) -> Result<T, RpcError>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        self.0.call.inputs.step(key, work).await
    }

    async fn ask<T: DeserializeOwned>(&self, key: &str, ask: Ask) -> Result<T, RpcError> {
        let call = &self.0.call;
        let answer: JsonText = call.inputs.ask(call.revision, &call.peer, key, ask).await?;
        answer.parse().map_err(|e| wrong_answer(key, &e))
    }
}

fn wrong_answer(key: &str, error: &dyn fmt::Display) -> RpcError {
    RpcError::invalid_params(format!("the answer to `{key}` is not valid: {error}"))
}

impl<S: Sync> FromCall<S> for Ctx {
    fn describe(signature: &mut Signature) {
        signature.talks = true;
    }

    async fn from_call(invocation: &Invocation, _: &S) -> Result<Self, Rejection> {
        let Invocation { call, server, .. } = invocation.clone();
        Ok(Self(Arc::new(Inner { call, server })))
    }
}

impl fmt::Debug for Ctx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ctx").field(&self.0.call.method).finish()
    }
}

/// What the user said to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// The form, filled in.
    Accepted(T),
    /// No.
    Declined,
    /// Nothing: the question was put away.
    Cancelled,
}

impl<T> Answer<T> {
    /// The form, or an error for the model that says that there was none.
    ///
    /// # Errors
    /// When the user declined, or put the question away.
    pub fn accepted(self) -> Result<T, ToolError> {
        match self {
            Self::Accepted(value) => Ok(value),
            Self::Declined => Err(ToolError::new("the user declined")),
            Self::Cancelled => Err(ToolError::new("the user did not answer")),
        }
    }
}
