//! The state that the handles, the calls and the supervisor of an upstream share.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use couplet_client::ClientBuilder;
use couplet_core::{Error, Hub, sync::lock, visible};
use couplet_proxy::Proxy;
use tokio::{
    sync::watch,
    time::{Instant, timeout, timeout_at},
};

use super::{
    StartLimit, Unavailable, UpstreamOptions,
    latency::Histogram,
    permits::Permits,
    phase::{Entered, Phase, Run, Wanted},
    target::SharedTarget,
};
use crate::{catalog::Catalog, names::ServerId};

/// A function that returns the end of the server's standard error.
pub(super) type StderrTail = Arc<dyn Fn() -> String + Send + Sync>;

pub(super) struct UpstreamShared {
    pub(super) id: ServerId,
    pub(super) options: UpstreamOptions,
    pub(super) client: ClientBuilder,
    pub(super) target: SharedTarget,
    pub(super) starts: StartLimit,
    pub(super) stderr: Option<StderrTail>,
    pub(super) phase: watch::Sender<Entered>,
    pub(super) wanted: watch::Sender<Wanted>,
    pub(super) catalog: watch::Sender<Arc<Catalog>>,
    /// Counts the changes of the catalog.
    pub(super) version: watch::Sender<u64>,
    pub(super) hub: Hub,
    pub(super) runs: watch::Sender<Option<Proxy>>,
    pub(super) permits: Arc<Permits>,
    pub(super) latency: Histogram,
    pub(super) restarts: AtomicU64,
    pub(super) calls: AtomicU64,
    pub(super) failures: AtomicU64,
    last_error: Mutex<Option<String>>,
}

impl UpstreamShared {
    /// A restart within this time is waited for.
    const SOON: Duration = Duration::from_secs(2);
    /// The time that a call waits for a start beyond the connect timeout, which does not include the time until the
    /// start's turn.
    const SLACK: Duration = Duration::from_secs(2);

    pub(super) fn new(
        id: ServerId,
        options: UpstreamOptions,
        client: ClientBuilder,
        target: SharedTarget,
        starts: StartLimit,
        stderr: Option<StderrTail>,
    ) -> Self {
        let entered = Entered { phase: Phase::Configured, since: Instant::now(), number: 1 };
        Self {
            permits: Permits::new(&options),
            phase: watch::Sender::new(entered),
            wanted: watch::Sender::default(),
            catalog: watch::Sender::new(Arc::new(Catalog::never())),
            version: watch::Sender::new(0),
            hub: Hub::new(),
            runs: watch::Sender::new(None),
            latency: Histogram::default(),
            restarts: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            last_error: Mutex::new(None),
            id,
            options,
            client,
            target,
            starts,
            stderr,
        }
    }

    /// Enters a phase, and returns its number.
    pub(super) fn enter(&self, phase: Phase) -> u64 {
        tracing::debug!(server = self.id.as_str(), state = phase.state().name(), "the upstream changes its state");
        let proxy = match &phase {
            Phase::Ready(run) => Some(run.proxy.clone()),
            _ => None,
        };
        // Callers that see the phase find the proxy, and those that do not, do not.
        let changes = proxy.is_some() || self.runs.borrow().is_some();
        if changes {
            drop(self.runs.send_replace(proxy));
        }
        let mut number = 0;
        let mut old = None;
        self.phase.send_modify(|entered| {
            number = entered.number + 1;
            old = Some(std::mem::replace(entered, Entered { phase, since: Instant::now(), number }));
        });
        // Dropping the last handle of a proxy closes connections, which must not happen under the lock.
        drop(old);
        number
    }

    /// Leaves the phase `Ready` if no call is running, and returns the number of the new one.
    pub(super) fn retire(&self) -> Option<u64> {
        let mut retired = None;
        self.phase.send_if_modified(|entered| {
            // A call is counted before it looks at the phase, so it is seen here, or sees the new phase.
            if self.permits.is_in_use() {
                return false;
            }
            let number = entered.number + 1;
            let new = Entered { phase: Phase::Configured, since: Instant::now(), number };
            retired = Some((number, std::mem::replace(entered, new)));
            true
        });
        let (number, old) = retired?;
        drop((old, self.runs.send_replace(None)));
        Some(number)
    }

    /// Asks the supervisor for a start, in a phase with this number.
    pub(super) fn demand(&self, number: u64) {
        self.wanted.send_if_modified(|wanted| {
            let is_new = wanted.demand < number;
            wanted.demand = wanted.demand.max(number);
            is_new
        });
    }

    /// Waits until the server runs; starts it if it may be started.
    pub(super) async fn ready(&self) -> Result<Arc<Run>, Unavailable> {
        if let Phase::Ready(run) = &self.phase.borrow().phase {
            return Ok(run.clone());
        }
        let began = Instant::now();
        let deadline = began + self.options.connect_timeout + Self::SLACK;
        let mut phases = self.phase.subscribe();
        loop {
            let Entered { phase, number, .. } = phases.borrow_and_update().clone();
            let now = Instant::now();
            match phase {
                Phase::Ready(run) => return Ok(run),
                Phase::Configured => self.demand(number),
                Phase::Starting => {}
                Phase::Backoff(error, retry) => {
                    let rest = retry.saturating_duration_since(now);
                    if rest > Self::SOON {
                        return Err(Unavailable::failed(&self.id, &self.cause(&error), rest));
                    }
                }
                Phase::Exhausted(_, probe) if probe <= now => self.demand(number),
                Phase::Exhausted(error, probe) => {
                    return Err(Unavailable::exhausted(&self.id, &self.cause(&error), probe - now));
                }
                Phase::Stopped(reason) => return Err(Unavailable::stopped(&self.id, &reason)),
                Phase::Quarantined(reason) => return Err(Unavailable::quarantined(&self.id, &reason)),
            }
            match timeout_at(deadline, phases.changed()).await {
                Ok(Ok(())) => {}
                // The sender is in `self`.
                Ok(Err(_)) | Err(_) => return Err(Unavailable::starting(&self.id, began.elapsed())),
            }
        }
    }

    /// Waits until a run is over; false if it is not within the time.
    pub(super) async fn is_over(&self, run: &Arc<Run>, within: Duration) -> bool {
        let is_over = |entered: &Entered| !matches!(&entered.phase, Phase::Ready(now) if Arc::ptr_eq(now, run));
        timeout(within, self.phase.subscribe().wait_for(is_over)).await.is_ok()
    }

    /// The text of an error, with the end of the server's standard error.
    pub(super) fn cause(&self, error: &Error) -> String {
        let text = with_sources(error);
        let words = self.stderr.as_ref().map(|tail| last_lines(&tail())).unwrap_or_default();
        // An error of a child process may quote it already.
        let is_quoted = words.is_empty() || text.contains(words.rsplit(" | ").next().unwrap_or(&words));
        let whole = if is_quoted { text } else { format!("{text}; its standard error ends with: {words}") };
        visible(&whole)
    }

    pub(super) fn record_error(&self, error: &Error) {
        let cause = self.cause(error);
        tracing::warn!(server = self.id.as_str(), "{cause}");
        *lock(&self.last_error) = Some(cause);
    }

    pub(super) fn last_error(&self) -> Option<String> {
        lock(&self.last_error).clone()
    }

    pub(super) fn count_failure(&self) {
        self.failures.fetch_add(1, Relaxed);
    }
}

/// The text of an error with its causes, each once.
fn with_sources(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = cause.source();
    }
    text
}

/// The last lines of a text, on one line.
fn last_lines(text: &str) -> String {
    const LINES: usize = 5;
    const CHARS: usize = 1000;
    let lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(LINES);
    let mut lines = Vec::from_iter(lines);
    lines.reverse();
    let joined = lines.join(" | ");
    let excess = joined.chars().count().saturating_sub(CHARS);
    joined.chars().skip(excess).collect()
}
