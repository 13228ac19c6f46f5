//! Upstreams.

use std::{fmt, sync::Arc, time::Duration};

use couplet_client::ClientBuilder;
use couplet_core::{Connect, Hub};
use couplet_proxy::Proxy;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, timeout_at},
};

use super::{
    Latency, Running, StartLimit, State, Status, Unavailable, UpstreamOptions,
    permits::InUse,
    phase::{Blocked, Phase},
    shared::{Shared, StderrTail},
    status::CatalogStatus,
    supervise::Supervisor,
    target::SharedTarget,
};
use crate::{
    catalog::{Catalog, List},
    names::ServerId,
};

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
    shared: Arc<Shared>,
    supervisor: JoinHandle<()>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.supervisor.abort();
    }
}

/// A builder of an [`Upstream`], made by [`Upstream::builder`].
#[must_use = "an upstream is made by `build`"]
pub struct UpstreamBuilder {
    id: ServerId,
    client: ClientBuilder,
    target: Box<dyn Connect>,
    options: UpstreamOptions,
    starts: StartLimit,
    stderr: Option<StderrTail>,
}

impl UpstreamBuilder {
    /// Sets the options.
    pub fn options(mut self, options: UpstreamOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the limit on upstreams that start at the same time, which all upstreams of a host should share.
    pub fn start_limit(mut self, starts: &StartLimit) -> Self {
        self.starts = starts.clone();
        self
    }

    /// Sets the function that returns the end of the server's standard error. The last lines are quoted in errors.
    pub fn stderr(mut self, tail: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.stderr = Some(Arc::new(tail));
        self
    }

    /// Creates the upstream, and spawns its supervisor.
    ///
    /// # Panics
    /// If it is called outside of a tokio runtime.
    pub fn build(self) -> Upstream {
        let Self { id, client, target, options, starts, stderr } = self;
        let shared = Arc::new(Shared::new(id, options, client, SharedTarget::new(target), starts, stderr));
        let supervisor = tokio::spawn(Supervisor::new(shared.clone()).run());
        Upstream(Arc::new(Handle { shared, supervisor }))
    }
}

impl Upstream {
    /// Creates a builder for a target. Callbacks of the client are not used: requests of the server go to its callers.
    pub fn builder(id: ServerId, client: ClientBuilder, target: impl Connect + 'static) -> UpstreamBuilder {
        let (options, starts) = (UpstreamOptions::default(), StartLimit::default());
        UpstreamBuilder { id, client, target: Box::new(target), options, starts, stderr: None }
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

    /// Returns the proxy of each run, as it changes; `None` between two runs.
    pub fn runs(&self) -> watch::Receiver<Option<Proxy>> {
        self.shared().runs.subscribe()
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
                let (phase, number) = {
                    let entered = phases.borrow_and_update();
                    (entered.phase.state(), entered.number)
                };
                match phase {
                    State::Configured => shared.demand(number),
                    State::Starting | State::Ready | State::Degraded => {}
                    State::Backoff | State::Stopped | State::Quarantined => return,
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

    /// Starts the server now, also if it was stopped, failed too often or is quarantined.
    pub fn start(&self) {
        self.shared().wanted.send_modify(|wanted| {
            wanted.epoch += u64::from(wanted.blocked.is_some() || self.running().is_none());
            wanted.blocked = None;
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
        self.shared().wanted.send_modify(|wanted| wanted.blocked = Some(Blocked::Stopped(reason.into())));
    }

    /// Stops the server at once, calls in flight included, until it is [released](Upstream::release).
    pub fn quarantine(&self, reason: impl Into<Arc<str>>) {
        self.shared().wanted.send_modify(|wanted| wanted.blocked = Some(Blocked::Quarantined(reason.into())));
    }

    /// Ends a quarantine or a stop: the server starts as its [options](UpstreamOptions::start) say.
    pub fn release(&self) {
        self.shared().wanted.send_if_modified(|wanted| wanted.blocked.take().is_some());
    }

    /// Returns a snapshot of the state, the counters and the lists.
    pub fn status(&self) -> Status {
        use std::sync::atomic::Ordering::Relaxed;
        let shared = self.shared();
        let entered = shared.phase.borrow().clone();
        let catalog = self.catalog();
        let is_degraded = shared.breaker.is_open() || catalog.error().is_some();
        let (error, retry) = match &entered.phase {
            Phase::Backoff(error, at) | Phase::Exhausted(error, at) => (Some(shared.cause(error)), Some(*at)),
            Phase::Stopped(reason) | Phase::Quarantined(reason) => (Some(reason.to_string()), None),
            Phase::Configured | Phase::Starting | Phase::Ready(_) => (shared.last_error(), None),
        };
        Status {
            server: shared.id.clone(),
            state: match entered.phase.state() {
                State::Ready if is_degraded => State::Degraded,
                state => state,
            },
            since: entered.since.elapsed(),
            error,
            retry_in: retry.map(|at| at.saturating_duration_since(Instant::now())),
            restarts: shared.restarts.load(Relaxed),
            calls: shared.calls.load(Relaxed),
            failures: shared.failures.load(Relaxed),
            running: shared.permits.running(),
            queued: shared.permits.queued(),
            latency: shared
                .latency
                .percentile(0.5)
                .zip(shared.latency.percentile(0.99))
                .map(|(p50, p99)| Latency { p50, p99 }),
            catalog: CatalogStatus {
                age: catalog.age(),
                tools: catalog.list(List::Tools).len(),
                prompts: catalog.list(List::Prompts).len(),
                resources: catalog.list(List::Resources).len(),
                templates: catalog.list(List::Templates).len(),
                error: catalog.error().map(ToString::to_string),
                reports: catalog.reports().to_vec(),
            },
        }
    }

    fn shared(&self) -> &Arc<Shared> {
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

impl fmt::Debug for UpstreamBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamBuilder").field("id", &self.id).field("options", &self.options).finish_non_exhaustive()
    }
}
