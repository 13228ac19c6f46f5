//! The stored form of a task.

mod change;
mod lease;

use std::sync::Arc;

use couplet_types::{InputRequest, RawJson, RpcError, TaskStatus};
use serde::{Deserialize, Serialize};

use crate::clock;

pub use change::Change;

/// A task as a [`Store`](crate::Store) persists it. Times are in milliseconds since 1970.
///
/// Its JSON form, by `serde`, is stable: members that a later version adds have defaults.
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
    /// The number of changes and take-overs so far. It identifies a version of the record.
    #[serde(default)]
    pub revision: u64,
    /// The idempotency key of the request, if its client chose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<RequestKey>,
    /// The process that runs the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<Runner>,
    /// Answers to input requests that the runner has not taken yet, in the order in which they arrived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// The parameters of the request, if the task may run again in another process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RawJson>,
    /// What a run in another process replays, if the task may run again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<Entry>,
    /// The number of runners that have released the task, in a graceful shutdown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub released: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The idempotency key of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestKey {
    /// The key that the client chose. It identifies at most one task of an owner.
    pub value: String,
    /// A digest of the request, to detect that the key is used for another one.
    pub digest: String,
}

/// The process that runs a task, and its lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Runner {
    /// The id of the process.
    pub node: Arc<str>,
    /// The number of runners that the task has had. A write of an earlier runner is rejected (fencing).
    pub generation: u64,
    /// The end of the lease in milliseconds, by the [clock of the store](crate::Store::now); 0 if it was released.
    pub until: u64,
}

/// An answer to an input request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Answer {
    /// The key of the input request.
    pub key: String,
    /// The input request.
    pub ask: InputRequest,
    /// The client's response.
    pub response: Response,
}

/// A client's response to an input request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Response {
    /// A result.
    Result(RawJson),
    /// An error.
    Error(RpcError),
}

/// An entry in the journal of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Entry {
    /// A completed step, by name, with its value.
    Step(String, RawJson),
    /// An answered input request.
    Input(Answer),
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

impl Record {
    /// Creates the record of a task that was created now. Intervals are in milliseconds.
    pub fn new(id: impl Into<String>, owner: Option<Arc<str>>, ttl: u64, poll_interval: u64) -> Self {
        let now = clock::now();
        Self {
            id: id.into(),
            owner,
            status: TaskStatus::Working,
            message: None,
            created: now,
            updated: now,
            ttl,
            poll_interval,
            asks: Vec::new(),
            finished: None,
            revision: 1,
            key: None,
            runner: None,
            answers: Vec::new(),
            request: None,
            journal: Vec::new(),
            released: 0,
        }
    }

    /// Returns the time at which the task expires and may be deleted.
    pub fn expires(&self) -> u64 {
        self.created.saturating_add(self.ttl)
    }

    /// Returns the generation of the runner; 0 if there has been none.
    pub fn generation(&self) -> u64 {
        self.runner.as_ref().map_or(0, |runner| runner.generation)
    }
}

impl RequestKey {
    /// Creates a key with the digest of its request.
    pub fn new(value: impl Into<String>, digest: impl Into<String>) -> Self {
        Self { value: value.into(), digest: digest.into() }
    }
}

impl Answer {
    /// Creates an answer to an input request.
    pub fn new(key: impl Into<String>, ask: InputRequest, response: Response) -> Self {
        Self { key: key.into(), ask, response }
    }
}

impl Runner {
    /// Creates the first runner of a task. The store sets its lease.
    pub fn first(node: impl Into<Arc<str>>) -> Self {
        Self { node: node.into(), generation: 1, until: 0 }
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
