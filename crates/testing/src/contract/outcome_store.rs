//! The contract of an outcome store.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use couplet_server::outcomes::{Begun, OutcomeKey, OutcomeStore};

use super::{at_once, in_time, unique};

/// Longer than any test.
const LONG: Duration = Duration::from_secs(3600);
/// Over at once, or nearly.
const SHORT: Duration = Duration::from_millis(1);
const DIGEST: [u8; 32] = [7; 32];

/// Checks the contract of an [`OutcomeStore`].
///
/// ```
/// use couplet_server::outcomes::MemoryOutcomes;
/// use couplet_testing::contract;
///
/// # couplet_testing::block_on(async {
/// contract::outcome_store(&MemoryOutcomes::new()).await;
/// # });
/// ```
///
/// # Panics
/// If the store violates its contract.
pub async fn outcome_store(store: &dyn OutcomeStore) {
    let store = Checked(store);
    store.check_first_outcome().await;
    store.check_tokens().await;
    store.check_expired_lease().await;
    store.check_lifetime().await;
    store.check_identities().await;
    store.check_concurrency().await;
    store.check_bytes().await;
}

struct Checked<'a>(&'a dyn OutcomeStore);

impl Checked<'_> {
    /// The first call is executed, and its outcome is that of all others.
    async fn check_first_outcome(&self) {
        let key = key("first");
        let token = self.first(&key, LONG).await;
        assert_eq!(self.begin(&key).await, Begun::Running, "the first call is running");
        assert_eq!(self.begin_with(&key, [8; 32], LONG, LONG).await, Begun::Different, "it is another request");
        assert!(self.renew(&key, token, LONG).await, "a running call is renewed");
        assert!(self.finish(&key, token, "one").await, "the outcome is stored");
        for _ in 0..2 {
            assert_eq!(self.begin(&key).await, Begun::Done("one".into()), "the outcome is that of the first call");
        }
        assert_eq!(self.begin_with(&key, [8; 32], LONG, LONG).await, Begun::Different, "also when there is an outcome");
        assert!(!self.finish(&key, token, "two").await, "there is one outcome");
        assert!(!self.renew(&key, token, LONG).await, "a call with an outcome is over");
        self.abandon(&key, token).await;
        assert_eq!(self.begin(&key).await, Begun::Done("one".into()), "an outcome stays");
    }

    /// A token is good for one execution.
    async fn check_tokens(&self) {
        let key = key("tokens");
        let old = self.first(&key, LONG).await;
        assert!(!self.finish(&key, old.wrapping_add(1), "x").await, "another token is not accepted");
        assert!(!self.renew(&key, old.wrapping_add(1), LONG).await, "another token is not accepted");
        self.abandon(&key, old.wrapping_add(1)).await;
        assert_eq!(self.begin(&key).await, Begun::Running, "another token removes nothing");
        self.abandon(&key, old).await;
        let Begun::First(new) = self.begin_with(&key, [8; 32], LONG, LONG).await else {
            panic!("an abandoned call begins anew, also with another digest")
        };
        assert_ne!(old, new, "each execution has a token of its own");
        assert!(!self.finish(&key, old, "old").await, "the token of an abandoned call is void");
        assert!(!self.renew(&key, old, LONG).await, "the token of an abandoned call is void");
        self.abandon(&key, old).await;
        assert_eq!(self.begin_with(&key, [8; 32], LONG, LONG).await, Begun::Running, "the new call goes on");
        assert!(self.finish(&key, new, "new").await);
        assert!(!self.finish(&unknown(), new, "x").await, "a key that was not begun has no outcome");
        assert!(!self.renew(&unknown(), new, LONG).await, "nor a lease");
    }

    /// A call whose executor is gone is not executed again.
    async fn check_expired_lease(&self) {
        let expired = key("lease");
        let token = self.first(&expired, SHORT).await;
        self.until(&expired, Begun::Unknown, "a call whose lease has expired has an unknown outcome").await;
        assert_eq!(self.begin_with(&expired, [8; 32], LONG, LONG).await, Begun::Different);
        assert!(self.renew(&expired, token, LONG).await, "a late executor can renew its lease");
        assert_eq!(self.begin(&expired).await, Begun::Running, "and is running again");
        assert!(self.renew(&expired, token, SHORT).await, "a lease can be shortened");
        self.until(&expired, Begun::Unknown, "it has expired again").await;
        assert!(self.finish(&expired, token, "late").await, "an outcome is accepted late");
        assert_eq!(self.begin(&expired).await, Begun::Done("late".into()));

        let abandoned = key("lease-abandoned");
        let token = self.first(&abandoned, SHORT).await;
        self.until(&abandoned, Begun::Unknown, "its lease has expired").await;
        self.abandon(&abandoned, token).await;
        assert!(matches!(self.begin(&abandoned).await, Begun::First(_)), "it can be abandoned late");
    }

    /// A record lives as long as it was asked to, and no longer.
    async fn check_lifetime(&self) {
        let key = key("lifetime");
        let Begun::First(_) = self.begin_with(&key, DIGEST, LONG, SHORT).await else { panic!("it is the first") };
        let token = self.until_first(&key, "a record whose lifetime is over is gone, whatever its lease").await;
        let stored = in_time("finish", self.0.finish(&key, token, Bytes::from_static(b"x"), SHORT)).await;
        assert!(stored.expect("the store answers"));
        let again = self.until_first(&key, "an outcome whose lifetime is over is gone").await;
        assert_ne!(token, again, "each execution has a token of its own");
        assert!(self.finish(&key, again, "y").await);
        assert_eq!(self.begin(&key).await, Begun::Done("y".into()), "the lifetime counts from the outcome");
    }

    /// Different callers, and different keys, are different calls.
    async fn check_identities(&self) {
        let name = unique("identity");
        let half = name.len() / 2;
        let keys: Vec<OutcomeKey> = [
            (None, &*name),
            (Some(""), &name),
            (Some("alice"), &name),
            (Some("Alice"), &name),
            (Some("bob"), &name),
            (Some("None"), &name),
            (Some(&name[..half]), &name[half..]),
            (Some(&name[..half + 1]), &name[half + 1..]),
            (Some("alice:1"), &name),
            (Some("alice"), &format!("1:{name}")),
            (None, &name.to_uppercase()),
        ]
        .into_iter()
        .map(|(principal, key)| OutcomeKey::new(principal.map(Arc::from), key))
        .collect();
        let mut tokens = Vec::new();
        for key in &keys {
            tokens.push(self.first(key, LONG).await);
        }
        for (key, token) in keys.iter().zip(tokens) {
            assert!(self.finish(key, token, &format!("{key:?} {}", key.key)).await);
        }
        for key in &keys {
            let own = Bytes::from(format!("{key:?} {}", key.key));
            assert_eq!(self.begin(key).await, Begun::Done(own), "callers do not share outcomes");
        }
    }

    /// Of calls at the same time, one is the first.
    async fn check_concurrency(&self) {
        for round in 0..10 {
            let key = key("race");
            let all = (0..16).map(|_| self.0.begin(&key, DIGEST, LONG, LONG));
            let begun: Result<Vec<_>, _> = at_once("calls at the same time", all).await.into_iter().collect();
            let begun = begun.expect("the store answers");
            let first = begun.iter().filter(|begun| matches!(begun, Begun::First(_))).count();
            let running = begun.iter().filter(|begun| matches!(begun, Begun::Running)).count();
            assert_eq!((first, running), (1, 15), "round {round}: of calls at the same time, one is the first");
        }
    }

    /// An outcome is bytes.
    async fn check_bytes(&self) {
        for outcome in [Bytes::new(), (0..=255).collect(), Bytes::from(vec![b'x'; 256 * 1024])] {
            let key = key("bytes");
            let token = self.first(&key, LONG).await;
            let stored = in_time("finish", self.0.finish(&key, token, outcome.clone(), LONG)).await;
            assert!(stored.expect("the store answers"));
            let found = self.begin(&key).await;
            assert!(found == Begun::Done(outcome.clone()), "an outcome of {} bytes is changed", outcome.len());
        }
    }

    async fn begin(&self, key: &OutcomeKey) -> Begun {
        self.begin_with(key, DIGEST, LONG, LONG).await
    }

    async fn begin_with(&self, key: &OutcomeKey, digest: [u8; 32], lease: Duration, keep: Duration) -> Begun {
        in_time("begin", self.0.begin(key, digest, lease, keep)).await.expect("the store answers")
    }

    /// Begins the first call with a key.
    async fn first(&self, key: &OutcomeKey, lease: Duration) -> u64 {
        match self.begin_with(key, DIGEST, lease, LONG).await {
            Begun::First(token) => token,
            other => panic!("the first call with a key is {other:?}"),
        }
    }

    async fn renew(&self, key: &OutcomeKey, token: u64, lease: Duration) -> bool {
        in_time("renew", self.0.renew(key, token, lease)).await.expect("the store answers")
    }

    async fn finish(&self, key: &OutcomeKey, token: u64, outcome: &str) -> bool {
        let outcome = Bytes::copy_from_slice(outcome.as_bytes());
        in_time("finish", self.0.finish(key, token, outcome, LONG)).await.expect("the store answers")
    }

    async fn abandon(&self, key: &OutcomeKey, token: u64) {
        in_time("abandon", self.0.abandon(key, token)).await.expect("the store answers");
    }

    /// Waits until a call is found in this state.
    async fn until(&self, key: &OutcomeKey, expected: Begun, what: &str) {
        let found = async {
            while self.begin(key).await != expected {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        in_time(what, found).await;
    }

    /// Waits until a call is the first one again.
    async fn until_first(&self, key: &OutcomeKey, what: &str) -> u64 {
        let found = async {
            loop {
                if let Begun::First(token) = self.begin(key).await {
                    return token;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        in_time(what, found).await
    }
}

fn key(what: &str) -> OutcomeKey {
    OutcomeKey::new(Some("contract".into()), unique(what))
}

fn unknown() -> OutcomeKey {
    key("unknown")
}
