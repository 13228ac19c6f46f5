//! Outcomes of calls with an idempotency key, so that a repeated call is not executed twice.
//!
//! | file | subject |
//! |---|---|
//! | `config` | the configuration |
//! | `execute` | a call with a key: the first one, or a repeated one |
//! | `digest` | whether a repeated call is the same |
//! | `stored` | outcomes as bytes |
//! | `memory` | a store within one process |
//! | `running` | the calls that run in this process |
//!
//! See [`Server::outcomes`](crate::Server::outcomes).

mod config;
mod digest;
pub(crate) mod execute;
mod memory;
mod running;
mod stored;

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error};

pub use config::Outcomes;
pub use memory::MemoryOutcomes;

/// A store of outcomes, which all replicas of a server share.
///
/// A record begins when a call does and is never executed a second time: while its executor renews the lease, the record
/// is running; when the executor has finished, it has an outcome; when the lease has expired without an outcome, the
/// outcome is unknown. Only [`abandon`](OutcomeStore::abandon) and the end of its lifetime remove a record.
///
/// Each function must be atomic. An implementation must not block, and needs no timeouts of its own. Its contract is a
/// function in `couplet-testing`.
pub trait OutcomeStore: Send + Sync + 'static {
    /// Begins a call, or finds the first one with this key.
    ///
    /// A new record gets `digest`, a token that no other record with this key has had, a lease that expires after
    /// `lease`, and a lifetime of `keep` from now. An existing record is not changed.
    ///
    /// # Errors
    /// If the store cannot be reached, or has no room. The call is not executed then.
    fn begin<'a>(
        &'a self,
        key: &'a OutcomeKey,
        digest: [u8; 32],
        lease: Duration,
        keep: Duration,
    ) -> BoxFuture<'a, Result<Begun, Error>>;

    /// Extends the lease of a running call, to `lease` from now, also if it has expired. Returns false if there is no
    /// record with this token, or if it has an outcome.
    ///
    /// # Errors
    /// If the store cannot be reached.
    fn renew<'a>(&'a self, key: &'a OutcomeKey, token: u64, lease: Duration) -> BoxFuture<'a, Result<bool, Error>>;

    /// Stores the outcome of a call, also if its lease has expired, and sets its lifetime to `keep` from now. Returns
    /// false, and stores nothing, if there is no record with this token, or if it has an outcome.
    ///
    /// # Errors
    /// If the store cannot be reached, or has no room.
    fn finish<'a>(
        &'a self,
        key: &'a OutcomeKey,
        token: u64,
        outcome: Bytes,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, Error>>;

    /// Removes the record of a call that was not executed, so that the next call with this key begins it anew. Does
    /// nothing if there is no record with this token, or if it has an outcome.
    ///
    /// # Errors
    /// If the store cannot be reached.
    fn abandon<'a>(&'a self, key: &'a OutcomeKey, token: u64) -> BoxFuture<'a, Result<(), Error>>;
}

/// The result of [`OutcomeStore::begin`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// This is the first call with the key: the caller executes it. The token identifies the execution.
    First(u64),
    /// The first call is still running.
    Running,
    /// The outcome of the first call.
    Done(Bytes),
    /// The executor of the first call is gone: its lease has expired without an outcome.
    Unknown,
    /// The first call with this key had another digest.
    Different,
}

/// The identity of a call: an idempotency key, and the principal that sent it.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct OutcomeKey {
    /// The principal of the caller, if it was authenticated. Callers never share keys with another principal.
    pub principal: Option<Arc<str>>,
    /// The idempotency key that the client sent: 1 to 128 visible ASCII characters.
    pub key: Arc<str>,
}

impl OutcomeKey {
    /// Creates the identity of a call.
    pub fn new(principal: Option<Arc<str>>, key: impl Into<Arc<str>>) -> Self {
        Self { principal, key: key.into() }
    }

    /// Returns a SHA-256 digest of the principal and the key, for stores that name records by a string.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = hmac_sha256::Hash::new();
        hash.update(b"couplet outcome key 1\0");
        // A principal has a length in front, so that no two identities are the same bytes.
        if let Some(principal) = &self.principal {
            hash.update((principal.len() as u64).to_le_bytes());
            hash.update(principal.as_bytes());
        }
        hash.update(u64::MAX.to_le_bytes());
        hash.update(self.key.as_bytes());
        hash.finalize()
    }
}

/// The key is not shown: without authentication, it is all that protects an outcome.
impl fmt::Debug for OutcomeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutcomeKey").field("principal", &self.principal).finish_non_exhaustive()
    }
}
