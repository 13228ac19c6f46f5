//! The owner of a task.

use std::sync::{Arc, Weak};

use couplet_core::{Call, Peer};

/// The caller that has begun a task: its principal, or without one its session.
#[derive(Clone)]
pub(crate) struct TaskOwner {
    principal: Option<Arc<str>>,
    session: Weak<Peer>,
}

impl TaskOwner {
    pub(crate) fn of(call: &Call) -> Self {
        let principal = call.caller.as_ref().map(|caller| caller.principal().clone());
        Self { principal, session: Arc::downgrade(&call.peer) }
    }

    #[cfg(test)]
    pub(crate) fn named(principal: &str) -> Self {
        Self { principal: Some(principal.into()), session: Weak::new() }
    }

    #[cfg(test)]
    pub(crate) fn anonymous() -> Self {
        Self { principal: None, session: Weak::new() }
    }

    /// Whether a principal may use the task, whose id cannot be guessed.
    pub(crate) fn is(&self, principal: Option<&str>) -> bool {
        self.principal.as_deref() == principal
    }

    /// Whether the task is in the list of a caller. Callers without a principal are not the same caller, so each sees only
    /// the tasks of its session.
    pub(crate) fn lists_for(&self, call: &Call) -> bool {
        let is_same_session = || self.session.as_ptr() == Arc::as_ptr(&call.peer);
        self.is(call.principal()) && (self.principal.is_some() || is_same_session())
    }
}
