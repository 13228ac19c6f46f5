//! All sessions that live in this process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use http::StatusCode;
use tokio::time::Instant;

use super::{
    limits::HttpLimits,
    live::Live,
    lock,
    reply::{self, Reply},
    shrink,
};

/// The sessions of an endpoint.
///
/// Requests look only into one part of the table, so that they seldom wait for each other. Whoever adds or removes a
/// session takes the count first and then the part.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    count: Mutex<Count>,
    parts: [Mutex<Part>; 16],
}

type Part = HashMap<Arc<str>, Arc<Live>>;

#[derive(Debug, Default)]
struct Count {
    live: usize,
    by_principal: HashMap<Arc<str>, usize>,
    /// How much is kept of what opened them.
    bytes: usize,
    /// Not before then is it worth looking for sessions to end.
    look_again: Option<Instant>,
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

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Live>> {
        lock(self.part(id)).get(id).cloned()
    }

    fn all(&self) -> Vec<Arc<Live>> {
        self.parts.iter().flat_map(|part| lock(part).values().cloned().collect::<Vec<_>>()).collect()
    }

    /// No session will get any more answers from its client.
    pub(crate) fn close_questions(&self) {
        self.all().iter().for_each(|live| live.close_questions());
    }

    /// Whether one more session fits. For that the one that was idle for longest may have to go.
    ///
    /// # Errors
    /// What there is too much of.
    pub(crate) fn room(
        &self,
        principal: Option<&Arc<str>>,
        size: usize,
        limits: &HttpLimits,
    ) -> Result<Option<Arc<Live>>, Box<Reply>> {
        let mut count = lock(&self.count);
        count.check_principal(principal, limits)?;
        if count.fits(size, limits) {
            return Ok(None);
        }
        let now = Instant::now();
        if count.look_again.is_some_and(|then| now < then) {
            return Err(full());
        }
        let idle = |live: &Arc<Live>| {
            let state = lock(&live.state);
            (state.is_idle() && now.duration_since(state.used) > limits.handshake).then_some(state.used)
        };
        let oldest = self.all().into_iter().filter_map(|live| Some((idle(&live)?, live))).min_by_key(|(used, _)| *used);
        match oldest {
            Some((_, live)) => {
                self.take_out(&mut count, &live.id);
                Ok(Some(live))
            }
            None => {
                count.look_again = Some(now + Duration::from_secs(1));
                Err(full())
            }
        }
    }

    /// Adds a session, unless it came to be here meanwhile.
    ///
    /// # Errors
    /// What there is too much of by now.
    pub(crate) fn insert(&self, live: Live, limits: &HttpLimits) -> Result<Arc<Live>, Box<Reply>> {
        let mut count = lock(&self.count);
        let mut part = lock(self.part(&live.id));
        if let Some(there) = part.get(&live.id) {
            return Ok(there.clone());
        }
        count.check_principal(live.principal.as_ref(), limits)?;
        if !count.fits(live.size, limits) {
            return Err(full());
        }
        if let Some(principal) = &live.principal {
            *count.by_principal.entry(principal.clone()).or_default() += 1;
        }
        count.live += 1;
        count.bytes += live.size;
        let live = Arc::new(live);
        part.insert(live.id.clone(), live.clone());
        Ok(live)
    }

    pub(crate) fn remove(&self, id: &str) -> Option<Arc<Live>> {
        self.take_out(&mut lock(&self.count), id)
    }

    fn take_out(&self, count: &mut Count, id: &str) -> Option<Arc<Live>> {
        let mut part = lock(self.part(id));
        let live = part.remove(id)?;
        shrink(&mut part);
        count.live -= 1;
        count.bytes -= live.size;
        if let Some(principal) = &live.principal
            && let Some(own) = count.by_principal.get_mut(principal)
        {
            *own -= 1;
            if *own == 0 {
                count.by_principal.remove(principal);
            }
        }
        Some(live)
    }

    /// Takes out the sessions whose time is over.
    pub(crate) fn expired(&self, limits: &HttpLimits) -> Vec<Arc<Live>> {
        let now = Instant::now();
        let is_over = |live: &Arc<Live>| {
            let age = now.duration_since(live.born);
            let mut state = lock(&live.state);
            state.rest(now);
            age > limits.age
                || (!state.established && age > limits.handshake)
                || (state.is_idle() && now.duration_since(state.used) > limits.idle)
        };
        let over = self.all().into_iter().filter(is_over);
        over.filter(|live| self.remove(&live.id).is_some()).collect()
    }
}

impl Count {
    fn check_principal(&self, principal: Option<&Arc<str>>, limits: &HttpLimits) -> Result<(), Box<Reply>> {
        let own = principal.and_then(|p| self.by_principal.get(p)).copied().unwrap_or_default();
        if own >= limits.sessions_per_principal {
            return Err(reply::busy(StatusCode::TOO_MANY_REQUESTS, "you have too many sessions").into());
        }
        Ok(())
    }

    fn fits(&self, size: usize, limits: &HttpLimits) -> bool {
        self.live < limits.sessions && self.bytes.saturating_add(size) <= limits.openings
    }
}

fn full() -> Box<Reply> {
    Box::new(reply::busy(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions"))
}
