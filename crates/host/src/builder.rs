//! The configuration of a host.

use std::{collections::BTreeMap, fmt, sync::Arc};

use couplet_client::{Client, ClientBuilder};
use couplet_core::{Connect, Sealer};
use couplet_types::Implementation;

use crate::{
    Host, Profile,
    audit::AuditSink,
    consent::Consent,
    names::ServerId,
    pins::{Baseline, Digest, Pins},
    policy::{Effects, Glob, Labels, Policy, Trust},
    service::rules::ServerRules,
    upstream::UpstreamOptions,
};

/// The configuration of a host, made by [`Host::builder`]: its servers, profiles and rules.
///
/// Without rules every call is allowed and nothing is recorded.
#[must_use = "a host is made by `build`"]
pub struct HostBuilder {
    pub(crate) info: Implementation,
    pub(crate) servers: Vec<Server>,
    pub(crate) profiles: BTreeMap<Arc<str>, Profile>,
    pub(crate) policy: Policy,
    pub(crate) consent: Option<Arc<dyn Consent>>,
    pub(crate) audit: Option<Arc<dyn AuditSink>>,
    pub(crate) pins: Option<Pins>,
    pub(crate) sealer: Option<Sealer>,
    pub(crate) client: ClientBuilder,
}

impl HostBuilder {
    pub(crate) fn new() -> Self {
        let (name, version) = ("couplet-host", env!("CARGO_PKG_VERSION"));
        Self {
            info: Implementation::new(name, version),
            servers: Vec::new(),
            profiles: BTreeMap::new(),
            policy: Policy::allow_all(),
            consent: None,
            audit: None,
            pins: None,
            sealer: None,
            client: Client::new(name, version),
        }
    }

    /// Sets the name and version that clients of the host see.
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// Adds a server with default options. Its id is derived from the key: see [`ServerId::from_key`].
    pub fn server(self, key: &str, target: impl Connect + 'static) -> Self {
        self.add(Server::new(ServerId::from_key(key), target))
    }

    /// Adds a server. Of two with the same id, the later one counts.
    #[expect(clippy::should_implement_trait, reason = "a builder is not added up")]
    pub fn add(mut self, server: Server) -> Self {
        self.servers.retain(|known| known.id != server.id);
        self.servers.push(server);
        self
    }

    /// Adds a profile, which [`Host::view`] serves under its name. The profile `default` shows everything unless another
    /// one of that name is added.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profiles.insert(profile.name().clone(), profile);
        self
    }

    /// Sets the policy (default: everything is allowed).
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets how a person is asked about calls that the policy does not decide. Without it they are denied, and hidden.
    pub fn consent(mut self, consent: impl Consent) -> Self {
        self.consent = Some(Arc::new(consent));
        self
    }

    /// Sets the audit log (default: none).
    pub fn audit(mut self, sink: Arc<dyn AuditSink>) -> Self {
        self.audit = Some(sink);
        self
    }

    /// Sets the lock of approved definitions (default: none, and every definition is shown).
    pub fn pins(mut self, pins: Pins) -> Self {
        self.pins = Some(pins);
        self
    }

    /// Sets the key that seals cursors, task ids and request state: 32 secret bytes, or a [`Sealer`]. Replicas must share
    /// it (default: a random key).
    pub fn key(mut self, key: impl Into<Sealer>) -> Self {
        self.sealer = Some(key.into());
        self
    }

    /// Sets the client that [`Host::call`] and the other functions of a program use: its callbacks answer elicitations.
    pub fn client(mut self, client: ClientBuilder) -> Self {
        self.client = client;
        self
    }

    /// Creates the host. Servers start with their first use, unless their options say otherwise.
    ///
    /// # Panics
    /// If it is called outside of a tokio runtime.
    pub fn build(self) -> Host {
        Host::new(self)
    }
}

/// A server of a host: how to reach it, and what is known about it.
///
/// ```
/// # fn example(target: impl couplet_core::Connect + 'static) {
/// use couplet_host::{Host, Server, names::ServerId, policy::Trust, upstream::UpstreamOptions};
///
/// let mut options = UpstreamOptions::default();
/// options.calls = 4;
/// let files = Server::new(ServerId::from_key("files"), target).options(options).trust(Trust::Known);
/// let host = Host::builder().add(files);
/// # drop(host);
/// # }
/// ```
#[must_use = "a server does nothing until it is added to a host"]
pub struct Server {
    pub(crate) id: ServerId,
    pub(crate) target: Box<dyn Connect>,
    pub(crate) client: Option<ClientBuilder>,
    pub(crate) options: UpstreamOptions,
    pub(crate) stderr: Option<Box<dyn Fn() -> String + Send + Sync>>,
    pub(crate) launch: Option<Digest>,
    pub(crate) quarantine: Option<Arc<str>>,
    pub(crate) baseline: Baseline,
    pub(crate) rules: ServerRules,
}

impl Server {
    /// Creates a server with default options.
    pub fn new(id: ServerId, target: impl Connect + 'static) -> Self {
        Self {
            id,
            target: Box::new(target),
            client: None,
            options: UpstreamOptions::default(),
            stderr: None,
            launch: None,
            quarantine: None,
            baseline: Baseline::Quarantine,
            rules: ServerRules { is_pinned: true, ..ServerRules::default() },
        }
    }

    /// Sets the client that connects to the server.
    pub fn client(mut self, client: ClientBuilder) -> Self {
        self.client = Some(client);
        self
    }

    /// Sets the options of its supervision.
    pub fn options(mut self, options: UpstreamOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the function that returns the end of the server's standard error. The last lines are quoted in errors.
    pub fn stderr(mut self, tail: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.stderr = Some(Box::new(tail));
        self
    }

    /// Sets the digest of the launch configuration. [`Host::replace`] leaves a server running whose digest is the same,
    /// and a lock compares it.
    pub fn launch(mut self, digest: Digest) -> Self {
        self.launch = Some(digest);
        self
    }

    /// Does not start the server until it is released; the reason is shown.
    pub fn quarantine(mut self, reason: impl Into<Arc<str>>) -> Self {
        self.quarantine = Some(reason.into());
        self
    }

    /// Sets what happens to the definitions of a server that is not in the lock (default: they wait for an approval).
    pub fn baseline(mut self, baseline: Baseline) -> Self {
        self.baseline = baseline;
        self
    }

    /// Sets the trust in the server.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.rules.trust = trust;
        self
    }

    /// Sets the effects of tools whose name matches. The first match counts.
    pub fn effects(mut self, tools: Glob, effects: Effects) -> Self {
        self.rules.effects.push((tools, effects));
        self
    }

    /// Sets the flow labels of tools whose name matches. The first match counts.
    pub fn labels(mut self, tools: Glob, labels: Labels) -> Self {
        self.rules.labels.push((tools, labels));
        self
    }

    /// Shows definitions of this server that are not in the lock.
    pub fn unpinned(mut self) -> Self {
        self.rules.is_pinned = false;
        self
    }
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder")
            .field("servers", &self.servers)
            .field("profiles", &self.profiles.keys())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("id", &self.id).field("options", &self.options).finish_non_exhaustive()
    }
}
