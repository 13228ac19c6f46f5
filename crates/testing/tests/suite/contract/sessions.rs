//! Broken session stores.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error};
use couplet_http::server::{Claim, LoadedSession, MemorySessions, Node, Posted, Renewed, SessionRecord, SessionStore};
use couplet_testing::contract;

use super::{finds_all, is_violated};

/// The ways in which a store can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    ClaimsInTwoSteps,
    StealsSessions,
    LeasesNeverExpire,
    RenewsForAll,
    RemembersForAll,
    ForgetsState,
    NeverReleases,
    ReleasesForAll,
    LosesMessages,
    PostsToAll,
    HasNoLimit,
    RemovesNothing,
    RemovesTwice,
}

struct Flawed(MemorySessions, Option<Flaw>);

impl Flawed {
    fn has(&self, flaw: Flaw) -> bool {
        self.1 == Some(flaw)
    }

    fn lease(&self, lease: Duration) -> Duration {
        if self.has(Flaw::LeasesNeverExpire) { Duration::from_secs(3600) } else { lease }
    }

    async fn owner(&self, id: &str) -> Result<Option<Node>, Error> {
        Ok(self.0.load(id).await?.and_then(|(_, owner)| owner))
    }

    /// Claims a session from its owner, whichever that is.
    async fn steal(&self, id: &str, node: &Node, lease: Duration) -> Result<Claim, Error> {
        let owner = self.owner(id).await?.unwrap_or_else(|| node.clone());
        self.0.claim_from(id, &owner, node, lease).await
    }
}

impl SessionStore for Flawed {
    fn create<'a>(
        &'a self,
        record: SessionRecord,
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<u64, Error>> {
        self.0.create(record, node, self.lease(lease))
    }

    fn load<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<LoadedSession>, Error>> {
        self.0.load(id)
    }

    fn claim_from<'a>(
        &'a self,
        id: &'a str,
        gone: &'a Node,
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Claim, Error>> {
        Box::pin(async move {
            if self.has(Flaw::StealsSessions) {
                return self.steal(id, node, lease).await;
            }
            if self.has(Flaw::ClaimsInTwoSteps) {
                let owner = self.owner(id).await?;
                tokio::task::yield_now().await;
                if owner.is_none_or(|owner| owner.id == node.id || owner.id == gone.id) {
                    return self.steal(id, node, lease).await;
                }
            }
            self.0.claim_from(id, gone, node, self.lease(lease)).await
        })
    }

    fn renew<'a>(
        &'a self,
        owned: &'a [(Arc<str>, u64)],
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Renewed, Error>> {
        Box::pin(async move {
            let renewed = self.0.renew(owned, node, self.lease(lease)).await?;
            Ok(if self.has(Flaw::RenewsForAll) { Renewed { lost: Vec::new(), ..renewed } } else { renewed })
        })
    }

    fn post<'a>(&'a self, id: &'a str, owner: &'a Node, message: Bytes) -> BoxFuture<'a, Result<Posted, Error>> {
        Box::pin(async move {
            if self.has(Flaw::LosesMessages) && self.owner(id).await?.as_ref() == Some(owner) {
                return Ok(Posted::Stored);
            }
            match self.0.post(id, owner, message).await? {
                Posted::Full if self.has(Flaw::HasNoLimit) => Ok(Posted::Stored),
                Posted::Elsewhere if self.has(Flaw::PostsToAll) => Ok(Posted::Stored),
                posted => Ok(posted),
            }
        })
    }

    fn take<'a>(&'a self, id: &'a str, generation: u64, after: u64) -> BoxFuture<'a, Result<Vec<(u64, Bytes)>, Error>> {
        self.0.take(id, generation, after)
    }

    fn remember<'a>(&'a self, id: &'a str, generation: u64, memory: Bytes) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            if self.has(Flaw::ForgetsState) {
                return Ok(true);
            }
            Ok(self.0.remember(id, generation, memory).await? || self.has(Flaw::RemembersForAll))
        })
    }

    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            if self.has(Flaw::ReleasesForAll) {
                for generation in 0..100 {
                    self.0.release(id, generation).await?;
                }
            }
            if self.has(Flaw::NeverReleases) { Ok(()) } else { self.0.release(id, generation).await }
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let existed = !self.has(Flaw::RemovesNothing) && self.0.remove(id).await?;
            Ok(existed || self.has(Flaw::RemovesNothing) || self.has(Flaw::RemovesTwice))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn broken_session_stores_are_found() {
    use Flaw as F;
    let flaws = [
        F::ClaimsInTwoSteps,
        F::StealsSessions,
        F::LeasesNeverExpire,
        F::RenewsForAll,
        F::RemembersForAll,
        F::ForgetsState,
        F::NeverReleases,
        F::ReleasesForAll,
        F::LosesMessages,
        F::PostsToAll,
        F::HasNoLimit,
        F::RemovesNothing,
        F::RemovesTwice,
    ];
    finds_all(&flaws, |flaw| async move {
        contract::session_store(&Flawed(MemorySessions::new(), flaw)).await;
    })
    .await;
    let away = is_violated(async { contract::session_store_away(&MemorySessions::new()).await });
    assert!(away.await, "a store that answers is not away");
}

#[tokio::test(start_paused = true)]
async fn sessions_that_do_not_expire_are_found() {
    let short = || MemorySessions::with_lifetime(Duration::from_millis(1));
    let flaws =
        [Flaw::LeasesNeverExpire, Flaw::RenewsForAll, Flaw::RemembersForAll, Flaw::PostsToAll, Flaw::RemovesTwice];
    finds_all(&flaws, |flaw| async move { contract::session_expiry(&Flawed(short(), flaw)).await }).await;
    let forever = is_violated(async { contract::session_expiry(&MemorySessions::new()).await });
    assert!(forever.await, "sessions stay for a day");
}
