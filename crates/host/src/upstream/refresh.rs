//! The refresh of an upstream's lists while it runs.

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use couplet_core::{Change, Filter, Service, Subscription};
use couplet_proxy::Proxy;
use tokio::time::{Instant, sleep};

use super::shared::UpstreamShared;
use crate::catalog::{Catalog, FetchLimits, ListSet, fetch};

/// The time between two refreshes. A refresh that takes longer is followed by a pause of the same length.
const PAUSE: Duration = Duration::from_millis(250);
/// The delay after a refresh that failed, which doubles up to the longest one.
const RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// Fetches all lists, and then those that change or expire. Any number of changes meanwhile is one further refresh.
pub(super) async fn run(shared: &UpstreamShared, proxy: &Proxy) {
    // Subscribed first: what changes while it is fetched is fetched again.
    let changes = proxy.hub().subscribe(Filter::new().tools().prompts().resources());
    let (mut wanted, mut retry) = (ListSet::ALL, RETRY);
    let limits = FetchLimits::new(shared.options.list_timeout);
    loop {
        let began = Instant::now();
        let fetched = fetch(&proxy.client(), wanted, &limits).await;
        let new = Arc::new(shared.catalog.borrow().refreshed(fetched));
        let (failed, expiry) = (new.failed(), new.expiry());
        publish(shared, new);
        sleep(began.elapsed().max(PAUSE)).await;
        let delay = retry;
        retry = if failed.is_empty() { RETRY } else { (retry * 2).min(LONGEST_RETRY) };
        let expired = async {
            match (failed.is_empty(), expiry) {
                (false, _) => {
                    sleep(delay).await;
                    failed
                }
                (true, Some(expiry)) => {
                    sleep(expiry).await;
                    ListSet::ALL
                }
                (true, None) => std::future::pending().await,
            }
        };
        wanted = tokio::select! {
            changed = next(&changes) => changed | failed,
            expired = expired => expired,
        };
    }
}

/// Publishes new lists.
fn publish(shared: &UpstreamShared, new: Arc<Catalog>) {
    if let Some(error) = new.error() {
        tracing::warn!(server = shared.id.as_str(), "the lists cannot be refreshed: {error}");
    }
    let old = shared.catalog.send_replace(new.clone());
    if old.generation() != new.generation() || old.freshness() != new.freshness() {
        shared.version.send_modify(|version| *version += 1);
    }
}

/// Waits for changed lists.
async fn next(changes: &Subscription) -> ListSet {
    poll_fn(|cx| {
        // Registered first, so that no change is missed.
        changes.register(cx.waker());
        let mut changed = ListSet::NONE;
        while let Some(change) = changes.take() {
            changed = changed
                | match change {
                    Change::Tools => ListSet::TOOLS,
                    Change::Prompts => ListSet::PROMPTS,
                    Change::Resources => ListSet::RESOURCES,
                    _ => ListSet::NONE,
                };
        }
        if changed.is_empty() { Poll::Pending } else { Poll::Ready(changed) }
    })
    .await
}
