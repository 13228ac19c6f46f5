//! The resources that the server has confirmed subscriptions to, for the callers that wait for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use couplet_core::Refusals;
use couplet_types::RpcError;
use tokio::{sync::watch, time::timeout};

/// The outcome of each subscription at the server.
pub(crate) struct Subscribed(watch::Sender<State>);

#[derive(Default)]
struct State {
    /// A resource that is not in it is not decided yet.
    known: BTreeMap<String, Result<(), RpcError>>,
    /// The resources that were refused, and that a caller has subscribed to again.
    again: BTreeSet<String>,
}

impl Subscribed {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(State::default()))
    }

    /// Waits until the server has confirmed or refused all of these resources, and returns those that it refused.
    pub(crate) async fn refused(&self, uris: &BTreeSet<String>, wait: Duration) -> Refusals {
        self.retry(uris);
        let mut state = self.0.subscribe();
        let is_decided = |state: &State| uris.iter().all(|uri| state.known.contains_key(uri));
        let _ = timeout(wait, state.wait_for(is_decided)).await;
        let state = state.borrow();
        let refused = uris.iter().filter_map(|uri| {
            let late = || RpcError::internal(format!("the server has not confirmed the subscription within {wait:?}"));
            let error = state.known.get(uri).map_or_else(|| Some(late()), |known| known.clone().err());
            error.map(|error| (uri.clone(), error))
        });
        refused.collect()
    }

    /// Forgets refusals, since the server may decide otherwise now.
    fn retry(&self, uris: &BTreeSet<String>) {
        self.0.send_if_modified(|state| {
            let refused = uris.iter().filter(|uri| state.known.get(*uri).is_some_and(Result::is_err));
            let refused: Vec<String> = refused.cloned().collect();
            refused.iter().for_each(|uri| drop(state.known.remove(uri)));
            let is_any = !refused.is_empty();
            state.again.extend(refused);
            is_any
        });
    }

    /// Waits for resources that a caller has subscribed to again.
    pub(crate) async fn again(&self) -> BTreeSet<String> {
        let mut state = self.0.subscribe();
        // The sender lives for as long as this does.
        let _ = state.wait_for(|state| !state.again.is_empty()).await;
        drop(state);
        let mut again = BTreeSet::new();
        self.0.send_if_modified(|state| {
            again = std::mem::take(&mut state.again);
            false
        });
        again
    }

    /// Records the server's decision about a resource.
    pub(crate) fn decide(&self, decided: impl IntoIterator<Item = (String, Result<(), RpcError>)>) {
        self.0.send_modify(|state| state.known.extend(decided));
    }

    /// Forgets the decisions about all resources but these.
    pub(crate) fn retain(&self, is_kept: impl Fn(&str) -> bool) {
        self.0.send_modify(|state| state.known.retain(|uri, _| is_kept(uri)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const WAIT: Duration = Duration::from_secs(10);

    fn uris(all: &[&str]) -> BTreeSet<String> {
        all.iter().map(|uri| (*uri).to_owned()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_subscription_waits_for_its_decision() {
        let subscribed = Arc::new(Subscribed::new());
        let waiting = tokio::spawn({
            let subscribed = subscribed.clone();
            async move { subscribed.refused(&uris(&["a", "b"]), WAIT).await }
        });
        subscribed.decide([("a".to_owned(), Ok(()))]);
        tokio::time::sleep(WAIT / 2).await;
        assert!(!waiting.is_finished());
        subscribed.decide([("b".to_owned(), Err(RpcError::invalid_params("no")))]);
        let refused = waiting.await.unwrap();
        assert_eq!(refused.keys().collect::<Vec<_>>(), ["b"]);
        assert!(subscribed.refused(&uris(&["c"]), WAIT).await["c"].message.contains("within 10s"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_not_remembered() {
        let subscribed = Arc::new(Subscribed::new());
        subscribed.decide([("a".to_owned(), Err(RpcError::invalid_params("no")))]);
        let waiting = tokio::spawn({
            let subscribed = subscribed.clone();
            async move { subscribed.refused(&uris(&["a"]), WAIT).await }
        });
        assert_eq!(subscribed.again().await, uris(&["a"]));
        subscribed.decide([("a".to_owned(), Ok(()))]);
        assert!(waiting.await.unwrap().is_empty());
    }
}
