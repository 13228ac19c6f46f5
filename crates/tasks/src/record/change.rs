//! The transitions of a task.

use couplet_types::{InputRequest, RawJson, TaskStatus};

use super::{Answer, Entry, Finished, Record, Response};

/// A transition of a task.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// Sets the status message.
    Message(String),
    /// Opens an input request under a key.
    Asked(String, InputRequest),
    /// Answers an open input request. The first answer counts; it waits in [`Record::answers`] for the runner.
    Answered(String, Response),
    /// Closes an input request: the runner has taken its answer, or no longer waits for it. An answer that was taken is
    /// added to the journal if the task may run again.
    Settled(String),
    /// Adds the value of a completed step to the journal.
    Step(String, RawJson),
    /// Ends the task with an outcome.
    Finished(Finished),
    /// Cancels the task.
    Cancelled,
}

impl Record {
    /// Applies a change; `false` if nothing changed. A task that has ended never changes again.
    ///
    /// `fence` is the generation of the runner that makes the change: nothing changes if another one has taken over.
    /// `None` is for changes that do not come from the runner.
    ///
    /// Stores call this in [`Store::change`](crate::Store::change), atomically.
    pub fn apply(&mut self, fence: Option<u64>, change: Change, now: u64) -> bool {
        let fenced = fence.is_some_and(|generation| generation != self.generation());
        if self.status.is_terminal() || fenced || !self.make(change) {
            return false;
        }
        if !self.status.is_terminal() {
            let waits = !self.asks.is_empty();
            self.status = if waits { TaskStatus::InputRequired } else { TaskStatus::Working };
        }
        self.revision += 1;
        self.updated = now.max(self.updated);
        true
    }

    fn make(&mut self, change: Change) -> bool {
        match change {
            Change::Message(message) => self.message = Some(message),
            Change::Asked(key, _) if self.input(&key).is_some() => return false,
            Change::Asked(key, ask) => self.asks.push((key, ask)),
            Change::Answered(key, response) => return self.answer(key, response),
            Change::Settled(key) => return self.settle(&key),
            Change::Step(name, _) if self.step(&name).is_some() => return false,
            Change::Step(name, value) => self.journal.push(Entry::Step(name, value)),
            Change::Finished(finished) => self.finish(finished),
            Change::Cancelled => {
                self.message = Some("the task was cancelled".to_owned());
                self.end(TaskStatus::Cancelled);
            }
        }
        true
    }

    /// The input request with a key that is open, or answered and not taken.
    pub(crate) fn input(&self, key: &str) -> Option<&InputRequest> {
        let open = self.asks.iter().find(|(k, _)| k == key).map(|(_, ask)| ask);
        open.or_else(|| self.answers.iter().find(|answer| answer.key == key).map(|answer| &answer.ask))
    }

    fn answer(&mut self, key: String, response: Response) -> bool {
        let Some(at) = self.asks.iter().position(|(k, _)| *k == key) else { return false };
        let (key, ask) = self.asks.remove(at);
        self.answers.push(Answer { key, ask, response });
        true
    }

    fn settle(&mut self, key: &str) -> bool {
        if let Some(at) = self.answers.iter().position(|answer| answer.key == key) {
            let answer = self.answers.remove(at);
            if self.request.is_some() {
                self.journal.push(Entry::Input(answer));
            }
            return true;
        }
        let before = self.asks.len();
        self.asks.retain(|(k, _)| k != key);
        self.asks.len() < before
    }

    fn finish(&mut self, finished: Finished) {
        match &finished {
            Finished::Error(error) => self.message = Some(error.message.clone()),
            Finished::Result(_, TaskStatus::Failed) => {
                self.message = Some("the request failed; see its result for the reason".to_owned());
            }
            Finished::Result(..) => {}
        }
        self.end(finished.status());
        self.finished = Some(finished);
    }

    /// Ends the task. What only its runner needed is deleted.
    fn end(&mut self, status: TaskStatus) {
        self.status = status;
        self.asks.clear();
        self.answers.clear();
        self.journal.clear();
        (self.request, self.runner) = (None, None);
    }

    /// Returns the value of a completed step.
    pub fn step(&self, name: &str) -> Option<&RawJson> {
        self.journal.iter().find_map(|entry| match entry {
            Entry::Step(step, value) if step == name => Some(value),
            _ => None,
        })
    }
}
