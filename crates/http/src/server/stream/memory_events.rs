//! An event store in memory.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    future::ready,
    sync::Mutex,
};

use couplet_core::{BoxFuture, Error};

use crate::server::{
    lock, shrink,
    stream::event_store::{EventStore, StoredEvent},
};

/// An event store in memory: the default of an endpoint. The oldest events are dropped first, within each session and
/// overall. A stream that has lost events cannot be resumed any more: its client gets 400.
#[derive(Debug)]
pub struct MemoryEvents {
    kept: Mutex<Kept>,
    fences: Mutex<Fences>,
    per_session: usize,
    bytes_per_session: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Kept {
    sessions: HashMap<String, Session>,
    /// The sessions in the order in which something was added, once for each time.
    order: VecDeque<String>,
    bytes: usize,
    /// How many events there are.
    count: usize,
}

#[derive(Debug, Default)]
struct Session {
    streams: BTreeMap<u64, VecDeque<StoredEvent>>,
    /// The streams in the order in which something was added, once for each event that is still here.
    order: VecDeque<u64>,
    bytes: usize,
}

/// The highest generations of sessions that were taken over. Those that were set first are dropped first.
#[derive(Debug, Default)]
struct Fences {
    generations: HashMap<String, u64>,
    order: VecDeque<String>,
}

impl Fences {
    /// The number of sessions. An owner that lost its session knows it after a few seconds.
    const MOST: usize = 16_384;

    /// Notes a generation; returns false if there was a higher one.
    fn admits(&mut self, session: &str, generation: u64) -> bool {
        if let Some(highest) = self.generations.get_mut(session) {
            *highest = generation.max(*highest);
            return generation == *highest;
        }
        // The first generation has none before it.
        if generation > 1 {
            if self.order.len() >= Self::MOST
                && let Some(first) = self.order.pop_front()
            {
                self.generations.remove(&first);
            }
            self.order.push_back(session.to_owned());
            self.generations.insert(session.to_owned(), generation);
        }
        true
    }
}

impl MemoryEvents {
    /// Creates a store for 4,096 events and 1 MiB of each session, and 64 MiB in all.
    pub fn new() -> Self {
        Self::with_bounds(4096, 1 << 20, 64 << 20)
    }

    /// Creates a store with other limits: events of each session, their bytes, and the bytes of all sessions. The last
    /// event of a session is stored even if it is larger than the limit of the session.
    ///
    /// ```
    /// use couplet_http::server::{EventStore, MemoryEvents, StoredEvent};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), couplet_core::Error> {
    /// let store = MemoryEvents::with_bounds(2, 1 << 20, 64 << 20);
    /// for seq in 1..=3 {
    ///     store.append("4fd0", 1, 7, StoredEvent { seq, text: "{}".into() }).await?;
    /// }
    /// // The first one is gone: a client that has it can resume, one that has nothing cannot.
    /// assert_eq!(store.after("4fd0", 7, 1).await?.map(|events| events.len()), Some(2));
    /// assert_eq!(store.after("4fd0", 7, 0).await?, None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_bounds(per_session: usize, bytes_per_session: usize, bytes: usize) -> Self {
        Self { kept: Mutex::default(), fences: Mutex::default(), per_session, bytes_per_session, bytes }
    }

    fn add(&self, session: &str, stream: u64, event: StoredEvent) {
        let mut kept = lock(&self.kept);
        let last = kept.sessions.get(session).and_then(|of| of.streams.get(&stream)?.back());
        if last.is_some_and(|last| last.seq >= event.seq) {
            // It was appended before.
            return;
        }
        kept.bytes += event.text.len();
        kept.count += 1;
        kept.order.push_back(session.to_owned());
        let of_session = kept.sessions.entry(session.to_owned()).or_default();
        of_session.bytes += event.text.len();
        of_session.order.push_back(stream);
        of_session.streams.entry(stream).or_default().push_back(event);
        while let Some(oldest) = kept.sessions.get(session)
            && (oldest.order.len() > self.per_session || oldest.bytes > self.bytes_per_session)
            && oldest.order.len() > 1
        {
            kept.forget_one(session);
        }
        while kept.bytes > self.bytes
            && let Some(session) = kept.order.pop_front()
        {
            kept.forget_one(&session);
        }
        kept.tidy();
    }

    fn find(&self, session: &str, stream: u64, seq: u64) -> Option<Vec<StoredEvent>> {
        let kept = lock(&self.kept);
        let events = kept.sessions.get(session)?.streams.get(&stream)?;
        let is_known = events.back().is_some_and(|last| last.seq >= seq);
        let rest: Vec<StoredEvent> = events.iter().filter(|event| event.seq > seq).cloned().collect();
        let is_complete = rest.iter().zip(1..).all(|(event, after)| event.seq.checked_sub(seq) == Some(after));
        (is_known && is_complete).then_some(rest)
    }
}

impl Kept {
    fn forget_one(&mut self, session: &str) {
        let Some(of_session) = self.sessions.get_mut(session) else { return };
        if let Some(stream) = of_session.order.pop_front()
            && let Some(events) = of_session.streams.get_mut(&stream)
        {
            if let Some(event) = events.pop_front() {
                of_session.bytes -= event.text.len();
                self.bytes -= event.text.len();
                self.count -= 1;
            }
            if events.is_empty() {
                of_session.streams.remove(&stream);
            }
        }
        if of_session.order.is_empty() {
            self.sessions.remove(session);
        }
    }

    /// Compacts the order once many of its events were dropped in another way.
    fn tidy(&mut self) {
        if self.order.len() <= 2 * self.count + 1024 {
            return;
        }
        let mut left: HashMap<&str, usize> = self.sessions.iter().map(|(k, s)| (&**k, s.order.len())).collect();
        let mut order: VecDeque<String> = VecDeque::new();
        for name in self.order.iter().rev() {
            if let Some(count) = left.get_mut(&**name).filter(|c| **c > 0) {
                *count -= 1;
                order.push_front(name.clone());
            }
        }
        self.order = order;
    }
}

impl Default for MemoryEvents {
    fn default() -> Self {
        Self::new()
    }
}

impl EventStore for MemoryEvents {
    fn append<'a>(
        &'a self,
        session: &'a str,
        generation: u64,
        stream: u64,
        event: StoredEvent,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        let is_current = lock(&self.fences).admits(session, generation);
        if is_current {
            self.add(session, stream, event);
        }
        Box::pin(ready(Ok(is_current)))
    }

    fn fence<'a>(&'a self, session: &'a str, generation: u64) -> BoxFuture<'a, Result<(), Error>> {
        lock(&self.fences).admits(session, generation);
        Box::pin(ready(Ok(())))
    }

    fn after<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Vec<StoredEvent>>, Error>> {
        Box::pin(ready(Ok(self.find(session, stream, seq))))
    }

    fn remove<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        let mut kept = lock(&self.kept);
        if let Some(gone) = kept.sessions.remove(session) {
            kept.bytes -= gone.bytes;
            kept.count -= gone.order.len();
            shrink(&mut kept.sessions);
            kept.tidy();
        }
        Box::pin(ready(Ok(())))
    }
}
