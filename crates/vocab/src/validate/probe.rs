//! Probing `server/discover` requests of clients that do not know yet which era their server supports.
//!
//! Such a client sends `server/discover`, and falls back to `initialize` if the server does not support it. In the
//! recording of a session the request is valid then, though the negotiated revision does not have it.

use couplet_types::{Discover, Initialize, ProtocolVersion, Request};
use serde_json::Value;

use super::Problem;
use crate::{check::Checker, table::TABLE};

/// The maximum number of deferred requests.
const MOST: usize = 1_000;

/// Deferred requests: only the following messages tell whether they are valid.
#[derive(Default)]
pub(super) struct Probes(Vec<Probe>);

pub(super) struct Probe {
    pub(super) session: String,
    /// The problems of the request if no handshake follows.
    pub(super) by_itself: Vec<Problem>,
    /// The problems of the request before a handshake.
    pub(super) before_handshake: Vec<Problem>,
}

impl Probes {
    /// Defers a request, or returns it if there are too many.
    pub(super) fn add(&mut self, probe: Probe) -> Option<Probe> {
        if self.0.len() == MOST {
            return Some(probe);
        }
        self.0.push(probe);
        None
    }

    /// Removes and returns the requests that a handshake in this session explains.
    pub(super) fn explained(&mut self, session: &str) -> Vec<Probe> {
        let (explained, rest) = std::mem::take(&mut self.0).into_iter().partition(|probe| probe.session == session);
        self.0 = rest;
        explained
    }

    /// Removes and returns the requests without a handshake.
    pub(super) fn unexplained(&mut self) -> Vec<Probe> {
        std::mem::take(&mut self.0)
    }
}

/// A checker of a revision that has the request, if this one does not.
pub(super) fn elsewhere(checker: Checker, value: &Value) -> Option<Checker> {
    if !is_method(value, Discover::METHOD) {
        return None;
    }
    let definition = TABLE.by_method(Discover::METHOD)?;
    let has_it = |version: &ProtocolVersion| definition.body(*version).is_some();
    let home = ProtocolVersion::ALL.iter().copied().rfind(has_it)?;
    (!has_it(&checker.version())).then(|| Checker::new(home))
}

/// Whether a message begins a handshake.
pub(super) fn is_handshake(value: &Value) -> bool {
    is_method(value, Initialize::METHOD)
}

fn is_method(value: &Value, method: &str) -> bool {
    value.get("method").and_then(Value::as_str) == Some(method)
}
