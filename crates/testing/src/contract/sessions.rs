//! The contract of session stores.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use couplet_http::server::{Claim, Node, Posted, Renewed, SessionRecord, SessionStore};

/// A lease that does not expire during a test.
const LONG: Duration = Duration::from_secs(60 * 60);
/// A lease that expires at once.
const SHORT: Duration = Duration::from_millis(1);

/// Checks what a [`SessionStore`] must do. The store must not contain sessions whose ids begin with `contract-`.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use couplet_http::server::MemorySessions;
/// use couplet_testing::contract;
///
/// contract::session_store(&MemorySessions::new()).await;
/// # });
/// ```
///
/// # Panics
/// If the store violates the contract.
pub async fn session_store(store: &dyn SessionStore) {
    let kit = Kit { store, one: Node::new("contract-one").with_url("http://one/mcp"), two: Node::new("contract-two") };
    kit.records().await;
    kit.memory().await;
    kit.claims().await;
    kit.claims_of_the_gone().await;
    super::session_claims::concurrent_claims(store).await;
    kit.renewals().await;
    kit.releases().await;
    kit.messages().await;
    kit.messages_of_another_owner().await;
    kit.limits_of_messages().await;
    kit.removals().await;
}

struct Kit<'s> {
    store: &'s dyn SessionStore,
    one: Node,
    two: Node,
}

impl Kit<'_> {
    async fn create(&self, id: &str) -> SessionRecord {
        let record =
            SessionRecord::new(id, Some("alice".into()), Bytes::from_static(b"{\"a\":1}")).opened(1_700_000_000);
        let generation = self.store.create(record.clone(), &self.one, LONG).await.expect("a session is created");
        assert!(generation >= 1, "generations begin with 1");
        record
    }

    async fn load(&self, id: &str) -> Option<(SessionRecord, Option<Node>)> {
        self.store.load(id).await.expect("a session is loaded")
    }

    async fn claim(&self, id: &str, node: &Node) -> Claim {
        self.store.claim(id, node, LONG).await.expect("a session is claimed")
    }

    async fn remove(&self, id: &str) -> bool {
        self.store.remove(id).await.expect("a session is removed")
    }

    /// Claims a session and returns its generation.
    async fn own(&self, id: &str, node: &Node) -> u64 {
        match self.claim(id, node).await {
            Claim::Owned(record, generation) => {
                assert_eq!(&*record.id, id, "the record is that of the session");
                generation
            }
            other => panic!("the session can be claimed: {other:?}"),
        }
    }

    /// Extends a lease; returns whether the node still owns the session.
    async fn renew(&self, id: &str, generation: u64, node: &Node, lease: Duration) -> bool {
        let Renewed { lost, with_messages, .. } = self.renewed(&[(Arc::from(id), generation)], node, lease).await;
        assert!(lost.iter().all(|lost| **lost == *id), "only the sessions that were named are lost: {lost:?}");
        assert!(with_messages.is_empty(), "there are no messages: {with_messages:?}");
        lost.is_empty()
    }

    async fn renewed(&self, owned: &[(Arc<str>, u64)], node: &Node, lease: Duration) -> Renewed {
        self.store.renew(owned, node, lease).await.expect("leases are renewed")
    }

    async fn post(&self, id: &str, owner: &Node, message: &'static [u8]) -> Posted {
        self.store.post(id, owner, Bytes::from_static(message)).await.expect("the store answers")
    }

    async fn take(&self, id: &str, generation: u64, after: u64) -> Vec<(u64, Bytes)> {
        self.store.take(id, generation, after).await.expect("the store answers")
    }

    /// Waits until a lease has expired. How long that takes is the store's business; it must not be for ever.
    async fn expired(&self, id: &str) {
        for _ in 0..1000 {
            if self.load(id).await.is_some_and(|(_, owner)| owner.is_none()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("a lease of 1 ms has not expired after 10 s");
    }

    async fn records(&self) {
        assert_eq!(self.load("contract-a").await, None, "a session that was not created does not exist");
        let ours = self.create("contract-a").await;
        let other = SessionRecord::new("contract-b", None, Bytes::from_static(b"\x00\xff"));
        self.store.create(other.clone(), &self.two, LONG).await.expect("a session is created");
        let owned = |record: &SessionRecord, node: &Node| Some((record.clone(), Some(node.clone())));
        assert_eq!(self.load("contract-a").await, owned(&ours, &self.one), "a session is loaded as it was created");
        assert_eq!(self.load("contract-b").await, owned(&other, &self.two), "sessions do not mix");
        assert_eq!(self.load("CONTRACT-A").await, None, "ids differ by case");
        for id in ["contract-a", "contract-b"] {
            self.remove(id).await;
        }
    }

    async fn memory(&self) {
        let ours = self.create("contract-a").await;
        self.create("contract-b").await;
        let generation = self.own("contract-a", &self.one).await;
        let remember = async |id, generation, memory: &'static str| {
            self.store.remember(id, generation, memory.into()).await.expect("the state is stored")
        };
        for memory in ["{}", "{\"level\":\"debug\"}"] {
            assert!(remember("contract-a", generation, memory).await, "the owner stores the state");
            let expected = ours.clone().with_memory(Some(memory.into()));
            let loaded = self.load("contract-a").await.map(|(record, _)| record);
            assert_eq!(loaded, Some(expected), "the last state is loaded");
        }
        for wrong in [0, generation - 1, generation + 1] {
            assert!(!remember("contract-a", wrong, "wrong").await, "only the current generation stores the state");
        }
        let memory_of = async |id| self.load(id).await.and_then(|(record, _)| record.memory);
        assert_eq!(memory_of("contract-a").await.as_deref(), Some(&b"{\"level\":\"debug\"}"[..]), "it is unchanged");
        assert_eq!(memory_of("contract-b").await, None, "the state of one session is not that of another");
        assert!(!remember("contract-c", 1, "{}").await, "a session that does not exist has no state");
        assert_eq!(self.load("contract-c").await, None, "storing a state creates no session");
        let Claim::Owned(record, _) = self.claim("contract-a", &self.one).await else { panic!("it is claimed") };
        assert_eq!(record.memory.as_deref(), Some(&b"{\"level\":\"debug\"}"[..]), "a claim returns the state");
        for id in ["contract-a", "contract-b"] {
            self.remove(id).await;
        }
    }

    async fn claims(&self) {
        assert_eq!(self.claim("contract-a", &self.one).await, Claim::Missing, "what does not exist is not claimed");
        let ours = self.create("contract-a").await;
        let elsewhere = Claim::Elsewhere(self.one.clone());
        assert_eq!(self.claim("contract-a", &self.two).await, elsewhere, "a valid lease is respected, URL included");
        let first = self.own("contract-a", &self.one).await;
        let second = self.own("contract-a", &self.one).await;
        assert!(second > first && first > 1, "each claim has a higher generation: {first}, {second}");
        assert!(
            !self.renew("contract-a", first, &self.one, SHORT).await,
            "an earlier claim of the same node has ended"
        );
        assert_eq!(self.claim("contract-a", &self.two).await, elsewhere, "and does not shorten the lease");
        assert!(self.renew("contract-a", second, &self.one, SHORT).await, "the last claim is valid");
        self.expired("contract-a").await;
        let third = self.own("contract-a", &self.two).await;
        assert!(third > second, "a take-over has a higher generation: {second}, {third}");
        assert_eq!(self.load("contract-a").await, Some((ours, Some(self.two.clone()))), "the new owner is known");
        assert_eq!(
            self.claim("contract-a", &self.one).await,
            Claim::Elsewhere(self.two.clone()),
            "the old one lost it"
        );
        let late = self.store.remember("contract-a", second, "{}".into()).await.expect("the store answers");
        assert!(!late, "the old owner stores nothing");
        self.store.release("contract-a", second).await.expect("the store answers");
        assert_eq!(self.claim("contract-a", &self.one).await, Claim::Elsewhere(self.two.clone()), "nor releases it");
        self.remove("contract-a").await;
    }

    async fn claims_of_the_gone(&self) {
        let claim_from = async |gone: &Node, node: &Node| {
            self.store.claim_from("contract-a", gone, node, LONG).await.expect("a session is claimed")
        };
        assert_eq!(claim_from(&self.one, &self.two).await, Claim::Missing, "what does not exist is not claimed");
        let ours = self.create("contract-a").await;
        let (elsewhere, three) = (Claim::Elsewhere(self.one.clone()), Node::new("contract-three"));
        assert_eq!(claim_from(&three, &self.two).await, elsewhere, "the lease of a node that is not gone is respected");
        let Claim::Owned(record, second) = claim_from(&self.one, &self.two).await else {
            panic!("the lease of a node that is gone does not count")
        };
        assert_eq!((&record, second > 1), (&ours, true), "the generation grows: {second}");
        let owned = Some((ours, Some(self.two.clone())));
        assert_eq!(self.load("contract-a").await, owned, "the new owner is known");
        assert!(!self.renew("contract-a", 1, &self.one, LONG).await, "the old one lost it");
        assert_eq!(claim_from(&self.one, &three).await, Claim::Elsewhere(self.two.clone()), "once, and for all others");
        assert!(self.renew("contract-a", second, &self.two, LONG).await, "the new one owns it");
        self.remove("contract-a").await;
    }

    async fn renewals(&self) {
        for id in ["contract-a", "contract-b", "contract-c"] {
            self.create(id).await;
        }
        let a = self.own("contract-a", &self.one).await;
        let b = self.own("contract-b", &self.one).await;
        let c = self.own("contract-c", &self.one).await;
        let owned: [(Arc<str>, u64); 4] = [
            ("contract-a".into(), a),
            ("contract-b".into(), b + 1),
            ("contract-c".into(), c),
            ("contract-none".into(), 1),
        ];
        let mut lost = self.renewed(&owned, &self.one, LONG).await.lost;
        lost.sort();
        assert_eq!(lost, ["contract-b".into(), "contract-none".into()], "the others are named, and only they");
        let lost = self.renewed(&owned[..1], &self.two, LONG).await.lost;
        assert_eq!(lost, ["contract-a".into()], "another node does not own it");
        assert_eq!(self.renewed(&[], &self.one, LONG).await, Renewed::default(), "nothing is renewed");
        // A lease that has expired can be renewed until the session is claimed.
        assert!(self.renew("contract-a", a, &self.one, SHORT).await);
        self.expired("contract-a").await;
        assert!(self.renew("contract-a", a, &self.one, LONG).await, "it was not claimed since");
        assert_eq!(
            self.claim("contract-a", &self.two).await,
            Claim::Elsewhere(self.one.clone()),
            "so it is valid again"
        );
        for id in ["contract-a", "contract-b", "contract-c"] {
            self.remove(id).await;
        }
    }

    async fn releases(&self) {
        let ours = self.create("contract-a").await;
        let first = self.own("contract-a", &self.one).await;
        self.store.release("contract-a", first).await.expect("a session is released");
        assert_eq!(self.load("contract-a").await, Some((ours, None)), "it stays, without an owner");
        assert!(!self.renew("contract-a", first, &self.one, LONG).await, "a session that was released is not renewed");
        let second = self.own("contract-a", &self.two).await;
        assert!(second > first, "generations grow across a release: {first}, {second}");
        self.store.release("contract-none", 1).await.expect("a session that does not exist is no error");
        self.remove("contract-a").await;
    }

    async fn messages(&self) {
        for id in ["contract-a", "contract-b"] {
            self.create(id).await;
        }
        let generation = self.own("contract-a", &self.one).await;
        assert_eq!(self.take("contract-a", generation, 0).await, [], "nothing was stored");
        for message in [&b"first"[..], b"", b"\x00\xff"] {
            assert_eq!(self.post("contract-a", &self.one, message).await, Posted::Stored);
        }
        let all = |from: usize| -> Vec<(u64, Bytes)> {
            let all = [(1, &b"first"[..]), (2, b""), (3, b"\x00\xff")];
            all[from..].iter().map(|(number, message)| (*number, Bytes::from_static(message))).collect()
        };
        assert_eq!(self.take("contract-a", generation, 0).await, all(0), "messages are in order, with numbers from 1");
        assert_eq!(self.take("contract-a", generation, 0).await, all(0), "and stay until they are known to be taken");
        for wrong in [0, generation - 1, generation + 1] {
            assert_eq!(self.take("contract-a", wrong, 3).await, [], "only the current generation takes messages");
        }
        assert_eq!(self.take("contract-a", generation, 1).await, all(1), "those up to a number are removed");
        let owned = [("contract-a".into(), generation), ("contract-b".into(), 1)];
        let expected = Renewed { with_messages: vec!["contract-a".into()], ..Renewed::default() };
        assert_eq!(self.renewed(&owned, &self.one, LONG).await, expected, "the owner learns that there are messages");
        assert_eq!(self.take("contract-a", generation, u64::MAX).await, [], "all are removed, and no others");
        assert_eq!(self.renewed(&owned, &self.one, LONG).await, Renewed::default(), "there are no messages any more");
        self.post("contract-a", &self.one, b"next").await;
        let next = [(4, Bytes::from_static(b"next"))];
        assert_eq!(self.take("contract-a", generation, 3).await, next, "numbers are not used again");
        for id in ["contract-a", "contract-b"] {
            self.remove(id).await;
        }
    }

    async fn messages_of_another_owner(&self) {
        assert_eq!(self.post("contract-a", &self.one, b"{}").await, Posted::Elsewhere, "there is no session");
        assert_eq!(self.load("contract-a").await, None, "and none is created");
        let ours = self.create("contract-a").await;
        assert_eq!(self.post("contract-a", &self.two, b"{}").await, Posted::Elsewhere, "another node owns it");
        assert_eq!(self.post("contract-a", &self.one, b"{}").await, Posted::Stored);
        assert!(self.renewed(&[("contract-a".into(), 1)], &self.one, SHORT).await.lost.is_empty());
        self.expired("contract-a").await;
        assert_eq!(self.post("contract-a", &self.one, b"{}").await, Posted::Elsewhere, "its lease has expired");
        let second = self.own("contract-a", &self.two).await;
        assert_eq!(self.load("contract-a").await, Some((ours, Some(self.two.clone()))), "the record is the same");
        let message = [(1, Bytes::from_static(b"{}"))];
        assert_eq!(self.take("contract-a", second, 0).await, message, "the next owner takes what was stored");
        assert_eq!(self.take("contract-a", 1, 1).await, [], "the earlier one takes nothing");
        self.store.release("contract-a", second).await.expect("a session is released");
        assert_eq!(self.post("contract-a", &self.two, b"{}").await, Posted::Elsewhere, "it has no owner");
        let third = self.own("contract-a", &self.one).await;
        assert_eq!(self.take("contract-a", third, 0).await, message, "messages outlive a release");
        self.remove("contract-a").await;
    }

    async fn limits_of_messages(&self) {
        static MESSAGE: [u8; 16 << 10] = [b'x'; 16 << 10];
        self.create("contract-a").await;
        for number in 1..=16 {
            assert_eq!(self.post("contract-a", &self.one, &MESSAGE).await, Posted::Stored, "message {number}");
        }
        let mut stored = 16;
        while self.post("contract-a", &self.one, &MESSAGE).await == Posted::Stored {
            stored += 1;
            assert!(stored < 10_000, "there is a limit");
        }
        assert_eq!(self.take("contract-a", 1, 0).await.len(), stored, "nothing is stored above the limit");
        self.take("contract-a", 1, 1).await;
        assert_eq!(self.post("contract-a", &self.one, &MESSAGE).await, Posted::Stored, "there is room again");
        self.remove("contract-a").await;
    }

    async fn removals(&self) {
        self.create("contract-a").await;
        self.create("contract-b").await;
        let generation = self.own("contract-a", &self.one).await;
        assert!(self.remove("contract-a").await, "a session is removed");
        assert!(!self.remove("contract-a").await, "but only once");
        assert_eq!(self.load("contract-a").await, None, "a session that was removed is gone");
        assert!(!self.renew("contract-a", generation, &self.one, LONG).await, "it is not renewed");
        assert_eq!(self.load("contract-a").await, None, "nor is it there again after that");
        assert_eq!(self.claim("contract-a", &self.one).await, Claim::Missing, "nor is it claimed");
        assert!(self.load("contract-b").await.is_some(), "others stay");
        self.remove("contract-b").await;
    }
}
