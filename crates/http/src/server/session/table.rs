//! All sessions that live in this process.

use std::{
    collections::{BTreeMap, HashMap},
    hash::BuildHasherDefault,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use http::StatusCode;
use tokio::time::Instant;

use crate::server::{
    limits::HttpLimits,
    lock,
    response::{self, Reply},
    session::{id_hash::IdHasher, live::LiveSession},
    shrink,
};

/// The sessions of an endpoint.
///
/// Requests look only into one part of the table, so that they seldom wait for each other. A request that adds or removes a
/// session takes the count first and then the part.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    count: Mutex<Count>,
    parts: [Mutex<Part>; 16],
}

type Part = HashMap<Arc<str>, Arc<LiveSession>, BuildHasherDefault<IdHasher>>;

/// A session that is in the table or what to answer if it is not, and those that gave way to it.
pub(crate) type Inserted = (Result<Arc<LiveSession>, Box<Reply>>, Vec<Arc<LiveSession>>);

#[derive(Debug, Default)]
struct Count {
    live: usize,
    by_principal: HashMap<Arc<str>, usize>,
    /// How much is kept of what opened them.
    bytes: usize,
    /// How many there ever were.
    added: u64,
    /// Those that had no second message yet, by age.
    fresh: BTreeMap<u64, Arc<LiveSession>>,
    /// The others, by when they were used last. Requests do not come here, so a session may have been used since.
    used: BTreeMap<(Instant, u64), Arc<LiveSession>>,
}

impl Sessions {
    pub(crate) fn len(&self) -> usize {
        lock(&self.count).live
    }

    /// The part of the table that has a session. Ids are random, so any of their letters will do.
    fn part(&self, id: &str) -> &Mutex<Part> {
        let letters = id.bytes().rev().take(2).fold(0, |sum, letter| sum * 3 + usize::from(letter));
        &self.parts[letters % self.parts.len()]
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<LiveSession>> {
        lock(self.part(id)).get(id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<LiveSession>> {
        self.parts.iter().flat_map(|part| lock(part).values().cloned().collect::<Vec<_>>()).collect()
    }

    /// No session will get any more answers from its client.
    pub(crate) fn cancel_client_requests(&self) {
        self.all().iter().for_each(|live| live.cancel_client_requests());
    }

    /// Whether one more session can be added.
    ///
    /// # Errors
    /// What there is too much of.
    pub(crate) fn check(
        &self,
        principal: Option<&Arc<str>>,
        size: usize,
        limits: &HttpLimits,
    ) -> Result<(), Box<Reply>> {
        let mut count = lock(&self.count);
        count.check_principal(principal, limits)?;
        if count.fits(size, limits) || count.victim(limits).is_some() { Ok(()) } else { Err(full()) }
    }

    /// Adds a session, unless it came to be here meanwhile. Others may have to give way: they are out of the table, and
    /// the caller has to end them. The session is not added if there is too much of something by now.
    pub(crate) fn insert(&self, mut live: LiveSession, limits: &HttpLimits) -> Inserted {
        /// So many small ones may give way to a large one.
        const MOST: usize = 512;
        let mut count = lock(&self.count);
        if let Some(there) = lock(self.part(&live.id)).get(&live.id) {
            return (Ok(there.clone()), Vec::new());
        }
        if let Err(refused) = count.check_principal(live.principal.as_ref(), limits) {
            return (Err(refused), Vec::new());
        }
        let mut evicted = Vec::new();
        while !count.fits(live.size, limits) {
            let victim = count.victim(limits).filter(|_| evicted.len() < MOST);
            let Some(victim) = victim.and_then(|victim| self.take_out(&mut count, &victim.id)) else {
                return (Err(full()), evicted);
            };
            evicted.push(victim);
        }
        live.number = count.added;
        let live = Arc::new(live);
        count.add(&live);
        lock(self.part(&live.id)).insert(live.id.clone(), live.clone());
        (Ok(live), evicted)
    }

    /// Notes that there was a second message.
    pub(crate) fn establish(&self, live: &Arc<LiveSession>) {
        let mut count = lock(&self.count);
        if count.fresh.remove(&live.number).is_some() {
            live.established.store(true, Ordering::Relaxed);
            count.rank(live);
        }
    }

    /// Takes out this very session, and not another one of its id; returns whether it was there.
    pub(crate) fn remove_this(&self, live: &Arc<LiveSession>) -> bool {
        let mut count = lock(&self.count);
        let is_there = lock(self.part(&live.id)).get(&live.id).is_some_and(|there| Arc::ptr_eq(there, live));
        is_there && self.take_out(&mut count, &live.id).is_some()
    }

    fn take_out(&self, count: &mut Count, id: &str) -> Option<Arc<LiveSession>> {
        let mut part = lock(self.part(id));
        let live = part.remove(id)?;
        shrink(&mut part);
        count.remove(&live);
        Some(live)
    }

    /// Takes out the sessions whose time is over.
    pub(crate) fn expired(&self, limits: &HttpLimits) -> Vec<Arc<LiveSession>> {
        let now = Instant::now();
        let is_over = |live: &Arc<LiveSession>| {
            let age = now.duration_since(live.born);
            let mut state = lock(&live.state);
            state.rest(now);
            age > limits.age
                || (!live.is_established() && age > limits.handshake)
                || (state.is_idle() && now.duration_since(state.used) > limits.idle)
        };
        let over = self.all().into_iter().filter(is_over);
        over.filter(|live| self.remove_this(live)).collect()
    }
}

impl Count {
    fn add(&mut self, live: &Arc<LiveSession>) {
        if let Some(principal) = &live.principal {
            *self.by_principal.entry(principal.clone()).or_default() += 1;
        }
        self.added += 1;
        self.live += 1;
        self.bytes += live.size;
        if live.is_established() {
            self.rank(live);
        } else {
            self.fresh.insert(live.number, live.clone());
        }
    }

    fn remove(&mut self, live: &Arc<LiveSession>) {
        self.live -= 1;
        self.bytes -= live.size;
        if self.fresh.remove(&live.number).is_none() {
            let ranked = lock(&live.state).ranked;
            self.used.remove(&(ranked, live.number));
        }
        if let Some(principal) = &live.principal
            && let Some(own) = self.by_principal.get_mut(principal)
        {
            *own -= 1;
            if *own == 0 {
                self.by_principal.remove(principal);
            }
        }
    }

    /// Puts a session among those that were used, by when that was.
    fn rank(&mut self, live: &Arc<LiveSession>) {
        let mut state = lock(&live.state);
        state.ranked = state.used;
        self.used.insert((state.ranked, live.number), live.clone());
    }

    /// The session that has to give way to another one: one that had no second message, or else the one that was not
    /// used for longest. Nothing if all are busy.
    ///
    /// A part of the table is for handshakes: sessions that have just been opened do not give way before that is
    /// full. So a flood of handshakes neither keeps others from finishing theirs, nor drives out more than that.
    fn victim(&mut self, limits: &HttpLimits) -> Option<Arc<LiveSession>> {
        const HANDSHAKE: Duration = Duration::from_secs(5);
        let oldest = self.fresh.first_key_value().map(|(_, live)| live.clone());
        let gives_way =
            |live: &Arc<LiveSession>| self.fresh.len() > limits.sessions / 8 || live.born.elapsed() > HANDSHAKE;
        if oldest.as_ref().is_some_and(gives_way) { oldest } else { self.longest_unused().or(oldest) }
    }

    /// Looks at a bounded number of sessions, those first that are longest unused as far as is known. What is found out
    /// about them is noted, so the next one who looks begins with others.
    fn longest_unused(&mut self) -> Option<Arc<LiveSession>> {
        const MOST: usize = 256;
        let now = Instant::now();
        let mut best: Option<(Instant, Arc<LiveSession>)> = None;
        for _ in 0..MOST.min(self.used.len()) {
            let ((known, number), live) = self.used.pop_first()?;
            let mut state = lock(&live.state);
            let (is_unused, used) = (state.is_unused(), state.used);
            state.ranked = if is_unused { used } else { now };
            self.used.insert((state.ranked, number), live.clone());
            drop(state);
            if is_unused && best.as_ref().is_none_or(|(other, _)| used < *other) {
                best = Some((used, live));
            }
            // No other can have been unused for longer.
            if is_unused && used <= known {
                break;
            }
        }
        best.map(|(_, live)| live)
    }

    fn check_principal(&self, principal: Option<&Arc<str>>, limits: &HttpLimits) -> Result<(), Box<Reply>> {
        let own = principal.and_then(|p| self.by_principal.get(p)).copied().unwrap_or_default();
        if own >= limits.sessions_per_principal {
            return Err(response::busy(StatusCode::TOO_MANY_REQUESTS, "you have too many sessions").into());
        }
        Ok(())
    }

    fn fits(&self, size: usize, limits: &HttpLimits) -> bool {
        self.live < limits.sessions && self.bytes.saturating_add(size) <= limits.openings
    }
}

fn full() -> Box<Reply> {
    Box::new(response::busy(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions"))
}
