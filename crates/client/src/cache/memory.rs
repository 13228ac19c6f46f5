//! What the clones of a cache share: the answers, and the requests that are under way for them.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::{Change, JsonText};
use couplet_types::{CacheHints, CacheScope, from_json};

use super::{
    flights::{Begun, Flights, Joined, Lead},
    shelf::{Key, Moment, Shelf, Who},
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
    shelf: Shelf,
    flights: Flights,
}

impl Memory {
    pub(crate) fn new(most: usize, bytes: usize) -> Self {
        Self { state: Mutex::default(), most, bytes }
    }

    /// What to do about a request: nothing, because its answer is here; wait for one that is under way; or send it.
    pub(crate) fn begin(self: &Arc<Self>, own: &Key, shared: &Key) -> Begun {
        let mut state = lock(&self.state);
        if let Some(text) = state.kept(own, shared) {
            return Begun::Kept(text);
        }
        // An answer that is not kept is nobody else's; waiting for one in vain would only take time.
        let joinable = !state.shelf.is_kept_out(own);
        match state.flights.join(own).filter(|_| joinable) {
            Some(answer) => Begun::Joined(Joined::new(answer)),
            None => Begun::Lead(Lead::new(self, state.flights.start(own.clone()))),
        }
    }

    /// An answer that is here and fresh.
    pub(crate) fn kept(&self, own: &Key, shared: &Key) -> Option<JsonText> {
        lock(&self.state).kept(own, shared)
    }

    /// Sends a request whatever is known or under way.
    pub(crate) fn lead(self: &Arc<Self>, own: &Key) -> Lead {
        let number = lock(&self.state).flights.start(own.clone());
        Lead::new(self, number)
    }

    /// The end of a request: keeps the answer if it may be, and gives it to those who wait.
    pub(crate) fn settle(&self, number: u64, text: &JsonText) {
        let received = Moment::now();
        let hints = from_json::<CacheHints>(text.as_str()).unwrap_or_default();
        let fresh_for = Duration::from_millis(hints.ttl_ms.unwrap_or(0));
        let mut state = lock(&self.state);
        let Some(flight) = state.flights.end(number) else { return };
        let own = flight.key;
        let keeps = !flight.spoilt && !fresh_for.is_zero() && text.as_bytes().len() <= self.bytes / 4;
        // A slice would keep the whole message.
        let text = keeps.then(|| text.detached());
        let _ = flight.answer.send(Some(text.clone()));
        if keeps && hints.cache_scope == Some(CacheScope::Public) {
            state.shelf.remove(&own);
            state.shelf.put(Key { owner: None, ..own }, text, received, fresh_for);
        } else {
            state.shelf.put(own, text, received, fresh_for);
        }
        state.shelf.trim(self.most, self.bytes);
    }

    /// The end of a request whose answer is for nobody else.
    pub(crate) fn refuse(&self, number: u64) {
        let flight = lock(&self.state).flights.end(number);
        flight.map(|flight| flight.answer.send(Some(None)));
    }

    /// A request will not be answered.
    pub(crate) fn give_up(&self, number: u64) {
        lock(&self.state).flights.end(number);
    }

    /// The server tells of a change: what it hits is old, and so is what is under way.
    pub(crate) fn change(&self, server: &Who, change: &Change) {
        let mut state = lock(&self.state);
        state.shelf.remove_all(|key| key.is_hit_by(server, change));
        state.flights.spoil(|key| key.is_hit_by(server, change));
    }

    /// Forgets what nobody can ask for any more.
    pub(crate) fn forget(&self, which: impl Fn(&Key) -> bool) {
        lock(&self.state).shelf.remove_all(which);
    }

    pub(crate) fn clear(&self) {
        let mut state = lock(&self.state);
        state.shelf.remove_all(|_| true);
        state.flights.spoil(|_| true);
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.state).shelf.len()
    }
}

impl State {
    fn kept(&mut self, own: &Key, shared: &Key) -> Option<JsonText> {
        let now = Moment::now();
        self.shelf.get(own, &now).or_else(|| self.shelf.get(shared, &now))
    }
}
