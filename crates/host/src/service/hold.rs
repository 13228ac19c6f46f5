//! Servers that are not stopped while a client is subscribed to one of their resources.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    sync::{Arc, Weak},
    task::Poll,
};

use couplet_core::Hub;
use tokio::task::AbortHandle;

use crate::{
    names::ServerId,
    service::ViewInner,
    upstream::{Hold, Upstream},
};

/// Spawns the task that holds the servers of subscribed resources, until the view is gone.
pub(crate) fn spawn(view: &Weak<ViewInner>, hub: &Hub) -> AbortHandle {
    let (view, hub) = (view.clone(), hub.clone());
    tokio::spawn(follow(view, hub)).abort_handle()
}

async fn follow(view: Weak<ViewInner>, hub: Hub) {
    let mut holds: BTreeMap<ServerId, Hold> = BTreeMap::new();
    let mut known = BTreeSet::new();
    loop {
        known = other_than(&hub, &known).await;
        let Some(view) = view.upgrade() else { return };
        let owners = owners(&view, &known);
        holds.retain(|id, _| owners.iter().any(|owner| owner.id() == id));
        for owner in owners {
            if !holds.contains_key(owner.id()) {
                holds.insert(owner.id().clone(), owner.hold());
                // A server that was idle is started, as a call would.
                tokio::spawn(async move { drop(owner.proxy().await) });
            }
        }
    }
}

fn owners(view: &Arc<ViewInner>, uris: &BTreeSet<String>) -> Vec<Upstream> {
    let snapshot = view.snapshot();
    let members: BTreeSet<_> = uris.iter().filter_map(|uri| snapshot.owner(uri)).collect();
    let stopping = members.into_iter().map(|at| &snapshot.members[at].upstream);
    stopping.filter(|upstream| upstream.options().idle_stop.is_some()).cloned().collect()
}

/// The resources that clients are subscribed to, once they differ from `known`.
async fn other_than(hub: &Hub, known: &BTreeSet<String>) -> BTreeSet<String> {
    poll_fn(|cx| {
        hub.watch_interest(cx.waker());
        let wanted = hub.interest().uris;
        if wanted == *known { Poll::Pending } else { Poll::Ready(wanted) }
    })
    .await
}
