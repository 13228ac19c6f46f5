//! Requests in flight: identical concurrent requests are coalesced.

use std::sync::Arc;

use couplet_core::{Dialect, Event, JsonText, Outcome};
use tokio::sync::watch;

use super::{entries::Key, memory::Memory};

/// The result of a request that others wait for: none yet, or the part that they may share.
type Landing = Option<Option<JsonText>>;

/// What to do about a request.
#[derive(Debug)]
pub(crate) enum Begun {
    /// The result is cached.
    Cached(JsonText),
    /// The same request is in flight.
    Joined(Joined),
    /// It must be sent.
    Lead(Lead),
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct InFlight {
    number: u64,
    pub(crate) key: Key,
    pub(crate) answer: watch::Sender<Landing>,
    /// Whether a change has invalidated it since it was sent.
    pub(crate) stale: bool,
}

/// All requests in flight: at most one for each that a caller awaits.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    last: u64,
    all: Vec<InFlight>,
}

impl Flights {
    pub(crate) fn start(&mut self, key: Key) -> u64 {
        self.last += 1;
        self.all.push(InFlight { number: self.last, key, answer: watch::Sender::new(None), stale: false });
        self.last
    }

    /// Returns a receiver of the result of the same request.
    pub(crate) fn join(&self, key: &Key) -> Option<watch::Receiver<Landing>> {
        self.all.iter().find(|f| !f.stale && f.key == *key).map(|f| f.answer.subscribe())
    }

    pub(crate) fn end(&mut self, number: u64) -> Option<InFlight> {
        let at = self.all.iter().position(|f| f.number == number)?;
        Some(self.all.swap_remove(at))
    }

    pub(crate) fn invalidate(&mut self, which: impl Fn(&Key) -> bool) {
        self.all.iter_mut().filter(|f| which(&f.key)).for_each(|f| f.stale = true);
    }
}

/// The outcome of another client's request.
#[derive(Debug)]
pub(crate) enum JoinOutcome {
    Answer(JsonText),
    /// A result that was not cacheable, and so cannot be shared, or an error.
    Nothing,
    /// The request was cancelled.
    Gone,
}

/// A receiver of the result of another client's request.
#[derive(Debug)]
pub(crate) struct Joined(watch::Receiver<Landing>);

impl Joined {
    pub(crate) fn new(answer: watch::Receiver<Landing>) -> Self {
        Self(answer)
    }

    /// Waits for the outcome.
    pub(crate) async fn answer(mut self) -> JoinOutcome {
        match self.0.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(Some(text))) => JoinOutcome::Answer(text.clone()),
            Ok(_) => JoinOutcome::Nothing,
            Err(_) => JoinOutcome::Gone,
        }
    }
}

/// A request that must be sent. If it is dropped before its end, another one that waits sends it.
#[derive(Debug)]
pub(crate) struct Lead {
    memory: Arc<Memory>,
    number: u64,
}

impl Lead {
    pub(crate) fn new(memory: &Arc<Memory>, number: u64) -> Self {
        Self { memory: memory.clone(), number }
    }

    /// Passes on the result.
    pub(crate) fn settle(self, text: &JsonText) {
        self.memory.settle(self.number, text);
    }

    /// Passes on the end, whatever it is.
    pub(crate) fn end(self, dialect: &Dialect, end: &Event) {
        let Event::Answer(Ok(text)) = end else { return self.memory.refuse(self.number) };
        match dialect.outcome(text.clone()) {
            Ok(Outcome::Complete(text)) => self.settle(&text),
            // Input requests are for the caller alone, and so is the result.
            _ => self.memory.refuse(self.number),
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.memory.give_up(self.number);
    }
}
