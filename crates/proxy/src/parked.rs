//! Calls that wait at the server while their caller answers in another request.
//!
//! A stateless caller answers an input request by retrying its own request. So that the server does not run the call
//! twice, the first run stays open in between, under a ticket that travels in the sealed request state. Number and
//! duration of waiting calls are limited; a call beyond the limit runs again from the start.
//!
//! A ticket begins with the name of its proxy: the call waits at the connection of that one, and at no replica.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use couplet_core::sync::lock;
use tokio::task::AbortHandle;

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
        calls.push_back(Entry { ticket: ticket.to_owned(), principal, open, expiry: Some(expiry) });
        Ok(())
    }

    /// Takes a call out, if it belongs to this caller.
    pub(crate) fn take(&self, ticket: &str, principal: Option<&str>) -> Option<Open> {
        let mut entry = take(&self.calls, |entry| entry.ticket == ticket && entry.principal.as_deref() == principal)?;
        entry.expiry.take().inspect(AbortHandle::abort);
        Some(entry.open)
    }

    /// Evicts the call that has waited longest.
    pub(crate) fn give_way(&self) -> Option<Open> {
        let mut entry = take(&self.calls, |_| true)?;
        tracing::debug!("evicted a call that waits for its caller's answer: its connection is needed");
        entry.expiry.take().inspect(AbortHandle::abort);
        Some(entry.open)
    }

    /// Evicts all calls.
    pub(crate) fn clear(&self) {
        while self.give_way().is_some() {}
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
