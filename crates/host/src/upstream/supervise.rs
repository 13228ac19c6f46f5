//! The supervisor of an upstream: the one task that starts, restarts and stops its server.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use couplet_core::{Change, Error, ErrorKind, Relay, Service, Topic};
use couplet_proxy::Proxy;
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

use super::{
    Start,
    breaker::Breaker,
    budget::{Budget, Next},
    phase::{Halt, Phase, Run, Wanted},
    refresh,
    shared::UpstreamShared,
    unavailable::seconds,
};

pub(super) struct Supervisor {
    shared: Arc<UpstreamShared>,
    wanted: watch::Receiver<Wanted>,
    budget: Budget,
    /// The number of explicit starts that were followed.
    epoch: u64,
}

/// The end of a run.
enum Ended {
    Failed(Error),
    Idle(u64),
    /// It was stopped or restarted on purpose.
    Interrupted,
}

/// Relays the updates of resources. Lists are fetched first, and published by the catalog.
struct Updates;

impl Relay for Updates {
    fn outward(&self, change: &Change) -> Option<Change> {
        match change {
            Change::Tools | Change::Prompts | Change::Resources => None,
            change => Some(change.clone()),
        }
    }

    fn inward(&self, uri: &str) -> Option<String> {
        Some(uri.to_owned())
    }

    fn inward_topic(&self, topic: &Topic) -> Option<Topic> {
        Some(topic.clone())
    }
}

impl Supervisor {
    /// The time after which a call starts a server that failed too often.
    const PROBE: Duration = Duration::from_secs(30);

    pub(super) fn new(shared: Arc<UpstreamShared>) -> Self {
        Self { wanted: shared.wanted.subscribe(), shared, budget: Budget::default(), epoch: 0 }
    }

    pub(super) async fn run(mut self) {
        self.lazily(1).await;
        loop {
            let wanted = self.wanted.borrow_and_update().clone();
            if let Some(blocked) = wanted.blocked {
                self.shared.enter(blocked.into());
                self.wait(|wanted| wanted.blocked.is_none()).await;
                let number = self.shared.enter(Phase::Configured);
                self.lazily(number).await;
                continue;
            }
            if wanted.epoch != self.epoch {
                self.epoch = wanted.epoch;
                self.budget.reset();
            }
            let began = Instant::now();
            match self.once().await {
                Ended::Interrupted => {}
                Ended::Idle(number) => self.demanded(number).await,
                Ended::Failed(error) => self.fail(error, began.elapsed()).await,
            }
        }
    }

    /// Starts the server and stays until it ends.
    async fn once(&mut self) -> Ended {
        self.shared.enter(Phase::Starting);
        let proxy = tokio::select! {
            biased;
            () = self.interrupted() => return Ended::Interrupted,
            started = self.start() => match started {
                Ok(proxy) => proxy,
                Err(error) => return Ended::Failed(error),
            },
        };
        self.shared.hub.relay(proxy.hub(), Updates);
        self.shared.permits.touch();
        let run = Arc::new(Run { proxy: proxy.clone(), breaker: Breaker::default() });
        self.shared.enter(Phase::Ready(run.clone()));
        let ended = tokio::select! {
            biased;
            () = self.interrupted() => Ended::Interrupted,
            error = proxy.closed() => Ended::Failed(error),
            error = self.hung(&run) => Ended::Failed(error),
            number = self.idle() => Ended::Idle(number),
            () = refresh::run(&self.shared, &proxy) => Ended::Interrupted,
        };
        drop(run);
        let is_cut = matches!(self.wanted.borrow().blocked, Some(Halt::Quarantined(_)));
        if is_cut || matches!(ended, Ended::Failed(_)) {
            // Calls in flight fail. Otherwise they run to their end, and the connection ends with the last of them.
            tokio::spawn(async move { drop(proxy.close().await) });
        }
        ended
    }

    async fn start(&self) -> Result<Proxy, Error> {
        let options = &self.shared.options;
        // The fallback of the probe needs time, too.
        let client = self.shared.client.clone().probe_timeout(options.connect_timeout / 3);
        // Lists are in the catalog.
        let builder = Proxy::builder(client.timeout(options.connect_timeout).cache(None))
            .connect_timeout(options.connect_timeout)
            .connections(options.connections)
            .isolation(options.isolation)
            .wait_timeout(options.queue_timeout)
            .call_timeout(options.call_timeout)
            .max_call_timeout(options.max_call_timeout)
            .reconnect_attempts(0);
        let connecting = builder.connect(self.shared.target.clone());
        match self.shared.starts.run(options.connect_timeout, connecting).await {
            Ok(started) => started,
            Err(_) => {
                let limit = seconds(options.connect_timeout);
                Err(Error::new(ErrorKind::Timeout, format!("it did not answer within {limit} after its start")))
            }
        }
    }

    /// Waits, and decides about a restart, after a failure.
    async fn fail(&mut self, error: Error, lasted: Duration) {
        self.shared.record_error(&error);
        match self.budget.fail(&self.shared.options, lasted) {
            Next::Restart(delay) => {
                self.shared.enter(Phase::Backoff(error, Instant::now() + delay));
                tokio::select! {
                    () = self.interrupted() => return,
                    () = sleep(delay) => {}
                }
            }
            Next::Exhausted(until) => {
                let number = self.shared.enter(Phase::Exhausted(error, Instant::now() + Self::PROBE));
                let again = async {
                    match self.shared.options.start {
                        Start::Eager => sleep_until(until).await,
                        Start::Lazy => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = self.demanded(number) => {}
                    () = again => {}
                }
            }
        }
        self.shared.restarts.fetch_add(1, Relaxed);
    }

    /// Waits for the first call in the phase with this number, unless the server starts at once.
    async fn lazily(&self, number: u64) {
        if self.shared.options.start == Start::Lazy {
            self.demanded(number).await;
        }
    }

    /// Waits until a start is asked for in the phase with this number, or anything else is wanted.
    async fn demanded(&self, number: u64) {
        let epoch = self.epoch;
        self.wait(|wanted| wanted.demand >= number || wanted.epoch != epoch || wanted.blocked.is_some()).await;
    }

    /// Waits until the server has to be stopped or restarted.
    async fn interrupted(&self) {
        let epoch = self.epoch;
        self.wait(|wanted| wanted.epoch != epoch || wanted.blocked.is_some()).await;
    }

    async fn wait(&self, until: impl FnMut(&Wanted) -> bool) {
        // The sender is in `shared`.
        let _ = self.wanted.clone().wait_for(until).await;
    }

    /// Waits until the server was idle for long enough, and leaves the phase `Ready`.
    async fn idle(&self) -> u64 {
        let Some(limit) = self.shared.options.idle_stop else { return std::future::pending().await };
        loop {
            let rest = limit.saturating_sub(self.shared.permits.idle_for());
            if rest.is_zero()
                && let Some(number) = self.shared.retire()
            {
                return number;
            }
            sleep(rest.max(Duration::from_millis(10))).await;
        }
    }

    /// Waits until the server did not answer a trial either, and runs no other call.
    async fn hung(&self, run: &Run) -> Error {
        loop {
            run.breaker.hung.notified().await;
            // The trial itself still counts.
            if self.shared.permits.running() <= 1 {
                return Error::new(ErrorKind::Timeout, "it did not answer its last calls, and is restarted");
            }
        }
    }
}
