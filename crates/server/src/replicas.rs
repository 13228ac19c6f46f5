//! The bridge to the other replicas of a server.

use std::{fmt, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Bridge, BridgeFailure, BridgeRuntime, ChangeBus, Error, ErrorKind, Hub, Metric, Outage};
use tokio::sync::Mutex;

use crate::{inner::Inner, mount::Mount, together::together};

/// The bridge of a server to its other replicas. However many transports serve the server, one of them runs it.
#[derive(Clone)]
pub(crate) struct Replicas {
    bridge: Arc<Mutex<Bridge>>,
    runtime: Arc<Tokio>,
    hub: Hub,
}

impl Replicas {
    pub(crate) fn new(hub: &Hub, bus: Arc<dyn ChangeBus>) -> Self {
        Self { bridge: Arc::new(Mutex::new(hub.bridge(bus))), runtime: Arc::default(), hub: hub.clone() }
    }

    async fn run(self) {
        self.bridge.lock().await.run(&*self.runtime).await;
    }

    /// The failures of the bus, and the changes that wait for it.
    pub(crate) fn metrics(&self) -> [Metric; 2] {
        let waiting = u64::try_from(self.hub.unpublished()).unwrap_or(u64::MAX);
        let help = "changes that other replicas do not know yet";
        [self.runtime.outage.metric("changes"), Metric::gauge("couplet_unpublished_changes", help, waiting)]
    }
}

/// The background work of a server and of those that are mounted in it.
pub(crate) fn background(inner: &Inner) -> Option<BoxFuture<'static, ()>> {
    let own = inner.replicas.clone().map(|replicas| -> BoxFuture<'static, ()> { Box::pin(replicas.run()) });
    let mounted = inner.mounts.iter().filter_map(|mount: &Mount| mount.service.background());
    together(own.into_iter().chain(mounted).collect())
}

/// Time and log of a bridge.
#[derive(Default)]
struct Tokio {
    /// Whether the bus is away, which is logged once.
    outage: Outage,
}

impl BridgeRuntime for Tokio {
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn failed(&self, what: BridgeFailure, error: &Error) {
        let retries = matches!(what, BridgeFailure::Publish | BridgeFailure::Subscribe);
        if retries && self.outage.note(Some(error)).is_none() && Outage::is_outage(error) {
            return tracing::debug!(%error, ?what, "the change bus is still away");
        }
        match what {
            BridgeFailure::Publish => tracing::warn!(%error, "a change cannot be published to other replicas yet"),
            BridgeFailure::Subscribe => tracing::warn!(%error, "the changes of other replicas cannot be received yet"),
            BridgeFailure::Receive => {
                // There was a subscription until now: this is a failure, and not an outage yet.
                self.outage.note(Some(&Error::new(ErrorKind::Closed, "the subscription has ended")));
                tracing::warn!(%error, "changes of other replicas may have been lost: clients are notified of all lists");
            }
            _ => tracing::debug!(%error, "a change of another replica is skipped"),
        }
    }
}

impl fmt::Debug for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replicas").finish_non_exhaustive()
    }
}
