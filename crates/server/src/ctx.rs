//! The context of a call: progress, logging, elicitation, sampling and roots.

use std::{
    borrow::Cow,
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

/// The context of a call: progress, logging, elicitation, sampling and roots. Take it as a parameter of a tool, a resource
/// or a prompt. Clones share the context.
///
/// # Requests to the client
///
/// [`elicit`](Ctx::elicit), [`sample`](Ctx::sample) and [`roots`](Ctx::roots) send a request to the client and wait for
/// the answer. Since 2026-07-28 there is no session to wait on: the call becomes a multi-round-trip request. The handler
/// is dropped at the request, and *runs again from the top* when the answer arrives, with all earlier answers replayed.
/// Four rules make a handler work in every revision:
///
/// * **Side effects.** Code before a request runs once per round. Wrap work that must happen only once in a
///   [`step`](Ctx::step): its value is stored, and the work is not repeated.
/// * **Keys.** A key identifies a request, or a step, within the call. Used again in one run, it identifies the next one
///   of that name, in the order of use: a loop over a request uses `age`, `age#2`, `age#3`. So the order must be the
///   same in each run. Concurrent futures, as in `join!`, count in the order in which they are first polled: use
///   different keys where that order is not deterministic.
/// * **Determinism.** A request must be the same in every round: message, form and URL. If it changes, because it contains
///   a counter, the time or a random number, the second round fails with an error that has the key and both messages.
///   Take such values from a `step`.
/// * **Missing capabilities.** If the client lacks the capability, the request fails. The model sees that error if a tool
///   returns it; elsewhere it is a protocol error. [`can_elicit`](Ctx::can_elicit) and its siblings check beforehand;
///   [`require`](Ctx::require) fails the call.
///
/// `couplet_testing::Replay` tests the first three rules for a tool, in every revision.
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
///     Ok(if answer.yes { "deployed" } else { "not deployed" }.to_owned())
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
    /// Returns the client: its name, version and capabilities.
    pub fn peer(&self) -> &Peer {
        &self.0.call.peer
    }

    /// Returns the call itself, for everything without a method here.
    pub fn call(&self) -> &Call {
        &self.0.call
    }

    /// Returns the transport's request in its own type, such as `HttpRequest`; `None` on another transport.
    pub fn request<T: RequestContext>(&self) -> Option<Arc<T>> {
        self.0.call.request()
    }

    /// Returns the session id, on transports with sessions. It is a secret: a client that knows it can use the session.
    pub fn session_id(&self) -> Option<&str> {
        self.0.call.session_id()
    }

    /// Returns the idempotency key of the call, if its client sent one: pass it on to services that have such keys as well.
    pub fn idempotency_key(&self) -> Option<Cow<'_, str>> {
        self.0.call.idempotency_key().ok().flatten()
    }

    /// Returns the server, to notify clients and to register tools at run time.
    pub fn server(&self) -> &ServerHandle {
        &self.0.server
    }

    /// Reports progress as a fraction from 0 to 1, if the client requested it. It waits while the client reads too slowly.
    ///
    /// Progress also restarts the client's idle timeout: a long call should report some.
    ///
    /// ```
    /// use couplet_server::{Ctx, Server, tool};
    ///
    /// async fn import(ctx: Ctx) -> &'static str {
    ///     for part in 1..=4 {
    ///         // ...
    ///         ctx.progress(f64::from(part) / 4.0, format!("part {part} of 4")).await;
    ///     }
    ///     "imported"
    /// }
    ///
    /// let server: Server = Server::new("data", "1.0.0").tool(tool("import", import));
    /// ```
    pub async fn progress(&self, part: f64, message: impl Into<String>) {
        self.0.call.outbox.progress(part, Some(1.0), Some(message.into())).await;
    }

    /// Reports progress in any unit, if the client requested it. It waits while the client reads too slowly.
    pub async fn progress_with(&self, done: f64, total: Option<f64>, message: Option<String>) {
        self.0.call.outbox.progress(done, total, message).await;
    }

    /// Reports progress as a fraction from 0 to 1 without waiting, for functions that are not `async`. While the client reads
    /// too slowly, the report is dropped. Returns whether it was queued.
    ///
    /// A function that runs on the task of its connection blocks it, so its reports are sent after it returns: make it
    /// [`blocking`](crate::ToolBuilder::blocking).
    pub fn try_progress(&self, part: f64, message: impl Into<String>) -> bool {
        let report = pin!(self.0.call.outbox.progress(part, Some(1.0), Some(message.into())));
        report.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Sends a log message, if the client requested its level. Never log secrets.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    pub async fn log<T: Serialize + ?Sized>(&self, level: LoggingLevel, data: &T) {
        if self.0.call.outbox.wants_log(level) {
            match RawJson::new(data) {
                Ok(data) => self.0.call.outbox.log(level, None, data).await,
                Err(error) => tracing::warn!(%error, "a log message cannot be serialized"),
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

    /// Closes the HTTP stream of a long call; the client reconnects after `retry_after` and resumes it (2025-11-25). A no-op
    /// on other transports and in other revisions.
    pub fn release_stream(&self, retry_after: Duration) {
        self.0.call.outbox.release(retry_after);
    }

    /// Returns whether the client supports form elicitation: [`elicit`](Ctx::elicit).
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
    ///         return Err(ToolError::new("this cannot be undone, and the client cannot ask the user"));
    ///     }
    ///     let sure = ctx.elicit::<Confirm>("sure", "Delete it?").await?.accepted()?;
    ///     Ok(if sure.yes { "deleted" } else { "not deleted" })
    /// }
    ///
    /// let server: Server = Server::new("files", "1.0.0").tool(tool("delete", delete));
    /// ```
    pub fn can_elicit(&self) -> bool {
        self.0.call.can_elicit()
    }

    /// Returns whether the client supports URL elicitation: [`elicit_url`](Ctx::elicit_url).
    pub fn can_elicit_url(&self) -> bool {
        self.0.call.can_elicit_url()
    }

    /// Returns whether the client supports sampling: [`sample`](Ctx::sample).
    pub fn can_sample(&self) -> bool {
        self.0.call.can_sample()
    }

    /// Returns whether the client lists its roots: [`roots`](Ctx::roots).
    pub fn can_list_roots(&self) -> bool {
        self.0.call.can_list_roots()
    }

    /// Fails unless the client has all of these capabilities, for a call that is useless without them. The protocol error
    /// names them: -32021 in 2026-07-28, and -32600 before. The model does not see it.
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
    /// If the client lacks one of them.
    pub fn require(&self, capabilities: &ClientCapabilities) -> Result<(), RpcError> {
        self.0.call.require(capabilities)
    }

    /// Form elicitation: asks the user to fill in a form, which is derived from the type: a flat struct of strings, numbers,
    /// booleans and enums.
    ///
    /// ```
    /// use couplet_server::{Answer, Ctx, Server, ToolError, schemars::JsonSchema, tool};
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Order {
    ///     /// How many?
    ///     #[schemars(range(min = 1, max = 10))]
    ///     count: u32,
    ///     /// Which size?
    ///     size: Size,
    ///     /// A note for the kitchen.
    ///     note: Option<String>,
    /// }
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// #[serde(rename_all = "lowercase")]
    /// enum Size {
    ///     Small,
    ///     Large,
    /// }
    ///
    /// async fn order(ctx: Ctx) -> Result<String, ToolError> {
    ///     Ok(match ctx.elicit::<Order>("order", "What may it be?").await? {
    ///         Answer::Accepted(order) => format!("{} ordered", order.count),
    ///         Answer::Declined => "the user does not want to order".to_owned(),
    ///         Answer::Cancelled => "the user closed the form".to_owned(),
    ///     })
    /// }
    ///
    /// let server: Server = Server::new("pizza", "1.0.0").tool(tool("order", order));
    /// ```
    ///
    /// The key identifies the request within this call. The message must be the same each time the handler runs: see
    /// [the rules](Ctx#requests-to-the-client).
    ///
    /// # Errors
    /// If the client lacks the capability, disconnects, or sends content that does not fit the type.
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

    /// URL elicitation: asks the user to open a page, for data that must not pass through the client. `Accepted` means that
    /// the user agreed to open it, not that they finished.
    ///
    /// Key, message and URL follow [the rules](Ctx#requests-to-the-client): take a URL with a random part from a
    /// [`step`](Ctx::step).
    ///
    /// ```
    /// use couplet_server::{Ctx, Server, ToolError, tool};
    ///
    /// async fn connect(ctx: Ctx) -> Result<&'static str, ToolError> {
    ///     // A random token that belongs to this call, created once.
    ///     let token: String = ctx.step("token", || async { "d2hhdA".to_owned() }).await?;
    ///     let url = format!("https://accounts.example.com/connect?token={token}");
    ///     ctx.elicit_url("login", "Connect your account.", url).await?.accepted()?;
    ///     // The user agreed to open the page. Whether the account is connected is known from the page's own server.
    ///     Ok("the page was opened")
    /// }
    ///
    /// let server: Server = Server::new("accounts", "1.0.0").tool(tool("connect", connect));
    /// ```
    ///
    /// # Errors
    /// If the client lacks the capability, or disconnects.
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

    /// Elicitation with parameters written by hand. The content is validated against the form.
    ///
    /// Key and parameters follow [the rules](Ctx#requests-to-the-client).
    ///
    /// # Errors
    /// If the form is not flat, or the URL is not `http` or `https`; if the client lacks the capability, disconnects, or sends
    /// content that the form does not allow.
    pub async fn elicit_with(&self, key: &str, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        let schema = if params.is_url() { None } else { params.schema().ok().flatten() };
        let mut result: ElicitResult = self.ask(key, Ask::Elicit(Box::new(params))).await?;
        if result.action != ElicitAction::Accept || schema.is_none() {
            // Content beside a URL elicitation or a refusal was not requested.
            result.content = None;
        }
        if let (ElicitAction::Accept, Some(schema)) = (result.action, schema) {
            let content = result.content.get_or_insert_default();
            schema.check(content).map_err(|e| wrong_answer(key, &e))?;
        }
        Ok(result)
    }

    /// Notifies the client that a URL elicitation has completed (2025-11-25 only; a no-op elsewhere). The id is the one that
    /// [`elicit_with`](Ctx::elicit_with) sent.
    pub async fn elicitation_complete(&self, elicitation_id: impl Into<String>) {
        self.0.call.outbox.elicitation_complete(elicitation_id).await;
    }

    /// Sampling: requests a completion from the client's model. Key and parameters follow
    /// [the rules](Ctx#requests-to-the-client).
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: call a model's provider instead.
    ///
    /// ```
    /// use couplet_server::{Ctx, Server, ToolError, tool};
    /// use couplet_types::{CreateMessageParams, SamplingMessage};
    ///
    /// async fn summarize(ctx: Ctx) -> Result<String, ToolError> {
    ///     let params = CreateMessageParams::new(vec![SamplingMessage::user("Summarize: it rained all day.")], 100);
    ///     let answer = ctx.sample("summary", params).await?;
    ///     Ok(format!("{} wrote a summary", answer.model))
    /// }
    ///
    /// let server: Server = Server::new("notes", "1.0.0").tool(tool("summarize", summarize));
    /// ```
    ///
    /// # Errors
    /// If the client lacks the capability, the user declines, or the client disconnects.
    pub async fn sample(&self, key: &str, params: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        self.ask(key, Ask::Sample(Box::new(params))).await
    }

    /// Requests the client's roots: the folders that it works in.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
    /// resources or from the configuration instead.
    ///
    /// ```
    /// use couplet_server::{Ctx, Server, ToolError, tool};
    ///
    /// async fn folders(ctx: Ctx) -> Result<String, ToolError> {
    ///     if !ctx.can_list_roots() {
    ///         return Ok("the client has no folders".to_owned());
    ///     }
    ///     let roots = ctx.roots().await?;
    ///     Ok(roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join("\n"))
    /// }
    ///
    /// let server: Server = Server::new("files", "1.0.0").tool(tool("folders", folders));
    /// ```
    ///
    /// # Errors
    /// If the client lacks the capability, or disconnects.
    pub async fn roots(&self) -> Result<Vec<Root>, RpcError> {
        self.ask::<ListRootsResult>("roots", Ask::Roots).await.map(|r| r.roots)
    }

    /// Runs `work` once per call, however often the handler runs, and returns its value. The value travels through the
    /// client, which can read it and cannot change it.
    ///
    /// A key that is used again in one run identifies the next step of that name: three steps `n` in a loop run three
    /// times.
    ///
    /// # Cancellation
    /// Work that is unfinished when the handler is dropped at a concurrent request, as in `join!`, is started again.
    ///
    /// # Errors
    /// If the value cannot be serialized, or deserialized in the next round.
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

/// The user's answer to an elicitation. The protocol has these three, in every revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// The user submitted the form, or agreed to open the URL.
    Accepted(T),
    /// The user declined.
    Declined,
    /// The user dismissed the request without an answer.
    Cancelled,
}

impl<T> Answer<T> {
    /// Returns the accepted value, or an error for the model.
    ///
    /// # Errors
    /// If the user declined, or dismissed the request.
    pub fn accepted(self) -> Result<T, ToolError> {
        match self {
            Self::Accepted(value) => Ok(value),
            Self::Declined => Err(ToolError::new("the user declined")),
            Self::Cancelled => Err(ToolError::new("the user did not answer")),
        }
    }
}
