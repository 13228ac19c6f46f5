//! Subscriptions to resources, which the servers that own them confirm.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use couplet_core::{Refusals, Service};
use tokio::task::JoinSet;

use crate::{service::snapshot::Snapshot, upstream::Upstream};

/// Waits until the owners of these resources have confirmed or refused the subscriptions, and returns those that are
/// refused. A server that was idle is started, as a call would.
pub(crate) async fn confirm(snapshot: Arc<Snapshot>, uris: BTreeSet<String>) -> Refusals {
    let mut by_owner: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for uri in uris {
        // A resource without an owner is not listed; its subscription waits for the owner.
        if let Some(owner) = snapshot.owner(&uri) {
            by_owner.entry(owner).or_default().insert(uri);
        }
    }
    let mut confirming = JoinSet::new();
    for (owner, uris) in by_owner {
        confirming.spawn(at_owner(snapshot.members[owner].upstream.clone(), uris));
    }
    confirming.join_all().await.into_iter().flatten().collect()
}

async fn at_owner(upstream: Upstream, uris: BTreeSet<String>) -> Refusals {
    let proxy = match upstream.proxy().await {
        Ok(running) => running.proxy().clone(),
        Err(unavailable) => {
            let error = couplet_types::RpcError::from(unavailable);
            return uris.into_iter().map(|uri| (uri, error.clone())).collect();
        }
    };
    match proxy.subscribing(&uris) {
        Some(confirming) => confirming.await,
        None => Refusals::new(),
    }
}
