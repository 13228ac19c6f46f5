//! The state that the clones of a cache share: results, and requests in flight.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::{Change, JsonText};
use couplet_types::{CacheHints, CacheScope, from_json};

use super::{
    entries::{Entries, Identity, Key, Moment},
    flights::{Begun, Flights, Joined, Lead},
};
use crate::sync::lock;

#[derive(Debug)]
pub(crate) struct Memory {
    state: Mutex<State>,
    most: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    entries: Entries,
    flights: Flights,
}

impl Memory {
    pub(crate) fn new(most: usize, bytes: usize) -> Self {
        Self { state: Mutex::default(), most, bytes }
    }

    /// Decides about a request: use a cached result, wait for the same request in flight, or send it.
    pub(crate) fn begin(self: &Arc<Self>, own: &Key, shared: &Key) -> Begun {
        let mut state = lock(&self.state);
        if let Some(text) = state.cached(own, shared) {
            return Begun::Cached(text);
        }
        // A result that is not cached cannot be shared, so waiting for one only takes time.
        let joinable = !state.entries.is_uncacheable(own);
        match state.flights.join(own).filter(|_| joinable) {
            Some(answer) => Begun::Joined(Joined::new(answer)),
            None => Begun::Lead(Lead::new(self, state.flights.start(own.clone()))),
        }
    }

    /// Returns a cached result that has not expired.
    pub(crate) fn cached(&self, own: &Key, shared: &Key) -> Option<JsonText> {
        lock(&self.state).cached(own, shared)
    }

    /// Sends a request whatever is cached or in flight.
    pub(crate) fn lead(self: &Arc<Self>, own: &Key) -> Lead {
        let number = lock(&self.state).flights.start(own.clone());
        Lead::new(self, number)
    }

    /// Ends a request: caches the result if that is allowed, and passes it to the requests that wait.
    pub(crate) fn settle(&self, number: u64, text: &JsonText) {
        let received = Moment::now();
        let hints = from_json::<CacheHints>(text.as_str()).unwrap_or_default();
        let fresh_for = Duration::from_millis(hints.ttl_ms.unwrap_or(0));
        let mut state = lock(&self.state);
        let Some(flight) = state.flights.end(number) else { return };
        let own = flight.key;
        let keeps = !flight.stale && !fresh_for.is_zero() && text.as_bytes().len() <= self.bytes / 4;
        // A slice would hold on to the whole message.
        let text = keeps.then(|| text.detached());
        let _ = flight.answer.send(Some(text.clone()));
        if keeps && hints.cache_scope == Some(CacheScope::Public) {
            state.entries.remove(&own);
            state.entries.put(Key { owner: None, ..own }, text, received, fresh_for);
        } else {
            state.entries.put(own, text, received, fresh_for);
        }
        state.entries.trim(self.most, self.bytes);
    }

    /// Ends a request whose result cannot be shared.
    pub(crate) fn refuse(&self, number: u64) {
        let flight = lock(&self.state).flights.end(number);
        flight.map(|flight| flight.answer.send(Some(None)));
    }

    /// Ends a request that will not be answered.
    pub(crate) fn give_up(&self, number: u64) {
        lock(&self.state).flights.end(number);
    }

    /// Invalidates the results that a change affects, and those in flight.
    pub(crate) fn change(&self, server: &Identity, change: &Change) {
        let mut state = lock(&self.state);
        state.entries.remove_all(|key| key.is_invalidated_by(server, change));
        state.flights.invalidate(|key| key.is_invalidated_by(server, change));
    }

    /// Removes entries that can no longer be requested.
    pub(crate) fn forget(&self, which: impl Fn(&Key) -> bool) {
        lock(&self.state).entries.remove_all(which);
    }

    pub(crate) fn clear(&self) {
        let mut state = lock(&self.state);
        state.entries.remove_all(|_| true);
        state.flights.invalidate(|_| true);
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.state).entries.len()
    }
}

impl State {
    fn cached(&mut self, own: &Key, shared: &Key) -> Option<JsonText> {
        let now = Moment::now();
        self.entries.get(own, &now).or_else(|| self.entries.get(shared, &now))
    }
}
