//! Broken event stores.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use couplet_core::{BoxFuture, Error, sync::lock};
use couplet_http::server::{EventStore, MemoryEvents, StoredEvent};
use couplet_testing::contract;

use super::{finds_all, is_violated};

/// The ways in which a store can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    ReturnsParts,
    StoresTwice,
    RefusesRepeats,
    MixesStreams,
    MixesSessions,
    HasNoFence,
    HasNoGenerations,
    LosesOneOfTwo,
    RemovesNothing,
    LosesAllWhenFull,
}

struct Flawed {
    inner: MemoryEvents,
    flaw: Option<Flaw>,
    /// How often each event was appended.
    appended: Mutex<HashMap<(String, u64, u64), usize>>,
    busy: AtomicBool,
}

impl Flawed {
    fn new(inner: MemoryEvents, flaw: Option<Flaw>) -> Self {
        Self { inner, flaw, appended: Mutex::default(), busy: AtomicBool::new(false) }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn session<'a>(&self, session: &'a str) -> &'a str {
        if self.has(Flaw::MixesSessions) { "contract-a" } else { session }
    }

    fn stream(&self, stream: u64) -> u64 {
        if self.has(Flaw::MixesStreams) { 1 } else { stream }
    }

    /// Notes an event, and returns how often it was appended before.
    fn note(&self, session: &str, stream: u64, seq: u64) -> usize {
        let mut appended = lock(&self.appended);
        let count = appended.entry((session.to_owned(), stream, seq)).or_default();
        *count += 1;
        *count - 1
    }
}

impl EventStore for Flawed {
    fn append<'a>(
        &'a self,
        session: &'a str,
        generation: u64,
        stream: u64,
        event: StoredEvent,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            if self.note(session, stream, event.seq) > 0 && self.has(Flaw::RefusesRepeats) {
                return Ok(false);
            }
            if self.has(Flaw::LosesOneOfTwo) {
                if self.busy.swap(true, Ordering::Relaxed) {
                    return Ok(true);
                }
                tokio::task::yield_now().await;
                self.busy.store(false, Ordering::Relaxed);
            }
            let generation = if self.has(Flaw::HasNoGenerations) { 100 } else { generation };
            self.inner.append(self.session(session), generation, self.stream(stream), event).await
        })
    }

    fn fence<'a>(&'a self, session: &'a str, generation: u64) -> BoxFuture<'a, Result<(), Error>> {
        match self.flaw {
            Some(Flaw::HasNoFence | Flaw::HasNoGenerations) => Box::pin(async { Ok(()) }),
            _ => self.inner.fence(session, generation),
        }
    }

    fn after<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Vec<StoredEvent>>, Error>> {
        Box::pin(async move {
            let mut found = self.inner.after(self.session(session), self.stream(stream), seq).await?;
            if self.has(Flaw::ReturnsParts) {
                for later in seq.saturating_add(1)..seq.saturating_add(100) {
                    if found.is_none() {
                        found = self.inner.after(session, stream, later).await?.filter(|rest| !rest.is_empty());
                    }
                }
            }
            if self.has(Flaw::StoresTwice) {
                let appended = lock(&self.appended);
                let twice = |event: &StoredEvent| {
                    appended.get(&(session.to_owned(), stream, event.seq)).is_some_and(|n| *n > 1)
                };
                found = found.map(|events| {
                    let again: Vec<_> = events.iter().filter(|event| twice(event)).cloned().collect();
                    events.into_iter().chain(again).collect()
                });
            }
            // Nothing is left of the session instead of the newest events.
            let is_full = self.has(Flaw::LosesAllWhenFull)
                && self.inner.after(session, stream, 0).await?.is_none()
                && lock(&self.appended).contains_key(&(session.to_owned(), stream, 50));
            Ok(if is_full { None } else { found })
        })
    }

    fn remove<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        if self.has(Flaw::RemovesNothing) {
            return Box::pin(async { Ok(()) });
        }
        lock(&self.appended).retain(|(of, ..), _| of != session);
        self.inner.remove(self.session(session))
    }
}

#[tokio::test(start_paused = true)]
async fn broken_event_stores_are_found() {
    use Flaw as F;
    let flaws = [
        F::ReturnsParts,
        F::StoresTwice,
        F::RefusesRepeats,
        F::MixesStreams,
        F::MixesSessions,
        F::HasNoFence,
        F::HasNoGenerations,
        F::LosesOneOfTwo,
        F::RemovesNothing,
    ];
    finds_all(&flaws, |flaw| async move {
        contract::event_store(&Flawed::new(MemoryEvents::new(), flaw)).await;
    })
    .await;
    let away = is_violated(async { contract::event_store_away(&MemoryEvents::new()).await });
    assert!(away.await, "a store that answers is not away");
}

#[tokio::test(start_paused = true)]
async fn wrong_limits_of_events_are_found() {
    let small = || MemoryEvents::with_bounds(4, 1 << 20, 1 << 20);
    let flaws = [Flaw::ReturnsParts, Flaw::LosesAllWhenFull, Flaw::MixesSessions];
    finds_all(&flaws, |flaw| async move { contract::event_limits(&Flawed::new(small(), flaw)).await }).await;
    let unlimited = is_violated(async { contract::event_limits(&MemoryEvents::new()).await });
    assert!(unlimited.await, "all events are stored");
    let forever = is_violated(async { contract::event_expiry(&MemoryEvents::new()).await });
    assert!(forever.await, "events in memory do not expire");
}
