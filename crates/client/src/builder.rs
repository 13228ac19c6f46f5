//! The client builder.

use std::{fmt, future::Future, sync::Arc, sync::Mutex, time::Duration};

use couplet_core::{Connect, Error, IntoTarget, JsonText, Limits, Observer};
use couplet_types::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitResult, Implementation, InputRequest,
    LogParams, LoggingLevel, ProtocolVersion, Root, RpcError,
};
use tokio::time::Instant;

use crate::{
    cache::{Cache, Seat},
    callbacks::{Callbacks, callback, check_roots},
    client::{Client, Shared},
    connect::{self, Greeting},
    driver::{Driver, beside},
    elicitation::Elicitation,
    extension::{Extension, Extensions},
    incoming::{Incoming, OnLog},
    middleware::Middleware,
    sync::lock,
    timeout::Timeouts,
    trace::ConnectionTrace,
};

/// A builder of [`Client`]s, made by [`Client::new`]: callbacks, timeouts, limits, extensions, cache.
///
/// The capabilities that the client declares follow from the callbacks. Without [`ClientBuilder::on_elicit`], for
/// example, a server cannot elicit input from the user.
///
/// A clone builds another client with the same configuration, for another connection: it shares the callbacks, the
/// extensions, and the cache if [one was set](ClientBuilder::cache).
///
/// ```
/// # async fn example(one: std::sync::Arc<dyn couplet_core::Service>, two: std::sync::Arc<dyn couplet_core::Service>)
/// # -> Result<(), couplet_core::Error> {
/// use couplet_client::Client;
///
/// let setup = Client::new("demo", "1.0.0").on_elicit(|ask| async move { ask.decline() });
/// let clients = [setup.clone().connect(one).await?, setup.connect(two).await?];
/// # drop(clients);
/// # Ok(())
/// # }
/// ```
#[doc = include_str!("docs/callbacks.md")]
#[must_use = "nothing happens before `connect`"]
#[derive(Clone)]
pub struct ClientBuilder {
    info: Implementation,
    versions: Vec<ProtocolVersion>,
    callbacks: Callbacks,
    extensions: Extensions,
    middleware: Vec<Arc<dyn Middleware>>,
    on_log: Option<OnLog>,
    log_level: Option<LoggingLevel>,
    timeouts: Timeouts,
    probe_timeout: Option<Duration>,
    rounds: usize,
    limits: Limits,
    cache: Caching,
    observer: Option<Arc<dyn Observer>>,
}

/// Where answers are cached.
#[derive(Clone, Debug)]
enum Caching {
    /// In a new cache for each connection.
    Own,
    Given(Cache),
    Off,
}

impl Caching {
    fn cache(self) -> Option<Cache> {
        match self {
            Self::Own => Some(Cache::new()),
            Self::Given(cache) => Some(cache),
            Self::Off => None,
        }
    }
}

impl ClientBuilder {
    pub(crate) fn new(info: Implementation) -> Self {
        Self {
            info,
            versions: ProtocolVersion::ALL.to_vec(),
            callbacks: Callbacks::default(),
            extensions: Extensions::default(),
            middleware: Vec::new(),
            on_log: None,
            log_level: None,
            timeouts: Timeouts { timeout: Some(Duration::from_secs(60)), max_timeout: Some(Duration::from_secs(600)) },
            probe_timeout: Some(Duration::from_secs(10)),
            rounds: 10,
            limits: Limits::default(),
            cache: Caching::Own,
            observer: None,
        }
    }

    /// Sets the display name of the client.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Sets the name, version, title, icons and other information that the client sends to servers.
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// Sets the protocol revisions that the client supports (default: all). The latest one that the server supports,
    /// too, is negotiated.
    pub fn versions(mut self, versions: impl IntoIterator<Item = ProtocolVersion>) -> Self {
        self.versions = versions.into_iter().collect();
        self
    }

    /// Sets the callback for form elicitation, and declares the capability.
    ///
    /// Show the user which server asks, and let them decline.
    ///
    /// ```
    /// use couplet_client::Client;
    /// use serde_json::json;
    ///
    /// let client = Client::new("demo", "1.0.0").on_elicit(|ask| async move {
    ///     if ask.message().contains("password") { ask.decline() } else { ask.accept(json!({ "yes": true })) }
    /// });
    /// # drop(client);
    /// ```
    pub fn on_elicit<F, Fut>(mut self, answer: F) -> Self
    where
        F: Fn(Elicitation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ElicitResult, RpcError>> + Send + 'static,
    {
        self.callbacks.form = Some(callback(answer));
        self
    }

    /// Sets the callback for URL elicitation, and declares the capability.
    ///
    /// Show the URL in full, and open it only if the user agrees.
    ///
    /// ```
    /// use couplet_client::Client;
    ///
    /// let client = Client::new("demo", "1.0.0").on_elicit_url(|page| async move {
    ///     let host = page.url_host().unwrap_or("an unknown host");
    ///     tracing::info!(url = page.url(), "{}: {host}", page.message());
    ///     // A real program asks its user, and opens the page.
    ///     page.decline()
    /// });
    /// # drop(client);
    /// ```
    pub fn on_elicit_url<F, Fut>(mut self, answer: F) -> Self
    where
        F: Fn(Elicitation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ElicitResult, RpcError>> + Send + 'static,
    {
        self.callbacks.url = Some(callback(answer));
        self
    }

    /// Sets the callback for sampling, and declares the capability: servers can send prompts to the client's model.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
    ///
    /// ```
    /// use couplet_client::Client;
    /// use couplet_types::{CreateMessageParams, CreateMessageResult, RpcError};
    ///
    /// async fn sample(params: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
    ///     if params.max_tokens > 4_000 {
    ///         return Err(RpcError::invalid_params("at most 4,000 tokens are sampled for a server"));
    ///     }
    ///     // A real program shows the messages to its user, and sends them to its model.
    ///     Ok(CreateMessageResult::new("example-model", "It rained."))
    /// }
    ///
    /// let client = Client::new("demo", "1.0.0").on_sample(sample);
    /// # drop(client);
    /// ```
    pub fn on_sample<F, Fut>(mut self, answer: F) -> Self
    where
        F: Fn(CreateMessageParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, RpcError>> + Send + 'static,
    {
        self.callbacks.sample = Some(callback(answer));
        self
    }

    /// Sets one callback for every input request of servers, as it was received: for proxies and gateways.
    ///
    /// The client declares the given capabilities, and the other callbacks are not used.
    pub fn on_input_request<F, Fut>(mut self, capabilities: ClientCapabilities, answer: F) -> Self
    where
        F: Fn(InputRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<JsonText, RpcError>> + Send + 'static,
    {
        self.callbacks.any = Some((capabilities, callback(answer)));
        self
    }

    /// Sets whether sampling requests may contain tools (default: `false`).
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
    pub fn sampling_tools(mut self, allowed: bool) -> Self {
        self.callbacks.sampling_tools = allowed;
        self
    }

    /// Sets the roots, the `file://` URIs that servers may work in, and declares the capability.
    ///
    /// [`Client::set_roots`] changes them later.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
    /// resources or from the configuration instead.
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.callbacks.roots = Some(Mutex::new(roots.into_iter().collect()));
        self
    }

    /// Adds an extension of the protocol.
    ///
    /// # Panics
    /// If an extension with the same identifier was added before.
    #[track_caller]
    pub fn extension(mut self, extension: impl Into<Extension>) -> Self {
        self.extensions.add(extension.into());
        self
    }

    /// Adds [middleware](Middleware) around requests, notifications and the requests of servers. The first one added is the
    /// outermost. Without middleware, a request pays nothing for it.
    ///
    /// ```
    /// use couplet_client::{Client, ClientRequest, Next};
    ///
    /// let client = Client::new("demo", "1.0.0").middleware(async |request: ClientRequest, next: Next| {
    ///     tracing::info!(method = request.method(), target = request.target().as_deref(), "request");
    ///     next.run(request).await
    /// });
    /// # drop(client);
    /// ```
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Sets the idle timeout of requests: the time without a response or progress (default: 60 s). `None` disables it.
    ///
    /// Progress restarts it if the request subscribes to progress. The time that callbacks of this client take does not
    /// count.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeouts.timeout = timeout.into();
        self
    }

    /// Sets the total timeout of requests, which progress does not extend (default: 10 min). `None` disables it.
    ///
    /// In a session, the time that callbacks take counts, because the protocol does not say which request they belong
    /// to.
    pub fn max_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeouts.max_timeout = timeout.into();
        self
    }

    /// Sets the timeout of the initial `server/discover` probe, after which the client falls back to `initialize`
    /// (default: 10 s). `None` disables it.
    pub fn probe_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.probe_timeout = timeout.into();
        self
    }

    /// Sets how many rounds a multi-round-trip request may take (default: 10).
    ///
    /// A request that needs more fails with [`ErrorKind::Protocol`](couplet_core::ErrorKind::Protocol).
    pub fn max_rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    /// Sets the limits of the connection: sizes of messages, queues and lists.
    ///
    /// ```
    /// use couplet_client::Client;
    /// use couplet_core::Limits;
    ///
    /// // Results of up to 64 MiB.
    /// let client = Client::new("demo", "1.0.0").limits(Limits::default().max_message(64 << 20));
    /// # drop(client);
    /// ```
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the response cache (default: a new one for each connection). `None` disables caching.
    ///
    /// Pass clones of one [`Cache`] to share responses between clients. A single request can bypass the cache with
    /// [`RequestBuilder::no_cache`](crate::RequestBuilder::no_cache).
    ///
    /// Only lists and resources are cached, for as long as the server allows (2026-07-28), and until it notifies of a change.
    /// Results of tools are never cached.
    ///
    /// ```
    /// use couplet_client::{Cache, Client};
    ///
    /// let cache = Cache::bounded(1_000, 16 << 20);
    /// let one = Client::new("demo", "1.0.0").cache(cache.for_principal("ada"));
    /// let other = Client::new("demo", "1.0.0").cache(cache.for_principal("alan"));
    /// let without = Client::new("demo", "1.0.0").cache(None);
    /// # drop((one, other, without));
    /// ```
    pub fn cache(mut self, cache: impl Into<Option<Cache>>) -> Self {
        self.cache = cache.into().map_or(Caching::Off, Caching::Given);
        self
    }

    /// Sets an observer of requests, for metrics and trace propagation. Spans of [`tracing`] do not need one.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Requests log messages of a level and above as soon as the client is connected, if the server supports logging. A
    /// server that declares logging and rejects the request is connected to all the same.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Sets the callback for log messages. It is called by the task that reads messages, so it must not block.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    pub fn on_log(mut self, callback: impl Fn(LogParams) + Send + Sync + 'static) -> Self {
        self.on_log = Some(Arc::new(callback));
        self
    }

    /// Connects to a server, and spawns the connection as a tokio task.
    ///
    /// The target is anything that implements [`Connect`]: a command to run, a server in this process, a
    /// [`Reconnecting`](crate::Reconnecting) wrapper. With the feature `http-client` of the crate `couplet` it can
    /// also be a URL: `connect("https://example.com/mcp")`.
    ///
    /// Headers, tokens and proxies are set on `couplet_http::connect(url)`, which is a target, too.
    ///
    /// # Errors
    /// If the target is not valid or cannot be reached, if the server does not answer in time, or if client and server
    /// have no revision in common.
    ///
    /// # Panics
    /// If it is called outside of a tokio runtime; see [`ClientBuilder::connect_with_driver`].
    pub async fn connect<Kind>(self, target: impl IntoTarget<Kind>) -> Result<Client, Error> {
        let (client, driver) = self.connect_with_driver(target).await?;
        tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::warn!(%error, "the connection failed");
            }
        });
        Ok(client)
    }

    /// Connects to a server, and returns the [`Driver`], a future that the caller has to poll for the client to work.
    ///
    /// If all three timeouts are `None`, neither a timer nor a runtime is needed.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use couplet_client::Client;
    /// use couplet_core::{Error, Service};
    ///
    /// /// Lists tools without a spawned task: the driver runs beside the request.
    /// async fn names(server: Arc<dyn Service>) -> Result<Vec<String>, Error> {
    ///     let (client, driver) = Client::new("demo", "1.0.0").connect_with_driver(server).await?;
    ///     let listed = async {
    ///         let tools = client.tools().await;
    ///         client.close().await?;
    ///         tools
    ///     };
    ///     let (tools, ended) = tokio::join!(listed, driver);
    ///     ended?;
    ///     Ok(tools?.into_iter().map(|tool| tool.name).collect())
    /// }
    /// ```
    ///
    /// # Errors
    /// The same as those of [`ClientBuilder::connect`].
    pub async fn connect_with_driver<Kind>(self, target: impl IntoTarget<Kind>) -> Result<(Client, Driver), Error> {
        Box::pin(self.open(&mut target.into_target())).await
    }

    async fn open(self, target: &mut dyn Connect) -> Result<(Client, Driver), Error> {
        if let Some(roots) = &self.callbacks.roots {
            check_roots(&lock(roots))?;
        }
        let extensions = Arc::new(self.extensions);
        let greeting = Greeting {
            versions: self.versions,
            info: self.info,
            capabilities: self.callbacks.capabilities(),
            extensions: extensions.clone(),
            probe_timeout: self.probe_timeout,
            timeout: self.timeouts.timeout,
            limits: self.limits,
        };
        let seat = self.cache.cache().map(|cache| Seat::new(&cache, target.server()));
        let incoming = Arc::new(Incoming::new(self.callbacks, extensions, self.middleware.into(), self.on_log, seat));
        let (connected, server) = connect::open(target, &incoming, &greeting).await?;
        let telemetry = self.observer.clone().map(|observer| {
            let (version, transport) = (server.version, connected.channel.transport());
            (observer, ConnectionTrace { version, transport, since: Instant::now() })
        });
        let mut driver = Driver::new(connected.driver, incoming.clone(), telemetry);
        let client = Client::from_shared(Shared {
            channel: connected.channel,
            incoming,
            server,
            timeouts: self.timeouts,
            rounds: self.rounds,
            limits: greeting.limits,
            ending: driver.ending(),
            observer: self.observer,
        });
        if let Some(level) = self.log_level.filter(|_| client.server().capabilities.logging.is_some()) {
            match beside(&mut driver, client.set_log_level(level)).await? {
                // Some servers declare logging and reject the request. All else works.
                Err(error) if error.rpc().is_some() => {
                    tracing::warn!(%error, "the server declares logging and does not let the level be set");
                }
                outcome => outcome?,
            }
        }
        Ok((client, driver))
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("info", &self.info)
            .field("versions", &self.versions)
            .field("answers", &self.callbacks)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}
