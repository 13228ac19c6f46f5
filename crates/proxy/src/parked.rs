//! Calls that wait at the server while their caller answers in another request.
//!
//! A stateless caller answers an input request by retrying its own request. So that the server does not run the call
//! twice, the first run stays open in between, under a ticket that travels in the sealed request state. Number and
//! duration of waiting calls are limited; a call beyond the limit runs again from the start. So does one that gives way
//! because its connection is needed: after a while, or at once if its principal has more waiting calls than others.
//!
//! A ticket begins with the name of its proxy: the call waits at the connection of that one, and at no replica.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use couplet_core::sync::lock;
use tokio::{task::AbortHandle, time::Instant};

use crate::{call::Open, random};

pub(crate) struct Parked {
    calls: Arc<Mutex<VecDeque<Entry>>>,
    most: usize,
    time: Duration,
    /// The name of this proxy, which no replica has; `None` without randomness.
    name: Option<String>,
}

struct Entry {
    ticket: String,
    principal: Option<Arc<str>>,
    open: Open,
    since: Instant,
    expiry: Option<AbortHandle>,
}

type Calls = Mutex<VecDeque<Entry>>;

impl Parked {
    pub(crate) fn new(most: usize, time: Duration) -> Self {
        Self { calls: Arc::default(), most, time, name: random() }
    }

    /// A ticket that cannot be guessed.
    pub(crate) fn ticket(&self) -> Option<String> {
        Some(format!("{}.{}", self.name.as_ref()?, random()?))
    }

    /// Whether a ticket is one of this proxy, not of a replica.
    pub(crate) fn has_issued(&self, ticket: &str) -> bool {
        ticket.split_once('.').is_some_and(|(name, _)| Some(name) == self.name.as_deref())
    }

    /// Stores a waiting call.
    ///
    /// # Errors
    /// Returns the call if there is no room for it.
    pub(crate) fn put(&self, ticket: &str, principal: Option<Arc<str>>, open: Open) -> Result<(), Box<Open>> {
        let mut calls = lock(&self.calls);
        if calls.len() >= self.most || calls.iter().any(|entry| entry.ticket == ticket) {
            return Err(Box::new(open));
        }
        let expiry = self.expire_later(ticket.to_owned());
        let since = Instant::now();
        calls.push_back(Entry { ticket: ticket.to_owned(), principal, open, since, expiry: Some(expiry) });
        Ok(())
    }

    /// Takes a call out, if it belongs to this caller.
    pub(crate) fn take(&self, ticket: &str, principal: Option<&str>) -> Option<Open> {
        let mut entry = take(&self.calls, |entry| entry.ticket == ticket && entry.principal.as_deref() == principal)?;
        entry.expiry.take().inspect(AbortHandle::abort);
        Some(entry.open)
    }

    /// Evicts a call so that one of this principal can run: the first of the principal with most of them, if it has at
    /// least two more; otherwise that which has waited longest, if it has waited for the time of grace.
    ///
    /// # Errors
    /// Returns the time after which a call may have waited that long.
    pub(crate) fn give_way(&self, principal: Option<&str>, grace: Duration) -> Result<Open, Duration> {
        let mut calls = lock(&self.calls);
        let mut counts = BTreeMap::<_, usize>::new();
        calls.iter().for_each(|entry| *counts.entry(entry.principal.as_deref()).or_default() += 1);
        let own = counts.get(&principal).copied().unwrap_or_default();
        let greedy = counts.iter().max_by_key(|(_, count)| **count).filter(|(_, count)| **count > own + 1);
        let at = match greedy {
            Some((greedy, _)) => calls.iter().position(|entry| entry.principal.as_deref() == *greedy),
            None => calls.front().filter(|entry| entry.since.elapsed() >= grace).map(|_| 0),
        };
        let evicted = at.and_then(|at| calls.remove(at));
        let left = || grace.saturating_sub(calls.front().map_or(Duration::ZERO, |entry| entry.since.elapsed()));
        let mut entry = evicted.ok_or_else(left)?;
        drop(calls);
        tracing::debug!("evicted a call that waits for its caller's answer: its connection is needed");
        entry.expiry.take().inspect(AbortHandle::abort);
        Ok(entry.open)
    }

    /// Evicts all calls.
    pub(crate) fn clear(&self) {
        while let Some(entry) = take(&self.calls, |_| true) {
            entry.expiry.inspect(AbortHandle::abort);
        }
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.calls).len()
    }

    fn expire_later(&self, ticket: String) -> AbortHandle {
        let (calls, time): (Weak<Calls>, _) = (Arc::downgrade(&self.calls), self.time);
        let expiry = tokio::spawn(async move {
            tokio::time::sleep(time).await;
            let Some(calls) = calls.upgrade() else { return };
            drop(take(&calls, |entry| entry.ticket == ticket));
        });
        expiry.abort_handle()
    }
}

/// The entry is dropped by the caller, after the lock.
fn take(calls: &Calls, is_it: impl Fn(&Entry) -> bool) -> Option<Entry> {
    let mut calls = lock(calls);
    let at = calls.iter().position(is_it)?;
    calls.remove(at)
}
