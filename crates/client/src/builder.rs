//! Setting up a client.

use std::{fmt, future::Future, sync::Arc, sync::Mutex, time::Duration};

use couplet_core::{Connect, Error, IntoTarget, JsonText, Limits, Observer};
use couplet_types::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitResult, Implementation, InputRequest,
    LogParams, LoggingLevel, ProtocolVersion, Root, RpcError,
};
use tokio::time::Instant;

use crate::{
    answers::{Answers, callback, check_roots},
    cache::{Cache, Seat},
    client::{Client, Shared},
    clock::Patience,
    connect::{self, Greeting},
    driver::{Driver, beside},
    elicitation::Elicitation,
    extension::{Extension, Extensions},
    inbox::{Inbox, OnLog},
    sync::lock,
    trace::Connection,
};

/// A client that is not connected yet: what it is, what it answers, how long it waits.
///
/// What the client declares follows from what is set: without [`ClientBuilder::on_elicit`], for one, no server may
/// ask the person anything.
///
/// A clone sets up the same client once more, for another connection: it has the same callbacks, the same extensions and
/// the same cache if [one was given](ClientBuilder::cache).
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
#[must_use = "nothing happens before `connect`"]
#[derive(Clone)]
pub struct ClientBuilder {
    info: Implementation,
    versions: Vec<ProtocolVersion>,
    answers: Answers,
    extensions: Extensions,
    on_log: Option<OnLog>,
    log_level: Option<LoggingLevel>,
    patience: Patience,
    probe_timeout: Option<Duration>,
    rounds: usize,
    limits: Limits,
    cache: Caching,
    observer: Option<Arc<dyn Observer>>,
}

/// Where answers are cached.
#[derive(Clone, Debug)]
enum Caching {
    /// In a cache of each connection's own.
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
            answers: Answers::default(),
            extensions: Extensions::default(),
            on_log: None,
            log_level: None,
            patience: Patience { timeout: Some(Duration::from_secs(60)), max_timeout: Some(Duration::from_secs(600)) },
            probe_timeout: Some(Duration::from_secs(10)),
            rounds: 10,
            limits: Limits::default(),
            cache: Caching::Own,
            observer: None,
        }
    }

    /// The name of the client for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Everything that the client tells about itself.
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// The revisions that the client speaks; all of them by default. Of those that both sides speak, the latest is
    /// chosen.
    pub fn versions(mut self, versions: impl IntoIterator<Item = ProtocolVersion>) -> Self {
        self.versions = versions.into_iter().collect();
        self
    }

    /// Answers forms. Show the person which server asks, and let them say no.
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
        self.answers.form = Some(callback(answer));
        self
    }

    /// Answers requests to visit an address. Show it in full, and open it only when the person agrees.
    pub fn on_elicit_url<F, Fut>(mut self, answer: F) -> Self
    where
        F: Fn(Elicitation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ElicitResult, RpcError>> + Send + 'static,
    {
        self.answers.visit = Some(callback(answer));
        self
    }

    /// Lets servers ask the client's model.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
    pub fn on_sample<F, Fut>(mut self, answer: F) -> Self
    where
        F: Fn(CreateMessageParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, RpcError>> + Send + 'static,
    {
        self.answers.sample = Some(callback(answer));
        self
    }

    /// Answers whatever servers ask, as it came: for programs that pass questions on. The client declares these
    /// capabilities, and the other callbacks are not used.
    pub fn on_question<F, Fut>(mut self, capabilities: ClientCapabilities, answer: F) -> Self
    where
        F: Fn(InputRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<JsonText, RpcError>> + Send + 'static,
    {
        self.answers.whole = Some((capabilities, callback(answer)));
        self
    }

    /// Whether servers may hand tools to the client's model; they may not by default.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
    pub fn sampling_tools(mut self, allowed: bool) -> Self {
        self.answers.sampling_tools = allowed;
        self
    }

    /// The places that servers may work in: `file://` URIs. [`Client::set_roots`] changes them later.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
    /// resources or from the configuration instead.
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.answers.roots = Some(Mutex::new(roots.into_iter().collect()));
        self
    }

    /// Adds an extension. Without this, a client has none.
    ///
    /// # Panics
    /// When the client has it already.
    #[track_caller]
    pub fn extension(mut self, extension: impl Into<Extension>) -> Self {
        self.extensions.add(extension.into());
        self
    }

    /// How long to wait for an answer, or for progress where that was asked for: 60 s. `None` is for ever.
    ///
    /// Time in which the client's own callbacks answer the server does not count.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.patience.timeout = timeout.into();
        self
    }

    /// How long to wait for one request in all, however much progress there is: 10 min. `None` is for ever.
    ///
    /// In a session, the time that callbacks take counts here, because nobody knows which request they are for.
    pub fn max_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.patience.max_timeout = timeout.into();
        self
    }

    /// How long to wait for the answer to the first question of all, before trying how older servers begin: 10 s.
    pub fn probe_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.probe_timeout = timeout.into();
        self
    }

    /// How often a server may answer one request with questions: 10 times.
    pub fn max_rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    /// What the connection may cost.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Where answers are kept for as long as the server allows: in a cache of this client's own, unless it is given
    /// one that others have, too. `None` keeps nothing. A single request can be [fresh](crate::RequestBuilder::fresh).
    pub fn cache(mut self, cache: impl Into<Option<Cache>>) -> Self {
        self.cache = cache.into().map_or(Caching::Off, Caching::Given);
        self
    }

    /// Lets somebody watch the requests: for measurements, and to name the trace that they belong to. Spans for
    /// [`tracing`] are there without it.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Asks for log messages of a level and above from the beginning, if the server logs.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    pub fn log_level(mut self, level: LoggingLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Hears of log messages. It is called where messages are read, so it must not take long.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    pub fn on_log(mut self, tell: impl Fn(LogParams) + Send + Sync + 'static) -> Self {
        self.on_log = Some(Arc::new(tell));
        self
    }

    /// Connects to a target, and drives the connection in a task of tokio's. With the feature `http-client` of the crate
    /// `couplet` a URL is a target, too: `connect("https://example.com/mcp")`.
    ///
    /// # Errors
    /// When the target cannot be reached, or speaks no revision that the client speaks.
    pub async fn connect<Kind>(self, target: impl IntoTarget<Kind>) -> Result<Client, Error> {
        let (client, driver) = self.connect_with_driver(target).await?;
        tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::warn!(%error, "a connection ended badly");
            }
        });
        Ok(client)
    }

    /// Connects to a target, and returns the driver of the connection for the caller to poll.
    ///
    /// Without timeouts (`None` for all three) neither a clock nor a runtime is needed.
    ///
    /// # Errors
    /// When the target cannot be reached, or speaks no revision that the client speaks.
    pub async fn connect_with_driver<Kind>(self, target: impl IntoTarget<Kind>) -> Result<(Client, Driver), Error> {
        Box::pin(self.open(&mut target.into_target())).await
    }

    async fn open(self, target: &mut dyn Connect) -> Result<(Client, Driver), Error> {
        if let Some(roots) = &self.answers.roots {
            check_roots(&lock(roots))?;
        }
        let extensions = Arc::new(self.extensions);
        let greeting = Greeting {
            versions: self.versions,
            info: self.info,
            capabilities: self.answers.capabilities(),
            extensions: extensions.clone(),
            probe_timeout: self.probe_timeout,
            timeout: self.patience.timeout,
            limits: self.limits,
        };
        let seat = self.cache.cache().map(|cache| Seat::new(&cache, target.server()));
        let inbox = Arc::new(Inbox::new(self.answers, extensions, self.on_log, seat));
        let (connected, server) = connect::open(target, &inbox, &greeting).await?;
        let watched = self.observer.clone().map(|observer| {
            let (version, transport) = (server.version, connected.channel.transport());
            (observer, Connection { version, transport, since: Instant::now() })
        });
        let mut driver = Driver::new(connected.driver, inbox.clone(), watched);
        let client = Client::from_shared(Shared {
            channel: connected.channel,
            inbox,
            server,
            patience: self.patience,
            rounds: self.rounds,
            limits: greeting.limits,
            ending: driver.ending(),
            observer: self.observer,
        });
        if let Some(level) = self.log_level.filter(|_| client.server().capabilities.logging.is_some()) {
            beside(&mut driver, client.set_log_level(level)).await??;
        }
        Ok((client, driver))
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("info", &self.info)
            .field("versions", &self.versions)
            .field("answers", &self.answers)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}
