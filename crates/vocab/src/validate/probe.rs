//! The question of a client that does not know yet which era its server is of.
//!
//! Such a client asks `server/discover`, and goes on with `initialize` if the server does not know that. In the recording
//! of a session the question is right then, though the revision that the two agree on does not have it.

use couplet_types::{Discover, Initialize, ProtocolVersion, Request};
use serde_json::Value;

use super::Problem;
use crate::{check::Checker, table::TABLE};

/// How many questions are remembered while no handshake follows.
const MOST: usize = 1_000;

/// Questions that are still to be judged: only what follows tells what they were.
#[derive(Default)]
pub(super) struct Probes(Vec<Probe>);

pub(super) struct Probe {
    pub(super) session: String,
    /// What is wrong with it in a session without a handshake.
    pub(super) by_itself: Vec<Problem>,
    /// What is wrong with it before a handshake.
    pub(super) before_handshake: Vec<Problem>,
}

impl Probes {
    /// Remembers a question, or gives it back if there are too many.
    pub(super) fn add(&mut self, probe: Probe) -> Option<Probe> {
        if self.0.len() == MOST {
            return Some(probe);
        }
        self.0.push(probe);
        None
    }

    /// The questions that a handshake in this session explains.
    pub(super) fn explained(&mut self, session: &str) -> Vec<Probe> {
        let (explained, rest) = std::mem::take(&mut self.0).into_iter().partition(|probe| probe.session == session);
        self.0 = rest;
        explained
    }

    /// The questions that no handshake came after.
    pub(super) fn unexplained(&mut self) -> Vec<Probe> {
        std::mem::take(&mut self.0)
    }
}

/// Checks as in a revision that has the question, if this one does not.
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
