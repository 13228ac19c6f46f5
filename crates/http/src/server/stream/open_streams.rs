//! All open streams: their number, their readers, and how they are closed.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Waker},
    time::Duration,
};

use tokio::time::Instant;

use crate::server::{
    lock,
    request::quota::{Quotas, Share},
    shrink,
};

/// Something that a stream holds and that must not be held for ever.
pub(crate) trait Held: Send + Sync {
    /// Drops it: the stream is not read.
    fn let_go(&self);
}

/// The streams of an endpoint.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    open: Mutex<Open>,
    of: Arc<Quotas>,
}

#[derive(Debug, Default)]
struct Open {
    tickets: HashMap<u64, Weak<Ticket>>,
    last: u64,
    ending: bool,
}

/// One open stream. It is open until this is dropped.
pub(crate) struct Ticket {
    number: u64,
    all: Weak<Streams>,
    held: Weak<dyn Held>,
    ending: AtomicBool,
    /// When it has to end.
    until: Option<Instant>,
    reader: Mutex<(Instant, Option<Waker>)>,
    _share: Share,
}

impl Streams {
    /// One more stream of a principal; nothing if it has so many already.
    pub(crate) fn share(&self, principal: Option<&Arc<str>>, most: usize) -> Option<Share> {
        self.of.take(principal, most)
    }

    /// Opens a stream; nothing if there are too many.
    pub(crate) fn open(
        self: &Arc<Self>,
        most: usize,
        held: Weak<dyn Held>,
        share: Share,
        until: Option<Instant>,
    ) -> Option<Arc<Ticket>> {
        let mut open = lock(&self.open);
        if open.tickets.len() >= most {
            return None;
        }
        open.last += 1;
        let number = open.last;
        let ticket = Arc::new(Ticket {
            number,
            all: Arc::downgrade(self),
            held,
            ending: AtomicBool::new(open.ending),
            until,
            reader: Mutex::new((Instant::now(), None)),
            _share: share,
        });
        open.tickets.insert(number, Arc::downgrade(&ticket));
        Some(ticket)
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.open).tickets.len()
    }

    /// Tells every stream, also those to come, to end when it can.
    pub(crate) fn end(&self) {
        lock(&self.open).ending = true;
        self.tickets().iter().for_each(|ticket| ticket.end());
    }

    /// Drops streams that were not read within the timeout, and ends those that have expired.
    pub(crate) fn sweep(&self, timeout: Duration) {
        let now = Instant::now();
        for ticket in self.tickets() {
            if ticket.until.is_some_and(|until| now >= until) {
                ticket.end();
            }
            let last = lock(&ticket.reader).0;
            if now.duration_since(last) > timeout
                && let Some(held) = ticket.held.upgrade()
            {
                tracing::debug!("a stream is not read and is closed");
                held.let_go();
            }
        }
    }

    fn tickets(&self) -> Vec<Arc<Ticket>> {
        lock(&self.open).tickets.values().filter_map(Weak::upgrade).collect()
    }
}

impl Ticket {
    /// The stream has to end when it can.
    fn end(&self) {
        self.ending.store(true, Ordering::Release);
        if let Some(waker) = lock(&self.reader).1.take() {
            waker.wake();
        }
    }

    /// The reader is there; true if the stream has to end.
    pub(crate) fn touch(&self, cx: &mut Context<'_>) -> bool {
        let mut reader = lock(&self.reader);
        reader.0 = Instant::now();
        if !reader.1.as_ref().is_some_and(|w| w.will_wake(cx.waker())) {
            reader.1 = Some(cx.waker().clone());
        }
        self.ending.load(Ordering::Acquire)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(all) = self.all.upgrade() {
            let mut open = lock(&all.open);
            open.tickets.remove(&self.number);
            shrink(&mut open.tickets);
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("number", &self.number).finish_non_exhaustive()
    }
}
