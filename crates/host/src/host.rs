//! The host: many servers as one.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock},
    time::Duration,
};

use couplet_client::{Changes, Client, ToolResult};
use couplet_core::{Error, Filter, Sealer, Service, sync::lock};
use couplet_types::{GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceTemplate, Tool};
use serde::Serialize;
use tokio::{
    sync::{Notify, OnceCell},
    task::{AbortHandle, JoinSet},
    time::Instant,
};

use crate::{
    HostBuilder, Profile, Server, View,
    consent::Grants,
    names::{Kind, ServerId},
    pins::{Approval, Baseline, Digest, PinError, Select},
    policy::FlowTracker,
    service::{ViewInner, rules::Rules, watch::seen},
    upstream::{StartLimit, Status, Upstream},
};

/// The name of the profile that shows everything, unless the configuration has another one of that name.
const DEFAULT: &str = "default";

/// The time that a list waits for a server that was never listed.
const LISTING: Duration = Duration::from_secs(1);

/// The time that calls have to end when the host is closed.
const CLOSING: Duration = Duration::from_secs(10);

/// The most sessions whose flow of data is tracked.
const FLOWS: usize = 10_000;

/// Many servers as one: supervised, with unique names, one policy and one audit log. Clones are the same host.
///
/// # One client over many servers
///
/// ```
/// use couplet_host::Host;
/// # use std::sync::Arc;
/// # use couplet_core::Service;
/// # fn server(tool: &str) -> Arc<dyn Service> {
/// #     let server = couplet_server::Server::new("demo", "1.0.0");
/// #     Arc::new(server.tool(couplet_server::tool(tool, || async { "hello" })).build())
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), couplet_core::Error> {
/// # let (files, mail) = (server("read"), server("send"));
/// // A target is a command (`couplet_stdio::Command`), a URL, or a service in this process, as here.
/// let host = Host::builder().server("files", files).server("mail", mail).build();
///
/// for tool in host.tools().await? {
///     println!("{}", tool.name); // files__read, mail__send
/// }
/// // A server that crashed is restarted.
/// let done = host.call("files__read", serde_json::json!({})).await?;
/// assert_eq!(done.text(), "hello");
/// # Ok(())
/// # }
/// ```
///
/// # Serving
/// [`Host::service`] serves everything, and [`Host::view`] what a [`Profile`] selects: over any transport, in every
/// revision, whatever revisions the servers have.
#[derive(Clone)]
pub struct Host(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) config: RwLock<Arc<Config>>,
    pub(crate) views: Mutex<BTreeMap<Arc<str>, Arc<ViewInner>>>,
    sealer: Sealer,
    grants: Arc<Grants>,
    flows: Arc<FlowTracker>,
    starts: StartLimit,
    pub(crate) kick: Arc<Notify>,
    pub(crate) refreshing: tokio::sync::Mutex<()>,
    client: (couplet_client::ClientBuilder, OnceCell<Client>),
    watcher: Mutex<Option<AbortHandle>>,
}

/// The servers and rules of a host at one moment.
pub(crate) struct Config {
    pub(crate) slots: Vec<Arc<Slot>>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) profiles: BTreeMap<Arc<str>, Arc<Profile>>,
    pub(crate) info: couplet_types::Implementation,
}

/// A server of the host.
pub(crate) struct Slot {
    pub(crate) upstream: Upstream,
    pub(crate) launch: Option<Digest>,
    pub(crate) baseline: Baseline,
    /// The generation of the catalog that was last compared with the lock.
    pub(crate) observed: Mutex<Option<u64>>,
    /// Since when lists wait for it. They wait once, all of them until the same time.
    waited: OnceLock<Instant>,
    follower: AbortHandle,
}

impl Slot {
    /// The time for which a list waits for it: not at all once it was listed, or had its time.
    fn wait(&self) -> Duration {
        match self.waited.get() {
            _ if self.upstream.catalog().is_fetched() => Duration::ZERO,
            Some(since) => LISTING.saturating_sub(since.elapsed()),
            None => LISTING,
        }
    }

    /// Whether a server can be left as it is.
    fn is_of(&self, server: &Server) -> bool {
        self.launch.is_some() && self.launch == server.launch && *self.upstream.options() == server.options
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

impl Host {
    /// Creates the configuration of a host.
    pub fn builder() -> HostBuilder {
        HostBuilder::new()
    }

    pub(crate) fn new(builder: HostBuilder) -> Self {
        let sealer = builder.sealer.clone().unwrap_or_else(Sealer::random);
        let client = (builder.client.clone(), OnceCell::new());
        let (grants, flows) = (Arc::new(Grants::default()), Arc::new(FlowTracker::new(FLOWS)));
        let rules = Rules::new(&builder, &grants, &flows);
        let empty =
            Config { slots: Vec::new(), rules: Arc::new(rules), profiles: BTreeMap::new(), info: builder.info.clone() };
        let inner = Arc::new(Inner {
            config: RwLock::new(Arc::new(empty)),
            views: Mutex::default(),
            sealer,
            grants,
            flows,
            starts: StartLimit::default(),
            kick: Arc::default(),
            refreshing: tokio::sync::Mutex::default(),
            client,
            watcher: Mutex::default(),
        });
        *lock(&inner.watcher) = Some(inner.watch());
        inner.swap(builder);
        Self(inner)
    }

    /// Replaces the configuration at once. A server whose [launch digest](Server::launch) and options are the same
    /// stays as it is; the others are stopped after their last call, and new ones are added. Views stay, with the new
    /// profile of their name, and their clients are notified once if their lists changed. The key and the client stay.
    ///
    /// New servers have a second to be listed before clients are notified. The old configuration counts until then.
    pub async fn replace(&self, builder: HostBuilder) {
        let _refreshing = self.0.refreshing.lock().await;
        self.0.swap(builder);
        let config = self.0.config();
        Inner::fetch(config.slots.iter(), Slot::wait).await;
        self.0.update().await;
    }

    /// Returns the view of a profile; `None` if there is no such profile. The view stays valid when the configuration is
    /// replaced.
    pub fn view(&self, profile: &str) -> Option<View> {
        let config = self.0.config();
        let profile = config.profiles.get(profile).cloned()?;
        Some(View::new(self.0.view(profile), Some(self.0.clone())))
    }

    /// Returns the view of the profile `default`, as a service.
    pub fn service(&self) -> Arc<dyn Service> {
        Arc::new(View::new(self.0.default_view(), Some(self.0.clone())))
    }

    /// Returns the servers, in the order of the configuration.
    pub fn upstreams(&self) -> Vec<Upstream> {
        self.0.config().slots.iter().map(|slot| slot.upstream.clone()).collect()
    }

    /// Returns the state of each server.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.0.config().slots.iter().map(|slot| self.0.status(slot)).collect()
    }

    /// Returns the grants of this host, to list and revoke them.
    pub fn grants(&self) -> &Grants {
        &self.0.grants
    }

    /// Approves the definitions of a server as they are now, stores the lock, and shows them. Returns their number; none
    /// without a lock or without such a server.
    ///
    /// # Errors
    /// If the lock cannot be stored.
    pub async fn approve(&self, server: &ServerId, select: Select<'_>, approval: Approval) -> Result<usize, PinError> {
        let config = self.0.config();
        let slot = config.slots.iter().find(|slot| slot.upstream.id() == server);
        let (Some(pins), Some(slot)) = (&config.rules.pins, slot) else { return Ok(0) };
        let seen = seen(&slot.upstream.catalog());
        let count = pins.update(|lock| lock.approve(server, &slot.launch(), &seen, select, &approval)).await?;
        self.0.refresh().await;
        Ok(count)
    }

    /// Waits until each server was listed or has failed, but not longer than `wait`. Servers that were not started yet
    /// are started.
    pub async fn ready(&self, wait: Duration) {
        if Inner::fetch(self.0.config().slots.iter(), |_| wait).await {
            self.0.refresh().await;
        }
    }

    /// Shows and hides definitions as the lock says now, for a lock that was [loaded again](crate::pins::Pins::reload).
    pub async fn refresh(&self) {
        self.0.refresh().await;
    }

    /// Stops all servers, and waits for their end. Calls in flight run to their end for at most 10 s.
    pub async fn close(&self) {
        let mut closing = JoinSet::new();
        for slot in &self.0.config().slots {
            let upstream = slot.upstream.clone();
            closing.spawn(async move { upstream.shutdown("the host is closed", CLOSING).await });
        }
        while closing.join_next().await.is_some() {}
        if let Some(client) = self.0.client.1.get() {
            let _ = client.close().await;
        }
    }

    /// Returns the client of this program, which is connected to the `default` view.
    ///
    /// # Errors
    /// If the handshake fails.
    pub async fn client(&self) -> Result<&Client, Error> {
        let (builder, cell) = &self.0.client;
        // The client must not keep its own host alive.
        let view = View::new(self.0.default_view(), None);
        cell.get_or_try_init(|| builder.clone().connect(Arc::new(view) as Arc<dyn Service>)).await
    }

    /// ViewLists the tools of all servers.
    ///
    /// # Errors
    /// If the list is not valid. A server that cannot be listed is left out.
    pub async fn tools(&self) -> Result<Vec<Tool>, Error> {
        self.client().await?.tools().await
    }

    /// ViewLists the prompts of all servers.
    ///
    /// # Errors
    /// As [`Host::tools`].
    pub async fn prompts(&self) -> Result<Vec<Prompt>, Error> {
        self.client().await?.prompts().await
    }

    /// ViewLists the resources of all servers.
    ///
    /// # Errors
    /// As [`Host::tools`].
    pub async fn resources(&self) -> Result<Vec<Resource>, Error> {
        self.client().await?.resources().await
    }

    /// ViewLists the resource templates of all servers.
    ///
    /// # Errors
    /// As [`Host::tools`].
    pub async fn resource_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        self.client().await?.resource_templates().await
    }

    /// Calls a tool by its exposed name.
    ///
    /// # Errors
    /// If there is no such tool, its server is not available, or the tool fails.
    pub async fn call(&self, name: &str, arguments: impl Serialize) -> Result<ToolResult, Error> {
        self.client().await?.call(name, arguments).await
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// If no server has it, or its server is not available.
    pub async fn read(&self, uri: &str) -> Result<ReadResourceResult, Error> {
        self.client().await?.read(uri).await
    }

    /// Gets a prompt by its exposed name.
    ///
    /// # Errors
    /// If there is no such prompt, or its server is not available.
    pub async fn prompt(&self, name: &str, arguments: impl Serialize) -> Result<GetPromptResult, Error> {
        self.client().await?.prompt(name, arguments).await
    }

    /// Subscribes to updates of a resource.
    ///
    /// # Errors
    /// If no server has it.
    pub async fn subscribe(&self, uri: &str) -> Result<Changes, Error> {
        self.client().await?.listen(Filter::new().resource(uri)).await
    }

    /// Subscribes to changes of the lists of tools, prompts and resources.
    ///
    /// # Errors
    /// If the handshake fails.
    pub async fn changes(&self) -> Result<Changes, Error> {
        self.client().await?.listen(Filter::new().tools().prompts().resources()).await
    }
}

/// The state of a server of a [`Host`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerStatus {
    /// Its supervision.
    pub upstream: Status,
    /// The definitions that are hidden because they are not approved, by kind and the server's own name; instructions have
    /// an empty name.
    pub blocked: Vec<(Kind, Arc<str>)>,
}

impl Inner {
    pub(crate) fn config(&self) -> Arc<Config> {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the configuration, and leaves unchanged servers as they are.
    fn swap(self: &Arc<Self>, builder: HostBuilder) {
        let rules = Arc::new(Rules::new(&builder, &self.grants, &self.flows));
        let HostBuilder { info, servers, profiles, .. } = builder;
        let before = self.config();
        let known: HashMap<&ServerId, &Arc<Slot>> =
            before.slots.iter().map(|slot| (slot.upstream.id(), slot)).collect();
        let slots = servers.into_iter().map(|server| match known.get(&server.id) {
            Some(slot) if slot.is_of(&server) => {
                match server.quarantine {
                    Some(reason) => slot.upstream.quarantine(reason),
                    None => slot.upstream.release(),
                }
                Arc::clone(slot)
            }
            _ => Arc::new(self.slot(server)),
        });
        let mut profiles: BTreeMap<_, _> =
            profiles.into_iter().map(|(name, profile)| (name, Arc::new(profile))).collect();
        profiles.entry(DEFAULT.into()).or_insert_with(|| match before.profiles.get(DEFAULT) {
            Some(known) if **known == Profile::default() => known.clone(),
            _ => Arc::default(),
        });
        let config = Config { slots: slots.collect(), rules, profiles, info };
        for slot in &before.slots {
            if !config.slots.iter().any(|now| Arc::ptr_eq(now, slot)) {
                self.grants.end_server(slot.upstream.id());
            }
        }
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }

    fn default_view(self: &Arc<Self>) -> Arc<ViewInner> {
        self.view(self.config().profiles.get(DEFAULT).cloned().unwrap_or_default())
    }

    fn slot(self: &Arc<Self>, server: Server) -> Slot {
        let Server { id, target, client, options, stderr, launch, quarantine, baseline, .. } = server;
        let client = client.unwrap_or_else(|| Client::new("couplet-host", env!("CARGO_PKG_VERSION")));
        let mut builder = Upstream::builder(id, client, target).options(options).start_limit(&self.starts);
        if let Some(tail) = stderr {
            builder = builder.stderr(tail);
        }
        if let Some(reason) = quarantine {
            builder = builder.quarantined(reason);
        }
        let upstream = builder.build();
        let follower = self.follow(&upstream);
        let (observed, waited) = (Mutex::default(), OnceLock::new());
        Slot { upstream, launch, baseline, observed, waited, follower }
    }

    pub(crate) fn sealer(&self) -> &Sealer {
        &self.sealer
    }

    /// Waits until servers are listed or have failed, for each as long as `wait` says; returns whether there was any to
    /// wait for.
    async fn fetch(slots: impl Iterator<Item = &Arc<Slot>>, wait: impl Fn(&Slot) -> Duration) -> bool {
        let mut listing = JoinSet::new();
        for slot in slots.filter(|slot| !slot.upstream.catalog().is_fetched()).cloned() {
            let wait = wait(&slot);
            if !wait.is_zero() {
                slot.waited.get_or_init(Instant::now);
                listing.spawn(async move { slot.upstream.first_catalog(wait).await });
            }
        }
        let any = !listing.is_empty();
        while listing.join_next().await.is_some() {}
        any
    }

    /// Waits for servers that were never listed, once for each and for all of them at the same time.
    pub(crate) async fn list_new(self: &Arc<Self>, profile: &Profile) {
        let config = self.config();
        let shown = config.slots.iter().filter(|slot| profile.has(slot.upstream.id()));
        if Self::fetch(shown, Slot::wait).await {
            self.refresh().await;
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        lock(&self.watcher).take().inspect(AbortHandle::abort);
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = self.0.config();
        let servers: Vec<_> = config.slots.iter().map(|slot| slot.upstream.id()).collect();
        f.debug_struct("Host").field("servers", &servers).finish_non_exhaustive()
    }
}
