//! The status of an upstream, for people and monitoring.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use couplet_core::visible;
use tokio::time::Instant;

use super::{phase::Phase, shared::UpstreamShared};
use crate::{
    catalog::{Catalog, List},
    names::ServerId,
};

/// The state of an upstream; see the [table](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// Not started yet, or stopped because it was idle. The next call starts it.
    Configured,
    /// Not started until it is approved.
    Quarantined,
    /// Connecting.
    Starting,
    /// Connected.
    Ready,
    /// Connected, but calls time out or lists cannot be fetched.
    Degraded,
    /// Failed, and restarted soon.
    Backoff,
    /// Failed too often, or stopped on purpose.
    Stopped,
}

impl State {
    /// Returns the name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Quarantined => "quarantined",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::Backoff => "backoff",
            Self::Stopped => "stopped",
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A snapshot of an upstream, made by [`Upstream::status`](super::Upstream::status).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// The server.
    pub server: ServerId,
    /// The state.
    pub state: State,
    /// The time in this state.
    pub since: Duration,
    /// The reason for the state, or the last failure, with the end of the server's standard error. Control characters
    /// are escaped.
    pub error: Option<String>,
    /// The time until the next restart, if one is planned.
    pub retry_in: Option<Duration>,
    /// The number of restarts after failures.
    pub restarts: u64,
    /// The number of calls that have ended.
    pub calls: u64,
    /// How many of them the server did not answer.
    pub failures: u64,
    /// The number of calls that run.
    pub running: usize,
    /// The number of calls that wait for others to end.
    pub queued: usize,
    /// The latencies of calls, recent ones above all; `None` before the first call.
    pub latency: Option<Latency>,
    /// The lists.
    pub catalog: CatalogStatus,
}

/// Percentiles of latencies, exact to a fifth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
}

/// The lists of an upstream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CatalogStatus {
    /// The time since the lists were fetched; `None` if they never were.
    pub age: Option<Duration>,
    /// The number of tools.
    pub tools: usize,
    /// The number of prompts.
    pub prompts: usize,
    /// The number of resources.
    pub resources: usize,
    /// The number of resource templates.
    pub templates: usize,
    /// The reason why the lists could not be refreshed, if they could not.
    pub error: Option<String>,
    /// Definitions that were dropped, and lists that were truncated.
    pub reports: Vec<String>,
}

impl Status {
    pub(super) fn of(shared: &UpstreamShared) -> Self {
        let entered = shared.phase.borrow().clone();
        let catalog = shared.catalog.borrow().clone();
        let (error, retry) = match &entered.phase {
            Phase::Backoff(error, at) | Phase::Exhausted(error, at) => (Some(shared.cause(error)), Some(*at)),
            Phase::Stopped(reason) | Phase::Quarantined(reason) => (Some(reason.to_string()), None),
            Phase::Configured | Phase::Starting | Phase::Ready(_) => (shared.last_error(), None),
        };
        let state = match &entered.phase {
            Phase::Ready(run) if run.breaker.is_open() || catalog.error().is_some() => State::Degraded,
            phase => phase.state(),
        };
        let percentiles = shared.latency.percentile(0.5).zip(shared.latency.percentile(0.99));
        Self {
            server: shared.id.clone(),
            state,
            since: entered.since.elapsed(),
            error,
            retry_in: retry.map(|at| at.saturating_duration_since(Instant::now())),
            restarts: shared.restarts.load(Relaxed),
            calls: shared.calls.load(Relaxed),
            failures: shared.failures.load(Relaxed),
            running: shared.permits.running(),
            queued: shared.permits.queued(),
            latency: percentiles.map(|(p50, p99)| Latency { p50, p99 }),
            catalog: CatalogStatus::of(&catalog),
        }
    }
}

impl CatalogStatus {
    fn of(catalog: &Catalog) -> Self {
        let [tools, prompts, resources, templates] = List::ALL.map(|list| catalog.list(list).len());
        let error = catalog.error().map(|error| visible(&error.to_string()));
        Self { age: catalog.age(), tools, prompts, resources, templates, error, reports: catalog.reports() }
    }
}
