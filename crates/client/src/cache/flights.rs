//! Requests under way: those who ask the same at the same time ask once.

use std::sync::Arc;

use couplet_core::{Dialect, Event, JsonText, Outcome};
use tokio::sync::watch;

use super::{memory::Memory, shelf::Key};

/// The answer to a request that others wait for: nothing yet, or what they may take of it.
type Landing = Option<Option<JsonText>>;

/// What to do about a request.
#[derive(Debug)]
pub(crate) enum Begun {
    /// The answer is here.
    Kept(JsonText),
    /// Somebody else has asked.
    Joined(Joined),
    /// It has to be sent.
    Lead(Lead),
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct Flight {
    number: u64,
    pub(crate) key: Key,
    pub(crate) answer: watch::Sender<Landing>,
    /// Whether something changed since it was sent.
    pub(crate) spoilt: bool,
}

/// All of them. There are never more than requests that somebody waits for.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    last: u64,
    all: Vec<Flight>,
}

impl Flights {
    pub(crate) fn start(&mut self, key: Key) -> u64 {
        self.last += 1;
        self.all.push(Flight { number: self.last, key, answer: watch::Sender::new(None), spoilt: false });
        self.last
    }

    /// A place to wait for the answer to the same request.
    pub(crate) fn join(&self, key: &Key) -> Option<watch::Receiver<Landing>> {
        self.all.iter().find(|f| !f.spoilt && f.key == *key).map(|f| f.answer.subscribe())
    }

    pub(crate) fn end(&mut self, number: u64) -> Option<Flight> {
        let at = self.all.iter().position(|f| f.number == number)?;
        Some(self.all.swap_remove(at))
    }

    pub(crate) fn spoil(&mut self, which: impl Fn(&Key) -> bool) {
        self.all.iter_mut().filter(|f| which(&f.key)).for_each(|f| f.spoilt = true);
    }
}

/// What came of somebody else's request.
#[derive(Debug)]
pub(crate) enum News {
    Answer(JsonText),
    /// An answer that was not to be kept, and thus belongs to nobody else, or an error.
    Nothing,
    /// Whoever asked does not want the answer any more.
    Gone,
}

/// A wait for the answer to somebody else's request.
#[derive(Debug)]
pub(crate) struct Joined(watch::Receiver<Landing>);

impl Joined {
    pub(crate) fn new(answer: watch::Receiver<Landing>) -> Self {
        Self(answer)
    }

    /// What comes of it for others.
    pub(crate) async fn answer(mut self) -> News {
        match self.0.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(Some(text))) => News::Answer(text.clone()),
            Ok(_) => News::Nothing,
            Err(_) => News::Gone,
        }
    }
}

/// A request that has to be sent. If it is dropped before its end, somebody else has to send it.
#[derive(Debug)]
pub(crate) struct Lead {
    memory: Arc<Memory>,
    number: u64,
}

impl Lead {
    pub(crate) fn new(memory: &Arc<Memory>, number: u64) -> Self {
        Self { memory: memory.clone(), number }
    }

    /// The answer has come.
    pub(crate) fn settle(self, text: &JsonText) {
        self.memory.settle(self.number, text);
    }

    /// The end has come, whatever it is.
    pub(crate) fn end(self, dialect: &Dialect, end: &Event) {
        let Event::Answer(Ok(text)) = end else { return self.memory.refuse(self.number) };
        match dialect.outcome(text.clone()) {
            Ok(Outcome::Complete(text)) => self.settle(&text),
            // Questions are for whoever asked, and so is what comes of them.
            _ => self.memory.refuse(self.number),
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.memory.give_up(self.number);
    }
}
