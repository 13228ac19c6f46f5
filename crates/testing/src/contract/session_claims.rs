//! The contract of session stores: claims at the same time, and the expiry of sessions.

use std::time::Duration;

use bytes::Bytes;
use couplet_http::server::{Claim, Node, Posted, SessionRecord, SessionStore};

use super::at_once;

const LONG: Duration = Duration::from_secs(60 * 60);
const SHORT: Duration = Duration::from_millis(1);

/// The number of replicas that claim a session at the same time.
const REPLICAS: usize = 16;

/// Of claims at the same time one wins, and the others change nothing.
pub(super) async fn concurrent_claims(store: &dyn SessionStore) {
    let nodes: Vec<Node> = (0..REPLICAS).map(|number| Node::new(format!("contract-{number}"))).collect();
    let gone = Node::new("contract-gone");
    for round in 0..10 {
        // A lease that has expired, one that was released, and one of a process that has ended.
        let (lease, is_released) = [(SHORT, false), (LONG, true), (LONG, false)][round % 3];
        let record = SessionRecord::new("contract-a", None, Bytes::from_static(b"{}"));
        let first = store.create(record, &gone, lease).await.expect("a session is created");
        if is_released {
            store.release("contract-a", first).await.expect("a session is released");
        }
        if lease == SHORT {
            until(store, |loaded| loaded.is_some_and(|owner| owner.is_none())).await;
        }
        let claims = nodes.iter().map(|node| store.claim_from("contract-a", &gone, node, LONG));
        let claims: Result<Vec<Claim>, _> = at_once("claims at the same time", claims).await.into_iter().collect();
        let claims = claims.expect("a session is claimed");
        let won = |claim: &Claim| matches!(claim, Claim::Owned(..));
        assert_eq!(claims.iter().filter(|claim| won(claim)).count(), 1, "round {round}: one claim wins: {claims:?}");
        let (winner, generation) = claims
            .iter()
            .zip(&nodes)
            .find_map(|(claim, node)| match claim {
                Claim::Owned(_, generation) => Some((node, *generation)),
                _ => None,
            })
            .expect("there is one");
        assert!(generation > first, "round {round}: the generation grows: {first}, {generation}");
        let others = claims.iter().filter(|claim| !won(claim));
        for claim in others {
            assert_eq!(claim, &Claim::Elsewhere(winner.clone()), "round {round}: the others learn of the owner");
        }
        for loser in nodes.iter().filter(|node| *node != winner).chain([&gone]) {
            changes_nothing(store, loser, &[first, generation]).await;
        }
        let renewed =
            store.renew(&[("contract-a".into(), generation)], winner, LONG).await.expect("leases are renewed");
        assert!(renewed.lost.is_empty(), "round {round}: the winner owns the session");
        assert!(store.remove("contract-a").await.expect("a session is removed"));
    }
}

/// Checks that a node that does not own the session cannot renew its lease, nor gets messages for it.
async fn changes_nothing(store: &dyn SessionStore, loser: &Node, generations: &[u64]) {
    for &generation in generations {
        let renewed = store.renew(&[("contract-a".into(), generation)], loser, LONG).await.expect("leases are renewed");
        assert_eq!(renewed.lost.len(), 1, "a node that lost a claim does not own the session: {loser:?}");
    }
    let posted = store.post("contract-a", loser, Bytes::from_static(b"{}")).await.expect("the store answers");
    assert_eq!(posted, Posted::Elsewhere, "a node that lost a claim gets no messages");
    let written = store.remember("contract-a", generations[0], Bytes::from_static(b"{}")).await;
    assert!(!written.expect("the store answers"), "the generation before the claim stores nothing");
}

/// Checks that sessions expire, with a store from which they expire within seconds after their lease.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use std::time::Duration;
///
/// use couplet_http::server::MemorySessions;
/// use couplet_testing::contract;
///
/// contract::session_expiry(&MemorySessions::with_lifetime(Duration::from_millis(1))).await;
/// # });
/// ```
///
/// # Panics
/// If the store violates the contract.
pub async fn session_expiry(store: &dyn SessionStore) {
    let node = Node::new("contract-one");
    let create = async |id: &str, lease| {
        let record = SessionRecord::new(id, None, Bytes::from_static(b"{}"));
        store.create(record, &node, lease).await.expect("a session is created")
    };
    create("contract-b", LONG).await;
    // The second one has expired because its owner did not renew it.
    for is_renewed in [false, true] {
        let generation = create("contract-a", SHORT).await;
        if is_renewed {
            // It may have expired already.
            store.renew(&[("contract-a".into(), generation)], &node, SHORT).await.expect("leases are renewed");
        }
        until(store, |loaded| loaded.is_none()).await;
        let claim = store.claim("contract-a", &node, LONG).await.expect("the store answers");
        assert_eq!(claim, Claim::Missing, "a session that has expired is not claimed");
        let renewed = store.renew(&[("contract-a".into(), generation)], &node, LONG).await.expect("the store answers");
        assert_eq!(renewed.lost, ["contract-a".into()], "nor renewed");
        let posted = store.post("contract-a", &node, Bytes::from_static(b"{}")).await.expect("the store answers");
        assert_eq!(posted, Posted::Elsewhere, "nor has it messages");
        let written = store.remember("contract-a", generation, Bytes::from_static(b"{}")).await;
        assert!(!written.expect("the store answers"), "nor a state");
        assert!(!store.remove("contract-a").await.expect("the store answers"), "nor is it there to be removed");
    }
    assert!(store.load("contract-b").await.expect("the store answers").is_some(), "one with a valid lease stays");
    assert!(store.remove("contract-b").await.expect("a session is removed"));
}

/// Waits for a state of a session: its owner, if it exists.
async fn until(store: &dyn SessionStore, is_there: impl Fn(Option<Option<Node>>) -> bool) {
    for _ in 0..1000 {
        let loaded = store.load("contract-a").await.expect("a session is loaded");
        if is_there(loaded.map(|(_, owner)| owner)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("a lease or session of a few milliseconds has not expired after 10 s");
}
