//! The configuration of a proxy.

use std::{fmt, sync::Arc, time::Duration};

use couplet_client::ClientBuilder;
use couplet_core::{Connect, Error, ExtensionSpec, Hub, Sealer};
use tokio::sync::watch;

use crate::{
    Isolation,
    deadline::Timeouts,
    describe::About,
    extensions::Extensions,
    pool::Pool,
    proxy::{Proxy, Shared},
    supervise::Supervisor,
};

/// The options of a proxy.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) connections: usize,
    pub(crate) connect: Duration,
    pub(crate) wait: Duration,
    pub(crate) answer: Duration,
    pub(crate) idle: Duration,
    pub(crate) attempts: Option<u32>,
    pub(crate) calls: Timeouts,
    pub(crate) isolation: Isolation,
    pub(crate) extensions: Extensions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 16,
            connect: Duration::from_secs(60),
            wait: Duration::from_secs(60),
            answer: Duration::from_secs(600),
            idle: Duration::from_secs(300),
            attempts: None,
            calls: Timeouts::default(),
            isolation: Isolation::default(),
            extensions: Extensions::default(),
        }
    }
}

/// A builder for a [`Proxy`], created by [`Proxy::builder`].
///
/// ```
/// # async fn example(remote: impl couplet_core::Connect + 'static) -> Result<(), couplet_core::Error> {
/// use couplet_client::Client;
/// use couplet_proxy::Proxy;
///
/// let key = [7; 32]; // from the configuration, the same for every replica
/// let proxy = Proxy::builder(Client::new("gateway", "1.0.0")).request_state_key(key).connections(8).connect(remote).await?;
/// # drop(proxy);
/// # Ok(())
/// # }
/// ```
#[must_use = "a proxy connects with `connect`"]
pub struct ProxyBuilder {
    client: ClientBuilder,
    sealer: Option<Sealer>,
    options: Options,
}

impl ProxyBuilder {
    pub(crate) fn new(client: ClientBuilder) -> Self {
        Self { client, sealer: None, options: Options::default() }
    }

    /// Sets the key that signs the state of multi-round-trip requests: 32 secret bytes, or a [`Sealer`] with its own
    /// lifetime, size limit and [previous keys](Sealer::also_opens). Replicas behind a load balancer must share it, so
    /// that each can verify the state of another one (default: a random key).
    pub fn request_state_key(mut self, key: impl Into<Sealer>) -> Self {
        self.sealer = Some(key.into());
        self
    }

    /// Sets the maximum number of connections to a server with sessions (default: 16). A stateless server needs one.
    pub fn connections(mut self, most: usize) -> Self {
        self.options.connections = most.max(1);
        self
    }

    /// Sets which callers share a connection to a server with sessions (default: none that have sessions themselves).
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.options.isolation = isolation;
        self
    }

    /// Sets the time in which a further connection has to be open (default: 60 s). Then callers take turns on those that
    /// are. The caller for which it is opened waits for it, beyond the [`ProxyBuilder::wait_timeout`].
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect = timeout;
        self
    }

    /// Sets how long a call waits for a connection when all are in use, and a subscription for its confirmation by the
    /// server (default: 60 s). Then it fails with
    /// [`ErrorKind::Timeout`](couplet_core::ErrorKind::Timeout).
    pub fn wait_timeout(mut self, timeout: Duration) -> Self {
        self.options.wait = timeout;
        self
    }

    /// Sets the timeout for answers of a caller to requests of a server with sessions (default: 10 min). Then the server
    /// gets an error instead of the answer.
    pub fn answer_timeout(mut self, timeout: Duration) -> Self {
        self.options.answer = timeout;
        self
    }

    /// Sets when an unused connection is closed (default: 5 min). The first connection stays open.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.options.idle = timeout;
        self
    }

    /// Sets how many consecutive attempts to reconnect are made (default: no limit). After the last one,
    /// [`Proxy::closed`] returns.
    pub fn reconnect_attempts(mut self, most: impl Into<Option<u32>>) -> Self {
        self.options.attempts = most.into();
        self
    }

    /// Sets the time that a call may take at the server without any message about it (default: no limit). Progress, log
    /// messages and requests of the server restart it, and the time that the caller takes to answer such a request does
    /// not count. Then the call is cancelled, and fails with [`ErrorKind::Timeout`](couplet_core::ErrorKind::Timeout).
    pub fn call_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.options.calls.idle = timeout.into();
        self
    }

    /// Sets the time that a call may take at the server in total (default: no limit), like
    /// [`ProxyBuilder::call_timeout`].
    pub fn max_call_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.options.calls.total = timeout.into();
        self
    }

    /// Forwards the methods and result types of an extension, if the server declares it. Tasks and skills are built in.
    /// Of an unknown extension only the settings are forwarded.
    pub fn extension(mut self, extension: ExtensionSpec) -> Self {
        self.options.extensions.add(extension);
        self
    }

    /// Connects to the server. Callbacks of the client are ignored: requests of the server go to the callers of the
    /// proxy.
    ///
    /// Must be called within a Tokio runtime, on which the proxy reconnects and forwards notifications.
    ///
    /// # Errors
    /// Fails if the server cannot be reached. Later disconnects are retried.
    pub async fn connect(self, server: impl Connect + 'static) -> Result<Proxy, Error> {
        let hub = Hub::new();
        let pool = Pool::new(self.client, Box::new(server), hub.clone(), self.options);
        let lead = pool.connect().await?;
        let about = Arc::new(About::new(&lead.client, pool.options.extensions.clone()));
        let given_up = Arc::new(watch::Sender::new(None));
        let supervisor =
            Supervisor { pool: pool.clone(), hub: hub.clone(), about: about.clone(), given_up: given_up.clone() };
        let supervisor = tokio::spawn(supervisor.run(lead));
        let sealer = self.sealer.unwrap_or_else(Sealer::random);
        Ok(Proxy(Arc::new(Shared { pool, hub, about, sealer, supervisor, given_up })))
    }
}

impl fmt::Debug for ProxyBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyBuilder").field("client", &self.client).field("options", &self.options).finish()
    }
}
