//! Upstreams.

use std::{fmt, sync::Arc, time::Duration};

use couplet_client::ClientBuilder;
use couplet_core::{Connect, Hub};
use couplet_proxy::Proxy;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, timeout, timeout_at},
};

use super::{
    Running, Status, Unavailable, UpstreamBuilder, UpstreamOptions,
    permits::InUse,
    phase::{Entered, Halt, Phase},
    shared::UpstreamShared,
    supervise::Supervisor,
};
use crate::{catalog::Catalog, names::ServerId};

/// A supervised server. Clones refer to the same one.
///
/// When the last clone is dropped, no call starts any more; the calls in flight run to their end, and the server is
/// stopped after the last of them.
///
/// ```
/// # async fn example(target: impl couplet_core::Connect + 'static) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use couplet_client::Client;
/// use couplet_host::{names::ServerId, upstream::{Upstream, UpstreamOptions}};
///
/// let mut options = UpstreamOptions::default();
/// options.idle_stop = Some(Duration::from_secs(600));
/// // `target` is, for example, `Command::new("mcp-server-files")`.
/// let files = Upstream::builder(ServerId::parse("files")?, Client::new("host", "1.0.0"), target).options(options).build();
/// // Nothing runs yet: the first call or list starts the server.
/// let running = files.proxy().await?;
/// # drop(running);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Upstream(Arc<Handle>);

/// Ends the supervisor when it is dropped.
struct Handle {
    shared: Arc<UpstreamShared>,
    supervisor: JoinHandle<()>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.supervisor.abort();
    }
}

impl Upstream {
    /// The interval at which calls in flight are counted during a shutdown.
    const DRAIN_INTERVAL: Duration = Duration::from_millis(10);

    /// Creates a builder for a target. Callbacks of the client are not used: requests of the server go to its callers.
    pub fn builder(id: ServerId, client: ClientBuilder, target: impl Connect + 'static) -> UpstreamBuilder {
        UpstreamBuilder::new(id, client, Box::new(target))
    }

    /// Returns the id.
    pub fn id(&self) -> &ServerId {
        &self.shared().id
    }

    /// Returns the options.
    pub fn options(&self) -> &UpstreamOptions {
        &self.shared().options
    }

    /// Waits for permission to run a call: for room among the running calls, and for the server to start. The caller runs
    /// the call at [`Running::proxy`], and passes the result to [`Running::settle`].
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// If the server cannot run the call now. The call was not sent.
    pub async fn proxy(&self) -> Result<Running, Unavailable> {
        Running::begin(self.shared()).await
    }

    /// Returns the proxy if the server is running, without permission to run calls: for changes and notifications.
    pub fn running(&self) -> Option<Proxy> {
        self.shared().runs.borrow().clone()
    }

    /// Returns the lists as they were last fetched. It never waits.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.shared().catalog.borrow().clone()
    }

    /// Returns the lists. If they were never fetched, it starts the server and waits, but not longer than `wait`, and not
    /// for a server that failed.
    pub async fn first_catalog(&self, wait: Duration) -> Arc<Catalog> {
        let shared = self.shared();
        let catalog = self.catalog();
        if catalog.is_fetched() {
            return catalog;
        }
        let deadline = Instant::now() + wait;
        let (mut phases, mut catalogs) = (shared.phase.subscribe(), shared.catalog.subscribe());
        let fetched = async {
            loop {
                let Entered { phase, number, .. } = phases.borrow_and_update().clone();
                match phase {
                    Phase::Configured => shared.demand(number),
                    Phase::Exhausted(_, probe) if probe <= Instant::now() => shared.demand(number),
                    Phase::Starting | Phase::Ready(_) => {}
                    Phase::Backoff(..) | Phase::Exhausted(..) | Phase::Stopped(_) | Phase::Quarantined(_) => return,
                }
                tokio::select! {
                    changed = catalogs.wait_for(|catalog| catalog.is_settled()) => return drop(changed),
                    changed = phases.changed() => if changed.is_err() { return },
                }
            }
        };
        // What there is then is returned.
        let _ = timeout_at(deadline, fetched).await;
        self.catalog()
    }

    /// Returns a number that changes whenever the [catalog](Upstream::catalog) does: its lists, or how current they are.
    /// It does not when the same lists were fetched again.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared().version.subscribe()
    }

    /// Returns the hub with the updates of resources. It stays the same over restarts, and so do subscriptions to it.
    /// Changes of lists are not published there: see [`Upstream::changes`].
    pub fn hub(&self) -> &Hub {
        &self.shared().hub
    }

    /// Keeps the server running, once it does, until the returned value is dropped: for subscriptions and tasks.
    pub fn hold(&self) -> Hold {
        Hold { _use: self.shared().permits.hold() }
    }

    /// Starts the server now, also if it was stopped, failed too often or is quarantined. Does nothing if it runs or is
    /// starting.
    pub fn start(&self) {
        let is_started = matches!(self.shared().phase.borrow().phase, Phase::Starting | Phase::Ready(_));
        self.shared().wanted.send_if_modified(|wanted| {
            let is_needed = wanted.blocked.take().is_some() || !is_started;
            wanted.epoch += u64::from(is_needed);
            is_needed
        });
    }

    /// Restarts the server. Calls in flight run to their end at the old one.
    pub fn restart(&self) {
        self.shared().wanted.send_modify(|wanted| {
            wanted.epoch += 1;
            wanted.blocked = None;
        });
    }

    /// Stops the server until it is [started](Upstream::start). Calls in flight run to their end.
    pub fn stop(&self, reason: impl Into<Arc<str>>) {
        self.shared().wanted.send_modify(|wanted| wanted.blocked = Some(Halt::Stopped(reason.into())));
    }

    /// Stops the server like [`Upstream::stop`], and waits until it has ended: up to `grace` for the calls in flight, and
    /// then for the connection, which fails the others.
    pub async fn shutdown(&self, reason: impl Into<Arc<str>>, grace: Duration) {
        let proxy = self.running();
        self.stop(reason);
        let Some(proxy) = proxy else { return };
        let drained = async {
            while self.shared().permits.running() > 0 {
                sleep(Self::DRAIN_INTERVAL).await;
            }
        };
        let _ = timeout(grace, drained).await;
        // The reason why a connection did not end well does not matter any more.
        let _ = proxy.close().await;
    }

    /// Stops the server at once, calls in flight included, until it is [released](Upstream::release).
    pub fn quarantine(&self, reason: impl Into<Arc<str>>) {
        self.shared().wanted.send_modify(|wanted| wanted.blocked = Some(Halt::Quarantined(reason.into())));
    }

    /// Ends a quarantine or a stop: the server starts as its [options](UpstreamOptions::start) say.
    pub fn release(&self) {
        self.shared().wanted.send_if_modified(|wanted| wanted.blocked.take().is_some());
    }

    /// Returns a snapshot of the state, the counters and the lists.
    pub fn status(&self) -> Status {
        Status::of(self.shared())
    }

    pub(super) fn supervised(shared: Arc<UpstreamShared>) -> Self {
        let supervisor = tokio::spawn(Supervisor::new(shared.clone()).run());
        Self(Arc::new(Handle { shared, supervisor }))
    }

    fn shared(&self) -> &Arc<UpstreamShared> {
        &self.0.shared
    }
}

/// Keeps a server running; see [`Upstream::hold`].
#[must_use = "the server may be stopped when this is dropped"]
pub struct Hold {
    _use: InUse,
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold").finish_non_exhaustive()
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared().phase.borrow().phase.state();
        f.debug_struct("Upstream").field("id", self.id()).field("state", &state).finish_non_exhaustive()
    }
}
