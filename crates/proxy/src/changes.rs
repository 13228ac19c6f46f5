//! Changes, told on.

use std::{collections::BTreeSet, future::poll_fn, task::Poll};

use couplet_client::{Changes, Client, Filter};
use couplet_core::Hub;

/// Lists are always listened to: who asks for one may keep it.
pub(crate) fn lists() -> Filter {
    Filter::new().tools().prompts().resources()
}

/// Tells on what changes, and subscribes to the resources that somebody here is subscribed to.
pub(crate) async fn pass_on(client: Client, hub: Hub, mut lists: Changes) {
    let mut uris = BTreeSet::new();
    let mut resources: Option<Changes> = None;
    loop {
        tokio::select! {
            change = lists.next() => match change {
                Some(change) => hub.send(change),
                None => return tracing::debug!(ended = ?lists.ended(), "the server tells of no more changes"),
            },
            change = next(&mut resources) => match change {
                Some(change) => hub.send(change),
                None => resources = None,
            },
            wanted = other_than(&hub, &uris) => {
                // The old subscription ends after the new one has begun, so that nothing is missed.
                let next = subscribe(&client, &wanted).await;
                resources = next;
                uris = wanted;
            }
        }
    }
}

async fn subscribe(client: &Client, uris: &BTreeSet<String>) -> Option<Changes> {
    if uris.is_empty() {
        return None;
    }
    let filter = uris.iter().fold(Filter::new(), |filter, uri| filter.resource(uri));
    match client.listen(filter).await {
        Ok(changes) => Some(changes),
        Err(error) => {
            tracing::warn!(%error, "the server does not tell of changes of resources");
            None
        }
    }
}

async fn next(changes: &mut Option<Changes>) -> Option<couplet_core::Change> {
    match changes {
        Some(changes) => changes.next().await,
        None => std::future::pending().await,
    }
}

/// The resources that are wanted here, once they are others.
async fn other_than(hub: &Hub, known: &BTreeSet<String>) -> BTreeSet<String> {
    poll_fn(|cx| {
        hub.watch_interest(cx.waker());
        let wanted = hub.interest().uris;
        if wanted == *known { Poll::Pending } else { Poll::Ready(wanted) }
    })
    .await
}
