//! Change notifications of the server, forwarded to downstream clients.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use couplet_client::{Changes, Client, Filter};
use couplet_core::{Change, Error, Hub};
use couplet_types::{RpcError, code};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{backoff::Backoff, call::reported, subscribed::Subscribed};

/// The delay before a subscription that the server ended is renewed.
const PAUSE: Duration = Duration::from_secs(1);

/// The number of subscriptions that are requested at the same time.
const AT_ONCE: usize = 16;

/// Forwards changes, and subscribes to the resources that downstream clients are subscribed to. Lists of a server with
/// sessions need no subscription: it notifies of them on each connection.
pub(crate) async fn pass_on(client: &Client, hub: &Hub, subscribed: &Subscribed) {
    let lists = async {
        if !client.revision().has_sessions() {
            follow(client, hub, Filter::new().tools().prompts().resources()).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::join!(lists, subscriptions(client, hub, subscribed));
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

/// The subscriptions to resources at the server.
struct Subscriptions<'a> {
    client: &'a Client,
    subscribed: &'a Subscribed,
    /// The resources that downstream clients are subscribed to.
    wanted: BTreeSet<String>,
    open: BTreeMap<Group, Changes>,
    opening: JoinSet<(Group, Result<Changes, Error>)>,
    /// The groups that are being opened.
    pending: BTreeSet<Group>,
    limit: Arc<Semaphore>,
}

async fn subscriptions(client: &Client, hub: &Hub, subscribed: &Subscribed) {
    // Nothing is confirmed on this connection yet.
    subscribed.retain(|_| false);
    let mut all = Subscriptions::new(client, subscribed);
    loop {
        tokio::select! {
            (group, change) = next(&mut all.open) => match change {
                Some(change) => hub.send(change),
                None => all.renew(group),
            },
            Some(opened) = all.opening.join_next(), if !all.opening.is_empty() => {
                if let Ok((group, opened)) = opened {
                    all.opened(group, opened);
                }
            }
            wanted = other_than(hub, &all.wanted) => all.want(wanted),
            again = subscribed.again() => all.retry(&again),
        }
    }
}

impl<'a> Subscriptions<'a> {
    fn new(client: &'a Client, subscribed: &'a Subscribed) -> Self {
        Self {
            client,
            subscribed,
            wanted: BTreeSet::new(),
            open: BTreeMap::new(),
            opening: JoinSet::new(),
            pending: BTreeSet::new(),
            limit: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// With a session there is one subscription per resource, so that an unknown resource does not affect the others.
    fn groups(&self) -> BTreeSet<Group> {
        match self.client.revision().has_sessions() {
            true => self.wanted.iter().map(|uri| Group::from([uri.clone()])).collect(),
            false if self.wanted.is_empty() => BTreeSet::new(),
            false => BTreeSet::from([self.wanted.clone()]),
        }
    }

    /// Subscribes to these resources, and no longer to others.
    fn want(&mut self, wanted: BTreeSet<String>) {
        self.wanted = wanted;
        for group in self.groups() {
            self.start(group, Duration::ZERO);
        }
        self.subscribed.retain(|uri| self.wanted.contains(uri));
        self.end_old();
    }

    /// Subscribes again to resources that were refused.
    fn retry(&mut self, uris: &BTreeSet<String>) {
        for group in self.groups().into_iter().filter(|group| !group.is_disjoint(uris)) {
            self.start(group, Duration::ZERO);
        }
    }

    /// Renews a subscription that the server has ended, while downstream clients still need it.
    fn renew(&mut self, group: Group) {
        self.open.remove(&group);
        self.subscribed.retain(|uri| !group.contains(uri));
        if self.groups().contains(&group) {
            self.start(group, PAUSE);
        }
    }

    fn start(&mut self, group: Group, pause: Duration) {
        if self.open.contains_key(&group) || !self.pending.insert(group.clone()) {
            return;
        }
        let filter = group.iter().fold(Filter::new(), |filter, uri| filter.resource(uri));
        let filter = self.client.declared_changes(filter);
        if filter == Filter::new() {
            self.pending.remove(&group);
            return self.subscribed.decide(group.iter().map(|uri| (uri.clone(), Err(unheard(uri)))));
        }
        let (client, limit) = (self.client.clone(), self.limit.clone());
        self.opening.spawn(async move {
            tokio::time::sleep(pause).await;
            let _permit = limit.acquire().await;
            let opened = client.listen(filter).await;
            (group, opened)
        });
    }

    fn opened(&mut self, group: Group, opened: Result<Changes, Error>) {
        self.pending.remove(&group);
        match opened {
            Ok(changes) => {
                let honoured = changes.honoured().uris.clone();
                let decided = group.iter().map(|uri| match honoured.contains(uri) {
                    true => (uri.clone(), Ok(())),
                    false => (uri.clone(), Err(unheard(uri))),
                });
                self.subscribed.decide(decided.collect::<Vec<_>>());
                self.open.insert(group, changes);
            }
            Err(error) => {
                tracing::warn!(%error, "the server rejected a subscription to a resource");
                // Those of a smaller subscription, which stays open, are not affected.
                let others = group.iter().filter(|uri| !self.open.keys().any(|open| open.contains(*uri)));
                let refused = others.map(|uri| (uri.clone(), Err(reported(&error))));
                self.subscribed.decide(refused.collect::<Vec<_>>());
            }
        }
        self.end_old();
    }

    /// Ends subscriptions that are not needed any more, but only after those that replace them have started, so that no
    /// change is missed.
    fn end_old(&mut self) {
        let groups = self.groups();
        let current: BTreeSet<&String> = self.open.keys().filter(|open| groups.contains(*open)).flatten().collect();
        let is_needed = |uri: &String| self.wanted.contains(uri) && !current.contains(uri);
        let old = self.open.keys().filter(|open| !groups.contains(*open) && !open.iter().any(is_needed));
        let old: Vec<Group> = old.cloned().collect();
        old.iter().for_each(|group| drop(self.open.remove(group)));
    }
}

fn unheard(uri: &str) -> RpcError {
    RpcError::invalid_params(format!("the server does not notify of changes of `{uri}`"))
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
