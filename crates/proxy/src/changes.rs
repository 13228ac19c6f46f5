//! Change notifications of the server, forwarded to downstream clients.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    pin::pin,
    task::Poll,
    time::Duration,
};

use couplet_client::{Changes, Client, Filter};
use couplet_core::{Change, Hub};
use couplet_types::code;

use crate::backoff::Backoff;

/// The delay before a subscription that the server ended is renewed.
const PAUSE: Duration = Duration::from_secs(1);

/// Forwards changes, and subscribes to the resources that downstream clients are subscribed to. Lists of a server with
/// sessions need no subscription: it notifies of them on each connection.
pub(crate) async fn pass_on(client: &Client, hub: &Hub) {
    let lists = async {
        if !client.revision().has_sessions() {
            follow(client, hub, Filter::new().tools().prompts().resources()).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::join!(lists, subscriptions(client, hub));
}

/// Forwards the changes of a subscription, and renews it when the server ends it.
async fn follow(client: &Client, hub: &Hub, filter: Filter) {
    let filter = client.declared_changes(filter);
    let mut backoff = Backoff::default();
    while filter != Filter::new() {
        match client.listen(filter.clone()).await {
            Ok(mut changes) => {
                let since = tokio::time::Instant::now();
                while let Some(change) = changes.next().await {
                    hub.send(change);
                }
                backoff.lasted(since.elapsed());
            }
            Err(error) => {
                tracing::warn!(%error, "the server rejected a subscription to its lists");
                if error.rpc().is_some_and(|refused| refused.code == code::METHOD_NOT_FOUND) {
                    return;
                }
            }
        }
        tokio::time::sleep(backoff.next()).await;
    }
}

/// The resources of one subscription.
type Group = BTreeSet<String>;

async fn subscriptions(client: &Client, hub: &Hub) {
    let mut uris = BTreeSet::new();
    let mut open: BTreeMap<Group, Changes> = BTreeMap::new();
    loop {
        tokio::select! {
            (group, change) = next(&mut open) => match change {
                Some(change) => hub.send(change),
                None => {
                    // The server ended the subscription, but downstream clients still need it.
                    open.remove(&group);
                    tokio::time::sleep(PAUSE).await;
                    subscribe(client, group, &mut open).await;
                }
            },
            wanted = other_than(hub, &uris) => {
                let groups = groups(client, &wanted);
                for group in groups.difference(&open.keys().cloned().collect()) {
                    subscribe(client, group.clone(), &mut open).await;
                }
                // Old subscriptions end after the new ones have started, so that no change is missed.
                open.retain(|group, _| groups.contains(group));
                uris = wanted;
            }
        }
    }
}

/// With a session there is one subscription per resource, so that an unknown resource does not affect the others.
fn groups(client: &Client, uris: &BTreeSet<String>) -> BTreeSet<Group> {
    match client.revision().has_sessions() {
        true => uris.iter().map(|uri| Group::from([uri.clone()])).collect(),
        false => BTreeSet::from([uris.clone()]),
    }
}

async fn subscribe(client: &Client, group: Group, open: &mut BTreeMap<Group, Changes>) {
    let filter = group.iter().fold(Filter::new(), |filter, uri| filter.resource(uri));
    let filter = client.declared_changes(filter);
    if filter == Filter::new() {
        return;
    }
    match client.listen(filter).await {
        Ok(changes) => drop(open.insert(group, changes)),
        Err(error) => tracing::warn!(%error, "the server rejected a subscription to a resource"),
    }
}

/// The next change of any subscription; `None` when that subscription has ended.
async fn next(open: &mut BTreeMap<Group, Changes>) -> (Group, Option<Change>) {
    poll_fn(|cx| {
        for (group, changes) in open.iter_mut() {
            // The future holds no state between two polls, so it can be recreated for each.
            if let Poll::Ready(change) = pin!(changes.next()).poll(cx) {
                return Poll::Ready((group.clone(), change));
            }
        }
        Poll::Pending
    })
    .await
}

/// The resources that downstream clients are subscribed to, once they differ from `known`.
async fn other_than(hub: &Hub, known: &BTreeSet<String>) -> BTreeSet<String> {
    poll_fn(|cx| {
        hub.watch_interest(cx.waker());
        let wanted = hub.interest().uris;
        if wanted == *known { Poll::Pending } else { Poll::Ready(wanted) }
    })
    .await
}
