//! Changes at the server, announced to the clients of the proxy.

use std::{collections::BTreeSet, future::poll_fn, task::Poll, time::Duration};

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
        if !client.shape().has_sessions() {
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

async fn subscriptions(client: &Client, hub: &Hub) {
    let mut uris = BTreeSet::new();
    let mut resources: Option<Changes> = None;
    loop {
        tokio::select! {
            change = next(&mut resources) => match change {
                Some(change) => hub.send(change),
                None => {
                    // The server ended the subscription, and the same resources are wanted.
                    tokio::time::sleep(PAUSE).await;
                    resources = subscribe(client, &uris).await;
                }
            },
            wanted = other_than(hub, &uris) => {
                // The old subscription ends after the new one has begun, so that nothing is missed.
                let next = subscribe(client, &wanted).await;
                resources = next;
                uris = wanted;
            }
        }
    }
}

async fn subscribe(client: &Client, uris: &BTreeSet<String>) -> Option<Changes> {
    let filter = uris.iter().fold(Filter::new(), |filter, uri| filter.resource(uri));
    let filter = client.declared_changes(filter);
    if filter == Filter::new() {
        return None;
    }
    match client.listen(filter).await {
        Ok(changes) => Some(changes),
        Err(error) => {
            tracing::warn!(%error, "the server does not notify of changes of resources");
            None
        }
    }
}

async fn next(changes: &mut Option<Changes>) -> Option<Change> {
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
