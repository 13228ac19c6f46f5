//! Setting up a proxy.

use std::{fmt, sync::Arc, time::Duration};

use couplet_client::ClientBuilder;
use couplet_core::{Connect, Error, ExtensionSpec, Hub, Sealer};
use tokio::sync::watch;

use crate::{
    describe::About,
    extensions::Extensions,
    pool::Pool,
    proxy::{Proxy, Shared},
    supervise::Supervisor,
};

/// What a proxy may use.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) connections: usize,
    pub(crate) wait: Duration,
    pub(crate) answer: Duration,
    pub(crate) idle: Duration,
    pub(crate) attempts: Option<u32>,
    pub(crate) extensions: Extensions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 16,
            wait: Duration::from_secs(60),
            answer: Duration::from_secs(600),
            idle: Duration::from_secs(300),
            attempts: None,
            extensions: Extensions::default(),
        }
    }
}

/// A proxy that is not connected yet; made by [`Proxy::builder`].
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
#[must_use = "nothing happens before `connect`"]
pub struct ProxyBuilder {
    client: ClientBuilder,
    sealer: Option<Sealer>,
    options: Options,
}

impl ProxyBuilder {
    pub(crate) fn new(client: ClientBuilder) -> Self {
        Self { client, sealer: None, options: Options::default() }
    }

    /// Signs the state of multi-round-trip requests with a key that several replicas share, so that each of them can go
    /// on with what another one began. Without it the key is random.
    pub fn request_state_key(mut self, key: [u8; 32]) -> Self {
        self.sealer = Some(Sealer::new(key));
        self
    }

    /// Limits the connections to a server with sessions: 16 by default. A server without sessions has one.
    pub fn connections(mut self, most: usize) -> Self {
        self.options.connections = most.max(1);
        self
    }

    /// Limits how long a call waits for a connection when all are in use: 60 s by default.
    pub fn wait_timeout(mut self, timeout: Duration) -> Self {
        self.options.wait = timeout;
        self
    }

    /// Limits how long a caller may take to answer a question of a server with sessions: 10 min by default. The server
    /// then gets an error in place of the answer.
    pub fn answer_timeout(mut self, timeout: Duration) -> Self {
        self.options.answer = timeout;
        self
    }

    /// Closes connections, but the first, that were not used for so long: 5 min by default.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.options.idle = timeout;
        self
    }

    /// Limits how often a server that is gone is connected to again in a row: without limit by default. See
    /// [`Proxy::closed`].
    pub fn reconnect_attempts(mut self, most: impl Into<Option<u32>>) -> Self {
        self.options.attempts = most.into();
        self
    }

    /// Passes the methods and the kinds of results of an extension through, if the server declares it. Tasks and skills
    /// are known already; of an extension that is not known only the settings are passed on.
    pub fn extension(mut self, extension: ExtensionSpec) -> Self {
        self.options.extensions.add(extension);
        self
    }

    /// Connects to the server. The callbacks of the client are not used: callers of the proxy answer.
    ///
    /// # Errors
    /// When the server cannot be reached.
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
