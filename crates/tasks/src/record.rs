//! The stored form of a task, and its transitions.

use std::sync::Arc;

use couplet_types::{InputRequest, RawJson, RpcError, TaskStatus};
use serde::{Deserialize, Serialize};

use crate::clock;

/// A task as a [`Store`](crate::Store) persists it. Times are in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// The id, which cannot be guessed.
    pub id: String,
    /// The principal of the caller that created the task, if it was authenticated.
    pub owner: Option<Arc<str>>,
    /// The status.
    pub status: TaskStatus,
    /// A status message for users.
    pub message: Option<String>,
    /// The time of creation.
    pub created: u64,
    /// The time of the last change.
    pub updated: u64,
    /// The time to live in milliseconds, counted from the creation.
    pub ttl: u64,
    /// The interval in milliseconds at which clients should poll.
    pub poll_interval: u64,
    /// Open input requests by key. Keys are never reused.
    pub asks: Vec<(String, InputRequest)>,
    /// The outcome, once the task has ended.
    pub finished: Option<Finished>,
}

/// The outcome of a task.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Finished {
    /// The result of the request with the final status. A tool result with `isError` is a failed task in 2025-11-25 and
    /// a completed one in 2026-07-28.
    Result(RawJson, TaskStatus),
    /// The request failed with a protocol error.
    Error(RpcError),
}

/// A transition of a task.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// Sets the status message.
    Message(String),
    /// Opens an input request under a key.
    Asked(String, InputRequest),
    /// Closes an input request, answered or not.
    Settled(String),
    /// Ends the task with an outcome.
    Finished(Finished),
    /// Cancels the task.
    Cancelled,
}

impl Record {
    pub(crate) fn new(id: String, owner: Option<Arc<str>>, ttl: u64, poll_interval: u64) -> Self {
        let now = clock::now();
        Self {
            id,
            owner,
            status: TaskStatus::Working,
            message: None,
            created: now,
            updated: now,
            ttl,
            poll_interval,
            asks: Vec::new(),
            finished: None,
        }
    }

    /// Returns the time at which the task expires and may be deleted.
    pub fn expires(&self) -> u64 {
        self.created.saturating_add(self.ttl)
    }

    /// Applies a change; `false` if nothing changed. A task that has ended never changes again.
    ///
    /// Stores call this in [`Store::change`](crate::Store::change), atomically.
    pub fn apply(&mut self, change: Change, now: u64) -> bool {
        if self.status.is_terminal() {
            return false;
        }
        match change {
            Change::Message(message) => self.message = Some(message),
            Change::Asked(key, ask) => self.asks.push((key, ask)),
            Change::Settled(key) => {
                let before = self.asks.len();
                self.asks.retain(|(k, _)| *k != key);
                if self.asks.len() == before {
                    return false;
                }
            }
            Change::Finished(finished) => {
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
            Change::Cancelled => {
                self.message = Some("the task was cancelled".to_owned());
                self.end(TaskStatus::Cancelled);
            }
        }
        if !self.status.is_terminal() {
            let waits = !self.asks.is_empty();
            self.status = if waits { TaskStatus::InputRequired } else { TaskStatus::Working };
        }
        self.updated = now.max(self.updated);
        true
    }

    fn end(&mut self, status: TaskStatus) {
        self.status = status;
        self.asks.clear();
    }
}

impl Finished {
    /// Returns the final status.
    pub fn status(&self) -> TaskStatus {
        match self {
            Self::Result(_, status) => *status,
            Self::Error(_) => TaskStatus::Failed,
        }
    }
}
