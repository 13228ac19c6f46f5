//! The queue of questions.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::sync::lock;
use couplet_host::consent::{Answer, Question};
use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

use crate::{Error, ErrorKind};

/// A call that waits for the consent of a person on this machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WaitingQuestion {
    /// The id, for [`Gateway::answer`](crate::Gateway::answer).
    pub id: u64,
    /// The question.
    pub question: Arc<Question>,
    /// The time since it was asked.
    pub age: Duration,
    /// The time until the call is denied.
    pub left: Duration,
}

/// The questions that wait for an answer.
#[derive(Debug, Default)]
pub(crate) struct Queue(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: u64,
    entries: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    question: Arc<Question>,
    asked: Instant,
    timeout: Duration,
    answer: oneshot::Sender<Answer>,
}

impl Queue {
    /// The most questions that wait.
    pub(crate) const MOST: usize = 64;
    /// The most questions of a principal.
    pub(crate) const MOST_OF_PRINCIPAL: usize = 8;

    /// Waits for the answer to a question. Without one in time, and if too many questions wait, the answer is
    /// [`Answer::Deny`]. The question is removed if the future is dropped.
    pub(crate) async fn ask(&self, question: &Question, wait: Duration) -> Answer {
        let (sender, receiver) = oneshot::channel();
        let entry =
            Entry { question: Arc::new(question.clone()), asked: Instant::now(), timeout: wait, answer: sender };
        let server = &question.server;
        let Some(id) = self.add(entry) else {
            tracing::warn!(%server, "a call is denied: too many questions wait for `couplet gateway consent`");
            return Answer::Deny;
        };
        let _ticket = Ticket(self, id);
        tracing::info!(%server, question = id, "a call waits for an answer with `couplet gateway consent`");
        let Ok(Ok(answer)) = timeout(wait, receiver).await else {
            tracing::warn!(%server, question = id, "a call is denied: its question was not answered in time");
            return Answer::Deny;
        };
        answer
    }

    /// Adds a question, unless there are too many.
    fn add(&self, entry: Entry) -> Option<u64> {
        let mut state = lock(&self.0);
        let principal = &entry.question.principal;
        let of_principal = state.entries.values().filter(|other| other.question.principal == *principal).count();
        if state.entries.len() >= Self::MOST || of_principal >= Self::MOST_OF_PRINCIPAL {
            return None;
        }
        state.last += 1;
        let id = state.last;
        state.entries.insert(id, entry);
        Some(id)
    }

    /// Answers a question, which is removed.
    pub(crate) fn answer(&self, id: u64, answer: Answer) -> Result<(), Error> {
        let gone = || {
            let what =
                format!("no question `{id}` waits: it was answered, its call was cancelled, or its time is over");
            Error::new(ErrorKind::Unknown, what)
        };
        let mut state = lock(&self.0);
        let possible = state.entries.get(&id).ok_or_else(gone)?.question.answers();
        if !possible.contains(&answer) {
            let words: Vec<_> = possible.iter().map(|answer| format!("`{}`", answer.as_str())).collect();
            let (answer, words) = (answer.as_str(), words.join(", "));
            let what = format!("`{answer}` is not an answer to the question `{id}`: expected one of {words}");
            return Err(Error::new(ErrorKind::Unknown, what));
        }
        let entry = state.entries.remove(&id).ok_or_else(gone)?;
        drop(state);
        // A call that has just ended does not receive it.
        entry.answer.send(answer).map_err(|_| gone())
    }

    /// Returns the questions that wait, the oldest first.
    pub(crate) fn waiting(&self) -> Vec<WaitingQuestion> {
        let now = Instant::now();
        let waiting = |(&id, entry): (&u64, &Entry)| {
            let age = now.saturating_duration_since(entry.asked);
            let left = entry.timeout.saturating_sub(age);
            WaitingQuestion { id, question: entry.question.clone(), age, left }
        };
        lock(&self.0).entries.iter().map(waiting).collect()
    }

    /// Returns the number of questions that wait.
    pub(crate) fn len(&self) -> usize {
        lock(&self.0).entries.len()
    }
}

/// The place of a question in the queue, which ends with the wait of its call.
struct Ticket<'a>(&'a Queue, u64);

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        lock(&self.0.0).entries.remove(&self.1);
    }
}
