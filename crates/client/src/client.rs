//! The client.

use std::{fmt, sync::Arc};

use couplet_core::{
    CallTarget, Change, Channel, Dialect, Error, ErrorKind, Limits, Method, Observer, Outcome, Project,
};
use couplet_types::{
    CallTool, CallToolParams, Complete, CompleteParams, Completion, CompletionReference, DiscoverResult, GetPrompt,
    GetPromptParams, Implementation, InitializeResult, LoggingLevel, Notification, NotificationParams, Ping,
    PingParams, Prompt, ProtocolVersion, RawJson, ReadResource, ReadResourceParams, Request, Resource,
    ResourceTemplate, Root, RootsListChanged, RpcError, ServerCapabilities, SetLevel, SetLevelParams, Tool, code,
};
use serde::Serialize;
use tokio::sync::watch;

use crate::{
    builder::ClientBuilder,
    callbacks::check_roots,
    incoming::Incoming,
    middleware::outgoing,
    notify::Notifications,
    page::Pages,
    request::{RequestBuilder, completion, parsed},
    result::ToolResult,
    sync::lock,
    timeout::Timeouts,
};

/// A connection to a server.
///
/// A client is made with [`Client::new`], which returns a [`ClientBuilder`], and [`ClientBuilder::connect`], which
/// negotiates a protocol revision. The same methods work in every revision. Clones share the connection; it is closed
/// when the last clone is dropped, or with [`Client::close`].
///
/// ```
/// # async fn example(server: std::sync::Arc<dyn couplet_core::Service>) -> Result<(), couplet_core::Error> {
/// use couplet_client::Client;
/// use serde_json::json;
///
/// let client = Client::new("demo", "1.0.0")
///     .on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) })
///     .connect(server)
///     .await?;
/// for tool in client.tools().await? {
///     tracing::info!("{}", tool.name);
/// }
/// let weather: serde_json::Value = client.call("weather", json!({ "city": "Oslo" })).await?.structured()?;
/// # let _ = weather;
/// # Ok(())
/// # }
/// ```
///
/// # Requests
///
/// [`Client::call`], [`Client::read`], [`Client::prompt`] and the others return a [`RequestBuilder`], a request that is
/// sent when it is awaited. It can be given a timeout, a progress callback or `_meta` first. Dropping the future
/// cancels the request.
///
/// ```
/// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
/// use std::time::Duration;
///
/// let build = client.call("build", ()).timeout(Duration::from_secs(600)).on_progress(|p| tracing::info!(p.progress));
/// let log = build.await?.into_result()?.text();
/// # drop(log);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// A request fails with [`ErrorKind::Rpc`] if the server responds with an error, with [`ErrorKind::Timeout`] or
/// [`ErrorKind::Closed`] if there is no response, and with [`ErrorKind::Unsupported`], without being sent, if the
/// revision or the server does not have the method. A tool that fails is not an error of the request: see
/// [`ToolResult::into_result`].
///
/// # Requests of the server
///
/// A server can elicit input, sample the client's model or list its roots while it serves a request. Callbacks of the
/// [`ClientBuilder`] answer, whether the server sends a request in a session or an `input_required` result
/// (2026-07-28).
///
/// # Notifications
///
/// [`Client::listen`] subscribes to changes of lists and resources, in every revision. [`Client::notifications`] is the
/// stream of all notifications that belong to no request.
#[doc = include_str!("docs/requests.md")]
#[derive(Clone)]
pub struct Client(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) channel: Arc<dyn Channel>,
    pub(crate) incoming: Arc<Incoming>,
    pub(crate) server: ServerInfo,
    pub(crate) timeouts: Timeouts,
    pub(crate) rounds: usize,
    pub(crate) limits: Limits,
    pub(crate) ending: watch::Receiver<Option<Result<(), Error>>>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
}

/// The description of the server, from `server/discover` or `initialize`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The name and version that the server reports. Not authenticated.
    pub info: Option<Implementation>,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// Instructions for the model on how to use the server.
    pub instructions: Option<String>,
    /// The negotiated protocol revision, for display. To learn what it includes, use [`Client::revision`].
    pub version: ProtocolVersion,
}

impl Client {
    /// Returns a builder of a client with this name and version.
    #[expect(clippy::new_ret_no_self, reason = "there is no client before there is a connection")]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(Implementation::new(name, version))
    }

    /// Returns the description of the server.
    pub fn server(&self) -> &ServerInfo {
        &self.0.server
    }

    /// Returns the transport of the connection, as OpenTelemetry's `network.transport`: `pipe`, `tcp`, `unix` or `quic`;
    /// `None` if it is not known, or in this process.
    pub fn transport(&self) -> Option<&'static str> {
        self.channel().transport()
    }

    /// Lists all tools: every page, up to 64 pages and 10,000 tools. A server without the capability has none.
    ///
    /// # Errors
    /// If a request fails, or if the list is longer.
    pub async fn tools(&self) -> Result<Vec<Tool>, Error> {
        self.tool_pages().all().await
    }

    /// Returns the pages of the list of tools, as a stream.
    pub fn tool_pages(&self) -> Pages<Tool> {
        Pages::tools(self)
    }

    /// Lists all resources, like [`Client::tools`].
    ///
    /// # Errors
    /// If a request fails, or if the list is too long.
    pub async fn resources(&self) -> Result<Vec<Resource>, Error> {
        self.resource_pages().all().await
    }

    /// Returns the pages of the list of resources, as a stream.
    pub fn resource_pages(&self) -> Pages<Resource> {
        Pages::resources(self)
    }

    /// Lists all resource templates, like [`Client::tools`].
    ///
    /// # Errors
    /// If a request fails, or if the list is too long.
    pub async fn resource_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        self.resource_template_pages().all().await
    }

    /// Returns the pages of the list of resource templates, as a stream.
    pub fn resource_template_pages(&self) -> Pages<ResourceTemplate> {
        Pages::resource_templates(self)
    }

    /// Lists all prompts, like [`Client::tools`].
    ///
    /// # Errors
    /// If a request fails, or if the list is too long.
    pub async fn prompts(&self) -> Result<Vec<Prompt>, Error> {
        self.prompt_pages().all().await
    }

    /// Returns the pages of the list of prompts, as a stream.
    pub fn prompt_pages(&self) -> Pages<Prompt> {
        Pages::prompts(self)
    }

    /// Calls a tool. The arguments are any type that serializes to a JSON object; `()` is for none.
    ///
    /// A tool that fails returns a result like any other: use [`ToolResult::into_result`] to turn it into an error.
    pub fn call(&self, name: impl Into<String>, arguments: impl Serialize) -> RequestBuilder<CallTool, ToolResult> {
        let params = object("the arguments of a tool", &arguments).map(|arguments| {
            let mut params = CallToolParams::new(name);
            params.arguments = arguments;
            params
        });
        RequestBuilder::new(self, params, |outcome| parsed::<CallTool>(outcome).map(ToolResult::from))
    }

    /// Calls a tool and returns the first outcome, which may be input requests (2026-07-28). For gateways and other
    /// programs that carry out the rounds themselves, and send the responses in the parameters of [`Client::request`].
    pub fn call_outcome(
        &self,
        name: impl Into<String>,
        arguments: impl Serialize,
    ) -> RequestBuilder<CallTool, Outcome> {
        self.call(name, arguments).outcome()
    }

    /// Reads a resource. The result has one content or several: the files of a folder, for example.
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
    /// let result = client.read("notes://today").await?;
    /// for content in &result.contents {
    ///     tracing::info!(uri = content.uri, "read");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn read(&self, uri: impl Into<String>) -> RequestBuilder<ReadResource> {
        self.request(ReadResourceParams::new(uri))
    }

    /// Gets a prompt. The arguments are any type that serializes to a JSON object of strings; `()` is for none.
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
    /// use serde_json::json;
    ///
    /// let plan = client.prompt("plan", json!({ "city": "Oslo", "days": "2" })).await?;
    /// assert!(!plan.messages.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn prompt(&self, name: impl Into<String>, arguments: impl Serialize) -> RequestBuilder<GetPrompt> {
        let params = object("the arguments of a prompt", &arguments).and_then(|arguments| {
            let mut params = GetPromptParams::new(name);
            params.arguments = arguments.map(|a| a.parse()).transpose().map_err(|e| {
                Error::new(ErrorKind::Config, "the arguments of a prompt must be strings").with_source(e)
            })?;
            Ok(params)
        });
        RequestBuilder::new(self, params, parsed::<GetPrompt>)
    }

    /// Requests completions for an argument of a prompt or a resource template, given its value so far.
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
    /// use couplet_types::CompletionReference;
    ///
    /// let plan = CompletionReference::prompt("plan");
    /// let cities = client.complete(plan, "city", "Os").context([("country", "Norway")]).await?;
    /// assert!(cities.values.len() <= 100);
    /// # Ok(())
    /// # }
    /// ```
    pub fn complete(
        &self,
        reference: impl Into<CompletionReference>,
        argument: impl Into<String>,
        value: impl Into<String>,
    ) -> RequestBuilder<Complete, Completion> {
        RequestBuilder::new(self, Ok(CompleteParams::new(reference, argument, value)), completion)
    }

    /// Sends any request of the protocol or of an extension.
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
    /// use couplet_types::{ListTools, ListToolsParams};
    ///
    /// let first_page = client.request::<ListTools>(ListToolsParams::new()).await?;
    /// # let _ = first_page.next_cursor;
    /// # Ok(())
    /// # }
    /// ```
    pub fn request<R: Request>(&self, params: R::Params) -> RequestBuilder<R>
    where
        R::Params: Project,
    {
        RequestBuilder::new(self, Ok(params), parsed::<R>)
    }

    /// Sends a `ping` and waits for the response.
    ///
    /// # Errors
    /// If the server does not answer, or if the revision has no `ping` (2026-07-28).
    pub async fn ping(&self) -> Result<(), Error> {
        self.request::<Ping>(PingParams::new()).await.map(drop)
    }

    /// Sets the minimum level of the log messages that the server sends.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    ///
    /// # Errors
    /// If the server does not support logging, or if the request fails.
    pub async fn set_log_level(&self, level: LoggingLevel) -> Result<(), Error> {
        let dialect = self.dialect();
        if dialect.has_sessions() {
            return self.request::<SetLevel>(SetLevelParams::new(level)).await.map(drop);
        }
        // Without a session, every request carries the level.
        dialect.check(SetLevel::METHOD, &self.server().capabilities)?;
        let mut dialect = Dialect::clone(&dialect);
        dialect.set_log_level(Some(level));
        self.incoming().agree(dialect);
        Ok(())
    }

    /// Replaces the roots, and notifies the server if there is a session.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
    /// resources or from the configuration instead.
    ///
    /// # Errors
    /// If the client was built without [`ClientBuilder::roots`], or if a root is not a `file://` URI.
    pub async fn set_roots(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), Error> {
        let roots: Vec<_> = roots.into_iter().collect();
        check_roots(&roots)?;
        let Some(known) = &self.incoming().callbacks.roots else {
            return Err(Error::new(
                ErrorKind::Config,
                "the client was built without `roots`: call `ClientBuilder::roots` before `connect`",
            ));
        };
        *lock(known) = roots;
        let dialect = self.dialect();
        let params = NotificationParams::new();
        if dialect.has_sessions()
            && let Some(message) = outgoing(&self.incoming().middleware, &dialect, RootsListChanged::METHOD, &params)
        {
            self.channel().notify(message);
        }
        Ok(())
    }

    /// Returns a stream of the notifications that belong to no request, from now on: log messages, changes in a
    /// session, and others. For changes in every revision, use [`Client::listen`].
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
    /// let mut notifications = client.notifications();
    /// while let Some(notice) = notifications.next().await {
    ///     if let Some(change) = notice.change() {
    ///         tracing::info!(?change, "changed");
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn notifications(&self) -> Notifications {
        Notifications(self.incoming().read_notices())
    }

    /// Closes the connection gracefully, and waits until it is closed. A child process is asked to exit, and ended if it does
    /// not; a session over HTTP is deleted. Requests in flight fail with [`ErrorKind::Closed`].
    ///
    /// After [`ClientBuilder::connect_with_driver`] the [`Driver`](crate::Driver) has to run for this to complete.
    ///
    /// # Errors
    /// If the connection failed.
    pub async fn close(&self) -> Result<(), Error> {
        self.channel().close();
        self.closed().await
    }

    /// Waits until the connection is closed by either side, for example because the server exited.
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client) {
    /// if let Err(error) = client.closed().await {
    ///     tracing::warn!(%error, "the server is gone");
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// The reason, unless this side closed the connection.
    pub async fn closed(&self) -> Result<(), Error> {
        let mut ending = self.0.ending.clone();
        // A driver that was dropped has ended, too.
        ending.wait_for(Option::is_some).await.map_or(Ok(()), |ending| ending.clone().unwrap_or(Ok(())))
    }

    /// Returns whether the connection is closed. Requests then fail with [`ErrorKind::Closed`].
    pub fn is_closed(&self) -> bool {
        self.0.ending.borrow().is_some()
    }

    pub(crate) fn from_shared(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    pub(crate) fn channel(&self) -> &dyn Channel {
        &*self.0.channel
    }

    pub(crate) fn incoming(&self) -> &Arc<Incoming> {
        &self.0.incoming
    }

    /// Invalidates the cached list that an error shows to be outdated.
    pub(crate) fn invalidate_after(&self, method: &str, error: &RpcError) {
        let change = match Method::named(method).and_then(|method| method.target) {
            Some(CallTarget::Tool) => Change::Tools,
            Some(CallTarget::Prompt) => Change::Prompts,
            Some(CallTarget::Resource) => Change::Resources,
            None => return,
        };
        if [code::METHOD_NOT_FOUND, code::INVALID_PARAMS, code::RESOURCE_NOT_FOUND].contains(&error.code) {
            self.incoming().invalidate(&change);
        }
    }

    pub(crate) fn dialect(&self) -> Arc<Dialect> {
        self.incoming().dialect().expect("a client exists only after both sides have agreed")
    }

    pub(crate) fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.0.observer.as_ref()
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.0.timeouts
    }

    pub(crate) fn rounds(&self) -> usize {
        self.0.rounds
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.0.server).finish_non_exhaustive()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.channel.close();
    }
}

impl ServerInfo {
    pub(crate) fn discovered(version: ProtocolVersion, result: &DiscoverResult, info: Option<Implementation>) -> Self {
        Self { info, capabilities: result.capabilities.clone(), instructions: result.instructions.clone(), version }
    }

    pub(crate) fn initialized(version: ProtocolVersion, result: InitializeResult) -> Self {
        let InitializeResult { capabilities, server_info, instructions, .. } = result;
        Self { info: Some(server_info), capabilities, instructions, version }
    }
}

/// Serializes a value to an object; `None` for `null`.
fn object(what: &str, value: &impl Serialize) -> Result<Option<RawJson>, Error> {
    let wrong = || Error::new(ErrorKind::Config, format!("{what} must serialize to a JSON object"));
    let raw = RawJson::new(value).map_err(|e| wrong().with_source(e))?;
    match raw.get() {
        "null" => Ok(None),
        _ if raw.is_object() => Ok(Some(raw)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use couplet_core::{BoxFuture, Call, Description, Filter, Hub, Operation, Reply, Service};
    use couplet_types::RequestMethod;

    use super::*;

    /// A server that has every capability, and no answers.
    struct Bare(Hub);

    impl Service for Bare {
        fn describe(&self) -> Arc<Description> {
            let all = r#"{"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{}}"#;
            let capabilities = couplet_types::from_json(all).unwrap();
            Arc::new(Description::new(Implementation::new("bare", "1"), capabilities))
        }

        fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
            Box::pin(std::future::ready(RpcError::internal(call.method).into()))
        }

        fn hub(&self) -> &Hub {
            &self.0
        }
    }

    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<String>>>);

    impl Observer for Seen {
        fn done(&self, operation: &Operation<'_>) {
            lock(&self.0).push(operation.method.to_owned());
        }
    }

    /// Sends a request with its function of [`Client`]; false if another part of the client, or none, sends it.
    async fn send(client: &Client, method: RequestMethod) -> bool {
        use RequestMethod as M;
        match method {
            M::CallTool => drop(client.call("a", ()).await),
            M::ListTools => drop(client.tools().await),
            M::ReadResource => drop(client.read("a://b").await),
            M::ListResources => drop(client.resources().await),
            M::ListResourceTemplates => drop(client.resource_templates().await),
            M::GetPrompt => drop(client.prompt("a", ()).await),
            M::ListPrompts => drop(client.prompts().await),
            M::Complete => drop(client.complete(CompletionReference::prompt("a"), "b", "c").await),
            M::Ping => drop(client.ping().await),
            M::SetLevel => drop(client.set_log_level(LoggingLevel::Info).await),
            // `Client::listen` sends these, and they are no operations for an observer.
            M::Listen | M::Subscribe | M::Unsubscribe => drop(client.listen(Filter::new()).await),
            // Connecting sends these.
            M::Initialize | M::Discover => return false,
            // An extension sends these.
            M::GetTask | M::GetTaskPayload | M::ListTasks | M::CancelTask => return false,
            // Only servers send these.
            M::CreateMessage | M::ListRoots | M::Elicit => return false,
        }
        !matches!(method, M::Listen | M::Subscribe | M::Unsubscribe)
    }

    #[tokio::test]
    async fn each_request_has_a_function() {
        for &version in ProtocolVersion::ALL {
            let seen = Seen::default();
            let server: Arc<dyn Service> = Arc::new(Bare(Hub::new()));
            let client = Client::new("test", "1").versions([version]).observer(seen.clone());
            let client = client.connect(server).await.unwrap();
            for method in RequestMethod::ALL.iter().filter(|m| client.dialect().revision().has_method(m.as_str())) {
                lock(&seen.0).clear();
                let is_sent = send(&client, *method).await;
                assert_eq!(lock(&seen.0).iter().any(|sent| sent == method.as_str()), is_sent, "{method} in {version}");
            }
        }
    }
}
