//! Changes at the server, announced to the clients of the proxy.

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

/// The pause before a subscription that the server ended is made again.
const PAUSE: Duration = Duration::from_secs(1);

/// Announces what changes, and subscribes to the resources that a client of the proxy is subscribed to. Lists of a server
/// with a session need no subscription: it notifies of them on each connection.
pub(crate) async fn pass_on(client: &Client, hub: &Hub) {
    let lists = async {
        if !client.revision().has_sessions() {
            follow(client, hub, Filter::new().tools().prompts().resources()).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::join!(lists, subscriptions(client, hub));
}

/// Announces the changes of a subscription, and subscribes again when the server ends it.
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
                tracing::warn!(%error, "the server does not notify of changes of its lists");
                if error.rpc().is_some_and(|refused| refused.code == code::METHOD_NOT_FOUND) {
                    return;
                }
            }
        }
        tokio::time::sleep(backoff.next()).await;
    }
}

/// Resources that one subscription is about.
type Group = BTreeSet<String>;

async fn subscriptions(client: &Client, hub: &Hub) {
    let mut uris = BTreeSet::new();
    let mut open: BTreeMap<Group, Changes> = BTreeMap::new();
    loop {
        tokio::select! {
            (group, change) = next(&mut open) => match change {
                Some(change) => hub.send(change),
                None => {
                    // The server ended the subscription, and the same resources are wanted.
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
                // Old subscriptions end after the new ones have begun, so that nothing is missed.
                open.retain(|group, _| groups.contains(group));
                uris = wanted;
            }
        }
    }
}

/// A server with a session is asked for one resource at a time, so that one that it does not have costs no other.
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
        Err(error) => tracing::warn!(%error, "the server does not notify of changes of a resource"),
    }
}

/// The next change of any subscription; `None` when that one is over.
async fn next(open: &mut BTreeMap<Group, Changes>) -> (Group, Option<Change>) {
    poll_fn(|cx| {
        for (group, changes) in open.iter_mut() {
            // The future holds nothing between two polls, so it can be made anew for each.
            if let Poll::Ready(change) = pin!(changes.next()).poll(cx) {
                return Poll::Ready((group.clone(), change));
            }
        }
        Poll::Pending
    })
    .await
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
