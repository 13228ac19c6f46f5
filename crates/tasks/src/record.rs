//! A task as it is kept, and the only ways in which it changes.

use std::sync::Arc;

use couplet_types::{InputRequest, RawJson, RpcError, TaskStatus};
use serde::{Deserialize, Serialize};

use crate::clock;

/// A task as a [`Store`](crate::Store) keeps it. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// Names the task. It cannot be guessed.
    pub id: String,
    /// Whose it is, if its caller was authenticated.
    pub owner: Option<Arc<str>>,
    /// How it is going.
    pub status: TaskStatus,
    /// The same for people.
    pub message: Option<String>,
    /// When it began.
    pub created: u64,
    /// When it last changed.
    pub updated: u64,
    /// For how many milliseconds after its beginning it is kept.
    pub ttl: u64,
    /// How many milliseconds to wait between two looks.
    pub poll_interval: u64,
    /// What it waits for, by keys that are never used again.
    pub asks: Vec<(String, InputRequest)>,
    /// What came of it, when it is over.
    pub finished: Option<Finished>,
}

/// What came of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Finished {
    /// The result of the request. On one wire, a tool that says that it failed has failed as a task.
    Result(RawJson, TaskStatus),
    /// The request failed.
    Error(RpcError),
}

/// What happens to a task.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// It says how it is going.
    Message(String),
    /// It asks something under a key.
    Asked(String, InputRequest),
    /// It does not wait for that any more.
    Settled(String),
    /// It is over.
    Finished(Finished),
    /// Nobody wants it any more.
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

    /// When it may be forgotten.
    pub fn expires(&self) -> u64 {
        self.created.saturating_add(self.ttl)
    }

    /// Applies a change; false if nothing changed. A task that is over never changes again. Stores call this, each in
    /// one step that nothing comes between.
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
                        self.message = Some("the request failed; its result says why".to_owned());
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
    /// The status of a task that ended so.
    pub fn status(&self) -> TaskStatus {
        match self {
            Self::Result(_, status) => *status,
            Self::Error(_) => TaskStatus::Failed,
        }
    }
}
